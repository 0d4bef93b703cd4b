// Who came to the driver in which way, and who could have come past us: a report at exit.
//
// Idea: every look-up and every call is counted under the library that made it, middlemen included.
// At the end, libraries that could reach the driver but never came are looked for among those that
// are loaded.
//
// Ownership: static storage. Threads: counting from any thread, reporting from one. Errors: a
// library that does not fit into the table of callers is not counted. Units: calls.
#ifndef VRAMSTOW_INTERPOSE_CORE_RECORD_INTERCEPTION_REPORT_H_
#define VRAMSTOW_INTERPOSE_CORE_RECORD_INTERCEPTION_REPORT_H_

#include <atomic>
#include <cstdint>

#include "interpose/core/runtime/hook_table.h"
#include "interpose/shim/seam.h"
#include "tracer/capture/caller.h"

namespace vramstow {

class Coverage {
 public:
  constexpr Coverage() = default;
  Coverage(const Coverage&) = delete;
  Coverage& operator=(const Coverage&) = delete;

  // A look-up that was answered with a wrapper.
  void NoteLookUp(VramstowWay way, const void* caller);
  // A look-up of a hooked name that was answered with an address which is not in the table.
  void NoteUnknown(const char* name, int version);
  // A look-up that landed in a driver library other than the one that is watched.
  void NoteOtherDriver() { other_driver_.store(true, std::memory_order_relaxed); }
  // A call that came through a wrapper.
  void NoteCall(Hook hook, const void* caller);

  uint64_t calls(Hook hook) const {
    return calls_[static_cast<size_t>(hook)].load(std::memory_order_relaxed);
  }
  // Counts a call without its caller: always done.
  void Count(Hook hook) {
    calls_[static_cast<size_t>(hook)].fetch_add(1, std::memory_order_relaxed);
  }

  // Writes the report to stderr.
  void Report() const;

 private:
  using Counter = std::atomic<uint32_t>;

  bool WasSeen(size_t object) const;
  void ReportObject(const CallerObject& object, size_t index) const;
  // Gives the number of lines written.
  int ReportBypasses() const;

  Counter look_ups_[kMaxCallerObjects][kVramstowWays] = {};
  Counter calls_by_object_[kMaxCallerObjects][kHookCount] = {};
  std::atomic<uint64_t> calls_[kHookCount] = {};
  std::atomic<bool> other_driver_{false};
  std::atomic<int> unknown_version_{0};
  char unknown_name_[64] = {};
};

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_RECORD_INTERCEPTION_REPORT_H_
