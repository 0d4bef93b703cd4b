#include "tools/top/control_client.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/control.h"
#include "base/descriptor.h"
#include "base/user_folder.h"
#include "tools/base/words.h"

namespace vramstow {
namespace {

constexpr std::string_view kControlDir = "VRAMSTOW_CONTROL_DIR";
constexpr std::string_view kRuntimeDir = "XDG_RUNTIME_DIR";

std::string VariableOf(std::string_view name) {
  const char* value = std::getenv(std::string(name).c_str());
  return value == nullptr ? "" : value;
}

// What decides where the control socket of a process is. It depends on the environment of that
// process. If this user may not read it, the caller's own environment takes its place.
struct SocketPlace {
  std::string chosen = VariableOf(kControlDir);
  std::string runtime_dir = VariableOf(kRuntimeDir);
  uid_t owner = geteuid();
};

SocketPlace PlaceOf(pid_t process, const std::string& folder) {
  SocketPlace place;
  const std::string proc = absl::StrCat("/proc/", process);
  std::ifstream environment(proc + "/environ");
  std::string entry;
  const bool is_readable = static_cast<bool>(std::getline(environment, entry, '\0'));
  if (is_readable) place.chosen = place.runtime_dir = "";
  if (!folder.empty()) place.chosen = folder;
  if (!is_readable) return place;
  struct stat about = {};
  if (stat(proc.c_str(), &about) == 0) place.owner = about.st_uid;
  do {
    const size_t sign = std::min(entry.find('='), entry.size() - 1);
    const std::string_view name = std::string_view(entry).substr(0, sign);
    if (name == kRuntimeDir) place.runtime_dir = entry.substr(sign + 1);
    if (name == kControlDir && folder.empty()) place.chosen = entry.substr(sign + 1);
  } while (std::getline(environment, entry, '\0'));
  return place;
}

// Returns the path of the socket of a process. Refuses a default folder to which another user could
// write: that user could answer in place of the process. A chosen folder is trusted, and so is
// everything that root asks (CheckPeer).
absl::StatusOr<std::string> SocketOf(pid_t process, const std::string& folder) {
  const SocketPlace place = PlaceOf(process, folder);
  char directory[kMaxControlPath];
  char path[kMaxControlPath];
  if (!ControlDirectory(place.chosen.c_str(), place.runtime_dir.c_str(), place.owner, directory,
                        sizeof directory) ||
      !ControlSocketPath(directory, process, path, sizeof path)) {
    return absl::InvalidArgumentError("the path of the folder for control sockets is too long.");
  }
  const bool is_default = place.chosen.empty() && place.owner == geteuid();
  // If the folder cannot be looked at, connect() says why.
  if (is_default && !IsPrivateFolder(directory) && errno == EPERM) {
    return absl::PermissionDeniedError(absl::StrCat(
        Printable(directory),
        ", the folder for control sockets, does not belong to this user alone, so another user "
        "could answer: remove the folder, or name another one with --control-dir."));
  }
  return std::string(path);
}

// Returns an error that says why no process answers on the socket at this path.
absl::Status CannotReach(pid_t process, const std::string& path, int error) {
  const int refused = kill(process, 0) == 0 ? 0 : errno;
  if (error == ENOENT && refused == ESRCH) {
    return absl::NotFoundError(absl::StrCat("there is no process ", process, "."));
  }
  if (error == ENOENT && refused == EPERM) {
    return absl::PermissionDeniedError(absl::StrCat(
        "process ", process, " belongs to another user: run vramstow ctl as that user."));
  }
  if (error == ENOENT) {
    return absl::NotFoundError(absl::StrCat(
        "process ", process, " has no control socket (", Printable(path),
        "): a process under vramstow run opens one when PyTorch starts CUDA, with --pool=on at the "
        "first allocation, and with --trace-size when its trace begins."));
  }
  if (error == ECONNREFUSED) {
    return absl::NotFoundError(absl::StrCat(
        Printable(path), " is left over from a process that has ended: you can remove it."));
  }
  return absl::UnavailableError(
      absl::StrCat("cannot connect to ", Printable(path), ": ", strerror(error), "."));
}

// Waits until the socket can be read. Returns false if `deadline` passes before.
bool WaitToRead(int descriptor, absl::Time deadline) {
  pollfd poll_for = {descriptor, POLLIN, 0};
  int ready = 0;
  do {
    const absl::Duration left = std::max(deadline - absl::Now(), absl::ZeroDuration());
    ready = poll(&poll_for, 1, static_cast<int>(absl::ToInt64Milliseconds(left)));
  } while (ready < 0 && errno == EINTR);
  return ready > 0;
}

// Fails if the process that listens belongs to another user, whose answers may be false. Root may
// ask anybody.
absl::Status CheckPeer(int descriptor, const std::string& path) {
  ucred peer = {};
  socklen_t size = sizeof peer;
  const bool is_known = getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0;
  if (is_known && (peer.uid == geteuid() || geteuid() == 0)) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrCat("the process that listens at ", Printable(path),
                   " belongs to another user: run vramstow ctl as that user."));
}

absl::StatusOr<std::string> Ask(pid_t process, const std::string& path, const std::string& request,
                                absl::Duration longest) {
  const absl::Time deadline = absl::Now() + longest;
  const Descriptor socket_to(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  // connect() waits as long as too many others wait for the process.
  const timeval patience = absl::ToTimeval(longest);
  setsockopt(socket_to.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  static_assert(sizeof address.sun_path == kMaxControlPath);
  std::snprintf(address.sun_path, sizeof address.sun_path, "%s", path.c_str());
  const auto silent = [&] {
    return absl::DeadlineExceededError(
        absl::StrCat("process ", process, " does not answer; it may be stopped or busy."));
  };
  if (connect(socket_to.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return errno == EAGAIN ? silent() : CannotReach(process, path, errno);
  }
  if (const absl::Status peer = CheckPeer(socket_to.get(), path); !peer.ok()) return peer;
  const std::string line = absl::StrCat(kControlGreeting, request, "\n");
  if (line.size() > kMaxControlRequest) {
    return absl::InvalidArgumentError("the request is too long.");
  }
  if (send(socket_to.get(), line.data(), line.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(line.size())) {
    return silent();
  }
  std::string answer;
  while (answer.size() <= kMaxControlAnswer) {
    char buffer[4096];
    if (!WaitToRead(socket_to.get(), deadline)) return silent();
    const ssize_t got = recv(socket_to.get(), buffer, sizeof buffer, MSG_DONTWAIT);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) break;
    answer.append(buffer, static_cast<size_t>(got));
  }
  return answer;
}

// Returns the body of an answer, or the error that the process reported.
absl::StatusOr<std::string> BodyOf(pid_t process, const std::string& answer) {
  const std::string ok = absl::StrCat(kControlGreeting, "OK\n");
  const std::string error = absl::StrCat(kControlGreeting, "ERROR ");
  if (answer.starts_with(ok)) return answer.substr(ok.size());
  if (answer.starts_with(error)) {
    return absl::FailedPreconditionError(absl::StrCat(
        Printable(answer.substr(error.size(), answer.find('\n') - error.size())), "."));
  }
  return absl::UnavailableError(
      absl::StrCat("process ", process, " gave no answer that this version can parse."));
}

}  // namespace

absl::StatusOr<std::string> AskProcess(pid_t process, const std::string& folder,
                                       const std::string& request, absl::Duration patience) {
  const auto path = SocketOf(process, folder);
  if (!path.ok()) return path.status();
  const auto answer = Ask(process, *path, request, patience);
  return answer.ok() ? BodyOf(process, *answer) : answer;
}

}  // namespace vramstow
