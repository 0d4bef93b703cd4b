#include "allocator/offload/standstill.h"

#include <algorithm>

#include "allocator/core/counter.h"

namespace vramstow {

void Standstill::Open(PoolPages* pool, SubmissionGate* gate, const StandstillLimits& limits) {
  pool_ = pool;
  gate_ = gate;
  limits_ = limits;
  hears_stop_ = false;
  stopping_.store(false, std::memory_order_relaxed);
}

bool Standstill::WaitForWork() {
  Fences& fences = pool_->fences();
  if (fences.capturing()) return false;
  const uint64_t deadline = pool_->WaitClock() + limits_.work_wait_ns;
  // Peers and other contexts of this device may use the memory, too.
  return WaitForStreams(deadline) && WaitForOthers(deadline);
}

bool Standstill::WaitForStreams(uint64_t deadline_ns) {
  Fences& fences = pool_->fences();
  const uint32_t tick = fences.OpenTick(Fences::kEverything);
  for (;;) {
    const uint64_t until = std::min(pool_->WaitClock() + kHearingNs, deadline_ns);
    if (fences.WaitFor(Fences::kEverything, tick, until)) return true;
    if (fences.broken()) return fences.Synchronize() == kDriverSuccess;
    // WaitFor returned early, so waiting is not possible.
    if (pool_->WaitClock() < until || !GoesOn(deadline_ns)) return false;
  }
}

bool Standstill::WaitForOthers(uint64_t deadline_ns) {
  const DriverTable* driver = pool_->driver();
  if (driver->finish_others == nullptr) return true;
  for (;;) {
    const uint64_t until = std::min(pool_->WaitClock() + kHearingNs, deadline_ns);
    const DriverResult result = driver->finish_others(driver->self, until);
    if (result != kDriverNotReady || !GoesOn(deadline_ns)) return result == kDriverSuccess;
  }
}

bool Standstill::CloseGate() {
  if (pool_->fences().capturing()) return false;
  return gate_->Close(limits_.gate_wait_ns, hears_stop_ ? &stopping_ : nullptr);
}

bool Standstill::BeginIf(bool is_quiet) {
  if (!is_quiet) gate_->Open();
  began_ns_ = pool_->Now();
  return is_quiet;
}

bool Standstill::Begin() { return CloseGate() && BeginIf(WaitForWork()); }

bool Standstill::BeginBesideWork() {
  return CloseGate() && BeginIf(WaitForOthers(pool_->WaitClock() + limits_.work_wait_ns));
}

bool Standstill::Reach() {
  DeviceLock device_lock(pool_->mutex());
  if (!Begin()) return false;
  End();
  return true;
}

uint64_t Standstill::End() {
  gate_->Open();
  const uint64_t duration = pool_->Now() - began_ns_;
  Bump(&count_, 1);
  Bump(&all_ns_, duration);
  if (duration > longest_ns()) longest_ns_.store(duration, std::memory_order_relaxed);
  return duration;
}

}  // namespace vramstow
