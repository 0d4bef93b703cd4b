#include "simulator/runtime/cudart/message.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

namespace vramstow::simulator::cudart {

void Log(const char* before, const char* name, const char* after) {
  int saved_errno = errno;
  char line[512];
  int length = snprintf(line, sizeof(line), "vramstow: %s%s%s\n", before, name, after);
  if (length > 0) {
    size_t size = std::min(static_cast<size_t>(length), sizeof(line) - 1);
    [[maybe_unused]] ssize_t written = write(STDERR_FILENO, line, size);
  }
  errno = saved_errno;
}

}  // namespace vramstow::simulator::cudart
