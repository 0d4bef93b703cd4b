#include "simulator/runtime/libraries/common/refusal.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace vramstow::simulator {
namespace {

// The layout of a record that refusals.S defines: one byte, which is 0 until the function is
// refused for the first time, then the function's name.
struct RefusalRecord {
  unsigned char said;
  char name[];
};

}  // namespace

void LogOnStderr(const char* sentence) {
  const int saved_errno = errno;
  char line[512];
  const int length = snprintf(line, sizeof(line), "vramstow simulator: %s\n", sentence);
  if (length > 0) {
    const size_t bytes = strnlen(line, sizeof(line) - 1);
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line, bytes);
  }
  errno = saved_errno;
}

// Called by the entry points in refusals.S, each with its own record.
extern "C" __attribute__((visibility("hidden"))) int VramstowRefuse(RefusalRecord* record) {
  if (!__atomic_exchange_n(&record->said, 1, __ATOMIC_RELAXED)) {
    char sentence[384];
    snprintf(sentence, sizeof(sentence), "%s is not part of the simulated %s; it returned %s.",
             record->name, kLibrary.name, kLibrary.refusal_name);
    LogOnStderr(sentence);
  }
  return kLibrary.refusal;
}

}  // namespace vramstow::simulator
