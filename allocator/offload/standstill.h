// Standstill: the moment in which no work runs, so that memory can be exchanged.
//
// Idea: the gate is closed, so that nobody submits work, and then all work that was submitted is
// waited for: of the context's streams, and of peers and other contexts that may use the memory.
//
// Ownership: none. Threads: the device's lock; the numbers and Stop from any thread. Errors: false:
// work does not end in time, or a stream is being captured, and submissions go on. Units:
// nanoseconds.
#ifndef VRAMSTOW_ALLOCATOR_OFFLOAD_STANDSTILL_H_
#define VRAMSTOW_ALLOCATOR_OFFLOAD_STANDSTILL_H_

#include <atomic>
#include <cstdint>

#include "allocator/core/device_lock.h"
#include "allocator/offload/gate.h"
#include "allocator/pool/pool_pages.h"

namespace vramstow {

struct StandstillLimits {
  // How long the gate may wait for submissions that are on their way, and then for the work that
  // was submitted.
  uint64_t gate_wait_ns = 1'000'000'000;
  uint64_t work_wait_ns = 5'000'000'000;
};

class Standstill {
 public:
  Standstill() = default;
  Standstill(const Standstill&) = delete;
  Standstill& operator=(const Standstill&) = delete;

  void Open(PoolPages* pool, SubmissionGate* gate, const StandstillLimits& limits);

  // True: no work runs, and none is submitted until End.
  bool Begin() VRAMSTOW_REQUIRES(kDeviceLock);
  // True if nobody submits work until End, and no work of other contexts runs. Work of the
  // context's own streams may run.
  bool BeginBesideWork() VRAMSTOW_REQUIRES(kDeviceLock);
  // Returns how long it was.
  uint64_t End();
  // True: all work that was submitted has finished. Submissions go on.
  bool WaitForWork() VRAMSTOW_REQUIRES(kDeviceLock);

  // The process ends: what has set_hears_stop gives up within kHearingNs.
  static constexpr uint64_t kHearingNs = 10'000'000;
  void Stop() { stopping_.store(true, std::memory_order_relaxed); }
  bool stopping() const { return stopping_.load(std::memory_order_relaxed); }
  void set_hears_stop(bool hears) { hears_stop_ = hears; }
  // Whether what is under way is to be given up.
  bool gives_up() const { return hears_stop_ && stopping(); }

  uint64_t count() const { return count_.load(std::memory_order_relaxed); }
  uint64_t all_ns() const { return all_ns_.load(std::memory_order_relaxed); }
  uint64_t longest_ns() const { return longest_ns_.load(std::memory_order_relaxed); }

 private:
  bool CloseGate() VRAMSTOW_REQUIRES(kDeviceLock);
  bool BeginIf(bool is_quiet) VRAMSTOW_REQUIRES(kDeviceLock);
  bool WaitForStreams(uint64_t deadline_ns) VRAMSTOW_REQUIRES(kDeviceLock);
  bool WaitForOthers(uint64_t deadline_ns) VRAMSTOW_REQUIRES(kDeviceLock);
  // Whether to go on waiting, which is not later than `deadline_ns`.
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
