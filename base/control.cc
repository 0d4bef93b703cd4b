#include "base/control.h"

#include <cstdio>

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
  int length = 0;
  if (*chosen != '\0') {
    length = std::snprintf(path, size, "%s", chosen);
  } else {
    const bool has_own = runtime_dir != nullptr && *runtime_dir != '\0';
    length = std::snprintf(path, size, "%s/vramstow-%lu", has_own ? runtime_dir : "/tmp",
                           static_cast<unsigned long>(user));
  }
  return Fits(length, size) && static_cast<size_t>(length) + kRoomForName <= kMaxControlPath;
}

bool ControlSocketPath(const char* directory, pid_t process, char* path, size_t size) {
  return Fits(std::snprintf(path, size, "%s/%ld.sock", directory, static_cast<long>(process)),
              size);
}

}  // namespace vramstow
