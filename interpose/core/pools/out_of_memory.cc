#include "interpose/core/pools/out_of_memory.h"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>

#include "interpose/core/record/trace.h"
#include "interpose/core/runtime/keep_errno.h"
#include "interpose/core/runtime/say.h"

namespace vramstow {
namespace {

constexpr int kMostTold = 3;
constexpr char kName[] = "vramstow: ";

void Tell(Trace& trace, Pool* pool, bool on_stderr) {
  static constinit std::atomic<int> told{0};
  const int number = told.fetch_add(1, std::memory_order_relaxed);
  if (number >= kMostTold) return;
  KeepErrno keep_errno;
  const OutOfMemoryReport report = pool->LastReport();
  char text[3000];
  const size_t begin = sizeof kName - 1;
  std::memcpy(text, kName, begin);
  size_t length = begin + FormatReport(report, text + begin, sizeof text - begin);
  char key[40];
  std::snprintf(key, sizeof key, "pool.out_of_memory.%d", number + 1);
  trace.Describe(key, text + begin);
  if (!on_stderr) return;
  if (number + 1 == kMostTold) {
    constexpr char kLast[] = "vramstow: later ones are only in the trace.\n";
    if (length + sizeof kLast < sizeof text) {
      std::memcpy(text + length, kLast, sizeof kLast);
      length += sizeof kLast - 1;
    }
  }
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text, length);
}

}  // namespace

void TellOutOfMemory(Trace& trace, Pool* pool) {
  Tell(trace, pool, true);
  trace.NoteOutOfMemory();
}

void DescribeOutOfMemory(Trace& trace, Pool* pool) {
  Tell(trace, pool, false);
  trace.NoteOutOfMemory();
}

void TellFailedCheck(Pool* pool) {
  static constinit std::atomic<bool> told{false};
  const char* found = pool->check_failure();
  if (found == nullptr || told.exchange(true, std::memory_order_relaxed)) return;
  Say("the pool's records contradict each other (%s): please report this.", found);
}

}  // namespace vramstow
