#include "base/control.h"

#include <cstdio>
#include <cstring>

#include "base/user_folder.h"

namespace vramstow {
namespace {

// The number of bytes of "/PID.sock" with the longest process number.
constexpr size_t kRoomForName = sizeof "/4294967295.sock";

bool Fits(int length, size_t size) {
  return length > 0 && static_cast<size_t>(length) < size &&
         static_cast<size_t>(length) < kMaxControlPath;
}

}  // namespace

bool ControlDirectory(const char* chosen, const char* runtime_dir, uid_t user, char* path,
                      size_t size) {
  return UserFolder("vramstow", chosen, runtime_dir, user, path, size) &&
         std::strlen(path) + kRoomForName <= kMaxControlPath;
}

bool ControlSocketPath(const char* directory, pid_t process, char* path, size_t size) {
  return Fits(std::snprintf(path, size, "%s/%ld.sock", directory, static_cast<long>(process)),
              size);
}

}  // namespace vramstow
