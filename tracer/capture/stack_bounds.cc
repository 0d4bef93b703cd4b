#include "tracer/capture/stack_bounds.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

namespace vramstow {
namespace {

// Reads the lines of /proc/self/maps, of which only the beginnings are needed: "begin-end perms …".
class MapsReader {
 public:
  explicit MapsReader(int fd) : fd_(fd) {}

  bool Next(uintptr_t* begin, uintptr_t* end, bool* is_readable) {
    if (!Number('-', begin) || !Number(' ', end)) return false;
    int letter = Letter();
    *is_readable = letter == 'r';
    while (letter != '\n' && letter >= 0) letter = Letter();
    return true;
  }

 private:
  int Letter() {
    if (next_ == size_) {
      ssize_t count;
      do {
        count = read(fd_, buffer_, sizeof buffer_);
      } while (count < 0 && errno == EINTR);
      if (count <= 0) return -1;
      size_ = static_cast<size_t>(count);
      next_ = 0;
    }
    return buffer_[next_++];
  }
  bool Number(int after, uintptr_t* number) {
    *number = 0;
    for (;;) {
      const int letter = Letter();
      if (letter == after) return true;
      if (letter >= '0' && letter <= '9') {
        *number = *number << 4 | static_cast<uintptr_t>(letter - '0');
      } else if (letter >= 'a' && letter <= 'f') {
        *number = *number << 4 | static_cast<uintptr_t>(letter - 'a' + 10);
      } else {
        return false;
      }
    }
  }

  int fd_;
  size_t next_ = 0;
  size_t size_ = 0;
  char buffer_[2048];
};

}  // namespace

void StackBounds::Find(uintptr_t address) {
  begin = end = 0;
  const int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  MapsReader maps(fd);
  uintptr_t from;
  uintptr_t to;
  bool is_readable;
  while (maps.Next(&from, &to, &is_readable)) {
    if (address < from) break;
    if (address >= to) continue;
    if (is_readable) {
      begin = from;
      end = to;
    }
    break;
  }
  close(fd);
}

}  // namespace vramstow
