#include "interpose/core/runtime/log.h"

#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>

namespace vramstow {

void Log(const char* format, ...) {
  constexpr size_t kMaxLine = 1000;
  char line[kMaxLine + 2];
  size_t length = static_cast<size_t>(std::snprintf(line, kMaxLine, "vramstow: "));
  va_list arguments;
  va_start(arguments, format);
  const int added = std::vsnprintf(line + length, kMaxLine - length, format, arguments);
  va_end(arguments);
  if (added > 0) length = std::min(length + static_cast<size_t>(added), kMaxLine - 1);
  line[length++] = '\n';
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line, length);
}

}  // namespace vramstow
