#include "tools/exports/parquet.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tools/analysis/progress.h"
#include "tools/exports/column_stream.h"

namespace vramstow {
namespace {

// write_parquet.py's exit statuses.
constexpr int kNoArrow = 3;
constexpr int kErrnoBase = 130;  // plus the errno of what could not be written

// A helper that ends early is told by its exit status, not by a signal.
class WithoutPipeSignal {
 public:
  WithoutPipeSignal() { before_ = signal(SIGPIPE, SIG_IGN); }
  ~WithoutPipeSignal() { signal(SIGPIPE, before_); }
  WithoutPipeSignal(const WithoutPipeSignal&) = delete;
  WithoutPipeSignal& operator=(const WithoutPipeSignal&) = delete;

 private:
  sighandler_t before_;
};

std::string PythonName() {
  const char* set = std::getenv("VRAMSTOW_PYTHON");
  return set != nullptr && *set != '\0' ? set : "python3";
}

// 0 or an errno.
int StartHelper(const ParquetJob& job, const std::string& python, pid_t* child, int* to_helper) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return errno;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO);
  // Nothing of the helper goes to stdout: that is the program's.
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  const char* const arguments[] = {python.c_str(), job.helper.c_str(), job.folder.c_str(), nullptr};
  const int error = posix_spawnp(child, python.c_str(), &actions, nullptr,
                                 const_cast<char* const*>(arguments), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[0]);
  if (error != 0) close(ends[1]);
  *to_helper = ends[1];
  return error;
}

int64_t RankOf(const EventSource& source, size_t position) {
  int64_t rank = static_cast<int64_t>(position);
  const auto fact = source.facts().find("process.rank");
  if (fact != source.facts().end() && !absl::SimpleAtoi(fact->second, &rank)) {
    rank = static_cast<int64_t>(position);
  }
  return rank;
}

absl::Status SendAll(const ParquetJob& job, int to_helper, bool* lost) {
  ColumnStream stream(to_helper);
  for (size_t i = 0; i < job.files.size(); ++i) {
    Progress::OfProcess().Begin(
        absl::StrCat("writing ", std::filesystem::path(job.files[i]).filename().string()), i,
        job.files.size());
    auto source = job.open(job.files[i]);
    if (!source.ok()) return source.status();
    const std::string name = std::filesystem::path(job.files[i]).stem().string();
    if (!stream.Write(source->get(), RankOf(**source, i), name)) {
      *lost = true;
      break;
    }
  }
  return absl::OkStatus();
}

absl::Status HelperStatus(const ParquetJob& job, const std::string& python, int status) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return absl::OkStatus();
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNoArrow) {
    return absl::FailedPreconditionError(
        absl::StrCat("Parquet is written with pyarrow, which ", python,
                     " does not have: install it (pip install pyarrow), or name a Python that has "
                     "it in VRAMSTOW_PYTHON."));
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) > kErrnoBase) {
    return absl::UnavailableError(absl::StrCat("cannot write ", job.folder, ": ",
                                               strerror(WEXITSTATUS(status) - kErrnoBase), "."));
  }
  return absl::UnavailableError(
      absl::StrCat("cannot write ", job.folder, ": ", python, " ended with ",
                   WIFEXITED(status) ? "exit status " : "signal ",
                   WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status), "."));
}

}  // namespace

absl::Status WriteParquet(const ParquetJob& job) {
  std::error_code error;
  if (std::filesystem::exists(job.folder, error) && !std::filesystem::is_empty(job.folder, error)) {
    return absl::AlreadyExistsError(
        absl::StrCat(job.folder, " is there already, with something in it: name another folder."));
  }
  if (access(job.helper.c_str(), R_OK) != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot read ", job.helper, " (", strerror(errno),
                     "): build or install vramstow again, with all its parts."));
  }
  const WithoutPipeSignal without_signal;
  const std::string python = PythonName();
  pid_t child = 0;
  int to_helper = -1;
  if (const int failed = StartHelper(job, python, &child, &to_helper); failed != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot start ", python, " (", strerror(failed),
                     "), which writes Parquet: name a Python with pyarrow in VRAMSTOW_PYTHON."));
  }
  bool lost = false;
  const absl::Status sent = SendAll(job, to_helper, &lost);
  close(to_helper);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  const absl::Status helped = HelperStatus(job, python, status);
  if (!sent.ok()) return sent;
  if (!helped.ok() || !lost) return helped;
  return absl::UnavailableError(absl::StrCat("cannot write ", job.folder, "."));
}

}  // namespace vramstow
