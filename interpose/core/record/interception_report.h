// InterceptionReport lists how each library reached the driver, and which libraries could have
// bypassed vramstow. It is written to stderr at exit, on request (--interception-report).
//
// Idea: every look-up and every call is counted under the library that made it, even if that
// library only passes on calls of other libraries. At exit the report searches the loaded libraries
// for those that could reach the driver but never called a hook.
//
// Ownership: static storage. Threads: any thread counts, one thread reports. Errors: a library that
// does not fit into the table of callers is not counted. Units: calls.
#ifndef VRAMSTOW_INTERPOSE_CORE_RECORD_INTERCEPTION_REPORT_H_
#define VRAMSTOW_INTERPOSE_CORE_RECORD_INTERCEPTION_REPORT_H_

#include <atomic>
#include <cstdint>

#include "interpose/core/runtime/call_site.h"
#include "interpose/core/runtime/core.h"
#include "interpose/core/runtime/routing.h"
#include "interpose/shim/seam.h"
#include "tracer/capture/caller.h"

namespace vramstow {

class InterceptionReport {
 public:
  // The counters are a separate object, so that they start as zero and need no room in the
  // library's file.
  struct Counters {
    std::atomic<uint32_t> look_ups[kMaxCallerObjects][kVramstowWays] = {};
    std::atomic<uint32_t> calls_by_object[kMaxCallerObjects][kHookCount] = {};
  };

  constexpr InterceptionReport(const Process& process, const Driver& driver, CallerTable& callers,
                               Counters& counters)
      : process_(process), driver_(driver), callers_(callers), counters_(counters) {}
  InterceptionReport(const InterceptionReport&) = delete;
  InterceptionReport& operator=(const InterceptionReport&) = delete;

  // Counts the outcome of a look-up of a hooked function by `caller`.
  void NoteLookUp(LookUp outcome, VramstowWay way, const void* caller);
  // Counts the outcome of a call of cuGetProcAddress for a name and a CUDA version.
  void NoteProcAddress(LookUp outcome, const char* name, int version, const void* caller);
  // Counts a call that came through a wrapper.
  void NoteCall(const CallSite& site);

  // Writes the report to stderr.
  void Report() const;

 private:
  void NoteUnknown(const char* name, int version);
  bool WasSeen(size_t object) const;
  bool WasSeenAt(const void* address) const;
  void ReportObject(const CallerObject& object, size_t index) const;
  // Returns the number of lines written.
  int ReportBypasses() const;

  const Process& process_;
  const Driver& driver_;
  CallerTable& callers_;
  Counters& counters_;
  std::atomic<bool> other_driver_{false};
  std::atomic<int> unknown_version_{0};
  char unknown_name_[64] = {};
};

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_RECORD_INTERCEPTION_REPORT_H_
