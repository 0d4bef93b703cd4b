#include "tools/attach/request.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tools/attach/owned_file.h"
#include "tools/base/process_state.h"

namespace vramstow {
namespace {

constexpr char kFolder[] = "/tmp/vramstow-attach-";
// Whoever makes the file with this name decides: the process, which then answers, or the one who
// asked, and then the process does nothing.
constexpr char kClaim[] = ".claim";
// A census may take half of the time that the user waits, see python/start/observation.py.
constexpr absl::Duration kPatienceOnceBegun = absl::Seconds(10);
constexpr absl::Duration kBetweenEntries = absl::Milliseconds(100);

absl::StatusOr<std::string> ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  if (!file) return absl::NotFoundError(absl::StrCat(path, " cannot be read."));
  return text.str();
}

// Files of the process's user are written and read with the user and the group of that process, so
// that they belong to them.
class AsUser {
 public:
  explicit AsUser(const RemoteProcess& process) : is_other_(process.user() != geteuid()) {
    if (!is_other_) return;
    group_ = static_cast<gid_t>(setfsgid(process.group()));
    user_ = static_cast<uid_t>(setfsuid(process.user()));
  }
  ~AsUser() {
    if (!is_other_) return;
    setfsuid(user_);
    setfsgid(group_);
  }
  AsUser(const AsUser&) = delete;
  AsUser& operator=(const AsUser&) = delete;

 private:
  bool is_other_;
  uid_t user_ = 0;
  gid_t group_ = 0;
};

// Returns the Python text that the process runs. The text catches all exceptions, and defines no
// name in the program's module. If the folder of the request no longer exists, it has no effect. It
// may run long after the request was given up, when another user may have made a folder of that
// name: so the folder must belong to the user of the process. A child that the process forks in the
// meantime has a copy of the text, and must not answer instead of the process: so the text runs
// only in the process with this PID.
std::string TextFor(pid_t own_pid, const std::string& folder, const std::string& request) {
  return absl::StrCat(
      "try:\n if __import__('os').getpid() == ", own_pid, " and __import__('os').lstat('", folder,
      "').st_uid == __import__('os').geteuid(): exec(compile(open('", folder,
      "/observation.py').read(), '", folder,
      "/observation.py', 'exec'), {'__name__': '_vramstow_attach', 'REQUEST': '", folder, "/",
      request, "', 'PAGE': $PAGE, 'BYTES': $BYTES})\nexcept BaseException:\n pass\n");
}

// Removes the folder of a request. It first gets another name, in one step: a process that starts
// late can then no longer make a file in it, not even after its claim was removed and before the
// folder itself is.
void RemoveFolder(const std::string& folder) {
  std::error_code error;
  std::string unknown = absl::StrCat(kFolder, "XXXXXX");
  if (mkdtemp(unknown.data()) != nullptr) {
    const bool is_moved = rename(folder.c_str(), unknown.c_str()) == 0;
    std::filesystem::remove_all(unknown, error);
    if (is_moved) return;
  }
  std::filesystem::remove_all(folder, error);
}

absl::Status EndedError(pid_t pid) {
  return absl::NotFoundError(absl::StrCat("process ", pid, " has ended."));
}

}  // namespace

bool IsInRequestFolder(const std::string& trace) { return trace.starts_with(kFolder); }

absl::StatusOr<AttachRequest> AttachRequest::Make(const RemoteProcess& process) {
  std::string name = absl::StrCat(kFolder, "XXXXXX");
  if (mkdtemp(name.data()) == nullptr) {
    return absl::UnavailableError(
        absl::StrCat("no folder can be created in /tmp (", std::strerror(errno), ")."));
  }
  AttachRequest request(process, name);
  if (process.user() != geteuid() && chown(name.c_str(), process.user(), process.group()) != 0) {
    return absl::PermissionDeniedError(absl::StrCat(
        "process ", process.pid(), " belongs to another user: run vramstow attach as that user, ",
        "or as root."));
  }
  return request;
}

AttachRequest::AttachRequest(AttachRequest&& other) noexcept
    : process_(std::move(other.process_)),
      folder_(std::exchange(other.folder_, "")),
      asked_(other.asked_) {}

AttachRequest::~AttachRequest() {
  if (!folder_.empty()) RemoveFolder(folder_);
}

absl::Status AttachRequest::WriteFile(const std::string& name, const std::string& text) const {
  const AsUser as_user(process_);
  return WriteOwnedFile(absl::StrCat(folder_, "/", name), process_.user(), text);
}

bool AttachRequest::Withdraw(const std::string& answer) const {
  const AsUser as_user(process_);
  const int file = open((answer + kClaim).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file >= 0) close(file);
  return file >= 0;
}

absl::Status AttachRequest::Await(const std::string& answer, const std::string& unchanged,
                                  absl::Duration patience,
                                  const std::function<bool()>& wants_to_end) const {
  absl::Time end = absl::Now() + patience;
  bool is_begun = false;  // then the request is waited for, because it cannot be withdrawn any more
  while (access(answer.c_str(), R_OK) != 0) {
    // The process may have answered just before it ended.
    if (HasEnded(process_.pid()) && access(answer.c_str(), R_OK) != 0) {
      return EndedError(process_.pid());
    }
    const bool is_over = absl::Now() > end;
    if (is_begun && is_over) {
      return absl::DeadlineExceededError(absl::StrCat(
          "process ", process_.pid(),
          " began to answer, but did not finish in time. It undoes what ",
          "it began; to be sure, run vramstow attach ", process_.pid(), " --detach later."));
    }
    if (!is_begun && (is_over || wants_to_end())) {
      if (Withdraw(answer)) {
        if (!is_over) return absl::CancelledError("stopped.");
        return absl::DeadlineExceededError(absl::StrCat(
            "process ", process_.pid(), " did not answer within ", absl::FormatDuration(patience),
            ": its main thread runs no Python meanwhile (it waits for a lock, a device or another "
            "process). ",
            unchanged, "; try again, or wait longer with --patience."));
      }
      is_begun = true;
      end = absl::Now() + kPatienceOnceBegun + (is_over ? patience / 2 : absl::ZeroDuration());
    }
    absl::SleepFor(absl::Milliseconds(2));
  }
  return absl::OkStatus();
}

absl::StatusOr<AttachAnswer> AttachRequest::Ask(const std::string& action,
                                                const ObservationFiles& files,
                                                const std::string& traces, absl::Duration patience,
                                                const std::function<bool()>& wants_to_end) {
  // Nothing is mapped in a process that has ended, so that it would seem to run no Python.
  if (HasEnded(process_.pid())) return EndedError(process_.pid());
  const auto python = FindRemotePython(process_);
  if (!python.ok()) return python.status();
  const auto script = ReadText(files.script);
  if (!script.ok()) return script.status();
  const std::string number = absl::StrCat(++asked_);
  const std::string answer = absl::StrCat(folder_, "/answer-", number, ".json");
  const JsonValue request = JsonValue::Object({{"action", action},
                                               {"library", files.library},
                                               {"observer", files.observer},
                                               {"census", files.census},
                                               {"folder", traces},
                                               {"patience", absl::ToDoubleSeconds(patience)},
                                               {"answer", answer}});
  const std::string name = absl::StrCat("request-", number, ".json");
  for (const auto& [file, text] :
       {std::pair{std::string("observation.py"), *script}, std::pair{name, request.Dump()}}) {
    if (const absl::Status status = WriteFile(file, text); !status.ok()) return status;
  }
  // The process may be about to release a lock, or to end a read of a disk.
  const absl::Time begin = absl::Now();
  auto entered = EnterPython(process_, *python, TextFor(process_.own_pid(), folder_, name));
  while (absl::IsUnavailable(entered.status()) && absl::Now() - begin < patience &&
         !wants_to_end()) {
    absl::SleepFor(kBetweenEntries);
    entered = EnterPython(process_, *python, TextFor(process_.own_pid(), folder_, name));
  }
  if (!entered.ok()) return entered.status();

  const std::string unchanged =
      action == "end" ? "The process is still observed" : "The process was not changed";
  if (const absl::Status status = Await(answer, unchanged, patience, wants_to_end); !status.ok()) {
    return status;
  }
  absl::StatusOr<std::string> text = absl::UnknownError("");
  {
    const AsUser as_user(process_);
    text = ReadOwnedFile(answer, process_.user());
  }
  if (!text.ok()) return text.status();
  auto body = JsonValue::Parse(*text);
  if (!body.has_value() || !body->is_object()) {
    return absl::UnavailableError("the answer of the process cannot be parsed.");
  }
  if (body->Has("error")) {
    return absl::FailedPreconditionError(
        absl::StrCat("process ", process_.pid(), ": ", body->Text("error"), "."));
  }
  return AttachAnswer{*std::move(body), entered->stopped, absl::Now() - begin};
}

}  // namespace vramstow
