#include "interpose/core/pools/out_of_memory.h"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>

#include "allocator/offload/page_list.h"
#include "base/keep_errno.h"
#include "interpose/core/record/trace.h"
#include "interpose/core/runtime/log.h"

namespace vramstow {
namespace {

constexpr int kMaxLogged = 3;
constexpr char kName[] = "vramstow: ";

void Report(Trace& trace, Pool* pool, bool on_stderr) {
  static constinit std::atomic<int> reported{0};
  const int number = reported.fetch_add(1, std::memory_order_relaxed);
  if (number >= kMaxLogged) return;
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
  if (number + 1 == kMaxLogged) {
    constexpr char kLast[] = "vramstow: further out-of-memory reports are only in the trace.\n";
    if (length + sizeof kLast < sizeof text) {
      std::memcpy(text + length, kLast, sizeof kLast);
      length += sizeof kLast - 1;
    }
  }
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text, length);
}

// Records the pool's limit as the fact `device.N.allowed_bytes`. When PyTorch's own allocator
// fails, the same fact is set to that allocator's limit. A later failure overwrites the fact: if
// the pool has no limit any more, with the device's size.
void DescribeLimit(Trace& trace, Pool* pool, int device) {
  static constinit std::atomic<bool> described{false};
  KeepErrno keep_errno;
  uint64_t limit = pool->LastReport().limit_bytes;
  const bool is_limited = limit != 0 && limit < pool->device_bytes();
  if (!is_limited && !described.load(std::memory_order_relaxed)) return;
  if (!is_limited) limit = pool->device_bytes();
  described.store(true, std::memory_order_relaxed);
  char key[48];
  char value[24];
  std::snprintf(key, sizeof key, "device.%d.allowed_bytes", device);
  std::snprintf(value, sizeof value, "%llu", static_cast<unsigned long long>(limit));
  trace.Describe(key, value);
}

// Records the fact `device.N.refused_in_capture` if a stream was being captured. A later failure
// overwrites the fact.
void DescribeCapture(Trace& trace, Pool* pool, int device) {
  static constinit std::atomic<bool> described{false};
  KeepErrno keep_errno;
  const bool capturing = pool->LastReport().capturing;
  if (!capturing && !described.load(std::memory_order_relaxed)) return;
  described.store(true, std::memory_order_relaxed);
  char key[48];
  std::snprintf(key, sizeof key, "device.%d.refused_in_capture", device);
  trace.Describe(key, capturing ? "1" : "0");
}

// Records the fact `device.N.graph_bytes` if memory could not move because captured graphs may use
// it. A later failure overwrites the fact.
void DescribeGraphs(Trace& trace, const Pools::Use& use) {
  static constinit std::atomic<bool> described{false};
  if (use.offloader() == nullptr) return;
  KeepErrno keep_errno;
  const uint64_t bytes = BytesOfGraphs(use->pages());
  if (bytes == 0 && !described.load(std::memory_order_relaxed)) return;
  described.store(true, std::memory_order_relaxed);
  char key[48];
  char value[24];
  std::snprintf(key, sizeof key, "device.%d.graph_bytes", use.device());
  std::snprintf(value, sizeof value, "%llu", static_cast<unsigned long long>(bytes));
  trace.Describe(key, value);
}

void Describe(Trace& trace, const Pools::Use& use, bool on_stderr) {
  DescribeLimit(trace, use.get(), use.device());
  DescribeCapture(trace, use.get(), use.device());
  DescribeGraphs(trace, use);
  Report(trace, use.get(), on_stderr);
  trace.NoteOutOfMemory();
}

}  // namespace

void LogOutOfMemory(Trace& trace, const Pools::Use& use) { Describe(trace, use, true); }

void DescribeOutOfMemory(Trace& trace, const Pools::Use& use) { Describe(trace, use, false); }

void LogFailedCheck(Pool* pool) {
  static constinit std::atomic<bool> logged{false};
  const char* found = pool->check_failure();
  if (found == nullptr || logged.exchange(true, std::memory_order_relaxed)) return;
  Log("the pool's records are inconsistent (%s): please report this.", found);
}

}  // namespace vramstow
