// Standstill: a moment in which no work runs, so that memory can be exchanged.
//
// Idea: the gate is closed, so that no thread submits work. Then the thread waits for all submitted
// work: work of the context's streams, and of peers and other contexts that may use the memory.
//
// Ownership: none. Threads: the device's lock; the numbers and Stop may be used from any thread.
// Errors: returns false if work does not finish in time or a stream is being captured; submissions
// then continue. Units: nanoseconds.
#ifndef VRAMSTOW_ALLOCATOR_OFFLOAD_STANDSTILL_H_
#define VRAMSTOW_ALLOCATOR_OFFLOAD_STANDSTILL_H_

#include <atomic>
#include <cstdint>

#include "allocator/core/device_lock.h"
#include "allocator/offload/gate.h"
#include "allocator/pool/pool_pages.h"

namespace vramstow {

struct StandstillLimits {
  // The longest time for which the gate waits for submissions in progress, and the longest wait
  // after that for the submitted work.
  uint64_t gate_wait_ns = 1'000'000'000;
  uint64_t work_wait_ns = 5'000'000'000;
};

class Standstill {
 public:
  Standstill() = default;
  Standstill(const Standstill&) = delete;
  Standstill& operator=(const Standstill&) = delete;

  void Open(PoolPages* pool, SubmissionGate* gate, const StandstillLimits& limits);

  // Begins a standstill. Returns true if no work runs, and none is submitted until End.
  bool Begin() VRAMSTOW_REQUIRES(kDeviceLock);
  // Closes the submission gate but does not wait for the context's own streams. Returns true if no
  // work is submitted until End, and no work of other contexts runs. Work of the context's own
  // streams may run.
  bool BeginBesideWork() VRAMSTOW_REQUIRES(kDeviceLock);
  // Ends the standstill. Returns how long it took.
  uint64_t End();
  // Begins a standstill and ends it at once. Returns true if all work that was submitted before has
  // ended, so that cached memory that it used can be released. Takes the device's lock.
  bool Reach();
  // Waits for all submitted work while submissions continue. Returns true if it has finished.
  bool WaitForWork() VRAMSTOW_REQUIRES(kDeviceLock);

  // Notes that the process ends: operations for which set_hears_stop was set give up within
  // kHearingNs.
  static constexpr uint64_t kHearingNs = 10'000'000;
  void Stop() { stopping_.store(true, std::memory_order_relaxed); }
  bool stopping() const { return stopping_.load(std::memory_order_relaxed); }
  void set_hears_stop(bool hears) { hears_stop_ = hears; }
  // True if the current operation should give up.
  bool gives_up() const { return hears_stop_ && stopping(); }

  uint64_t count() const { return count_.load(std::memory_order_relaxed); }
  uint64_t all_ns() const { return all_ns_.load(std::memory_order_relaxed); }
  uint64_t longest_ns() const { return longest_ns_.load(std::memory_order_relaxed); }

 private:
  bool CloseGate() VRAMSTOW_REQUIRES(kDeviceLock);
  bool BeginIf(bool is_quiet) VRAMSTOW_REQUIRES(kDeviceLock);
  bool WaitForStreams(uint64_t deadline_ns) VRAMSTOW_REQUIRES(kDeviceLock);
  bool WaitForOthers(uint64_t deadline_ns) VRAMSTOW_REQUIRES(kDeviceLock);
  // True if waiting should continue; false after `deadline_ns`.
  bool GoesOn(uint64_t deadline_ns) const {
    return !gives_up() && pool_->WaitClock() < deadline_ns;
  }

  PoolPages* pool_ = nullptr;
  SubmissionGate* gate_ = nullptr;
  StandstillLimits limits_;
  uint64_t began_ns_ = 0;
  bool hears_stop_ = false;
  std::atomic<bool> stopping_{false};
  std::atomic<uint64_t> count_{0};
  std::atomic<uint64_t> all_ns_{0};
  std::atomic<uint64_t> longest_ns_{0};
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_OFFLOAD_STANDSTILL_H_
