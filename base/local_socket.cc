#include "base/local_socket.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

#include "base/control.h"

namespace vramstow {

sockaddr_un LocalAddress(const char* path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  static_assert(sizeof address.sun_path == kMaxControlPath);
  std::snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
  return address;
}

bool IsListening(const sockaddr_un& address) {
  const int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (probe < 0) return false;
  const bool listens =
      connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ||
      errno == EAGAIN;
  close(probe);
  return listens;
}

int ListenLocally(const char* path, int clients) {
  const sockaddr_un address = LocalAddress(path);
  if (IsListening(address)) {
    errno = EADDRINUSE;
    return -1;
  }
  struct stat status;
  if (lstat(path, &status) == 0 && S_ISSOCK(status.st_mode)) unlink(path);
  const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listener < 0) return -1;
  // The mode of the socket is set before listen(), because no client can connect before that.
  if (bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      chmod(path, 0600) == 0 && listen(listener, clients) == 0) {
    return listener;
  }
  const int error = errno;
  close(listener);
  errno = error;
  return -1;
}

}  // namespace vramstow
