#include "interpose/core/pools/room_request.h"

#include "base/futex.h"
#include "base/keep_errno.h"

namespace vramstow {

// Returns a place with these bytes, or null if all are taken.
std::atomic<uint64_t>* RoomRequest::Claim(uint64_t bytes) {
  for (std::atomic<uint64_t>& place : waiting_) {
    uint64_t free = 0;
    if (place.compare_exchange_strong(free, bytes, std::memory_order_acq_rel)) return &place;
  }
  return nullptr;
}

bool RoomRequest::Ask(uint64_t bytes) {
  if (!answers_.load(std::memory_order_acquire)) return false;
  const KeepErrno keep_errno;
  const uint32_t grants = grants_.load(std::memory_order_acquire);
  // The sum is first increased, so that it never lacks a request that RefuseLargest subtracts.
  wanted_bytes_.fetch_add(bytes, std::memory_order_acq_rel);
  std::atomic<uint64_t>* const place = Claim(bytes);
  bool is_granted = false;
  while (place != nullptr) {
    const uint32_t changes = changes_.load(std::memory_order_acquire);
    is_granted = grants_.load(std::memory_order_acquire) != grants;
    const bool is_refused = place->load(std::memory_order_acquire) == kRefused;
    if (is_granted || is_refused || !answers_.load(std::memory_order_acquire)) break;
    wake_(context_);
    FutexWait(&changes_, changes);
  }
  const bool is_counted =
      place == nullptr || place->exchange(0, std::memory_order_acq_rel) != kRefused;
  if (is_counted) wanted_bytes_.fetch_sub(bytes, std::memory_order_acq_rel);
  return is_granted;
}

void RoomRequest::StartAnswering(void (*wake)(void*), void* context) {
  wake_ = wake;
  context_ = context;
  answers_.store(true, std::memory_order_release);
}

void RoomRequest::StopAnswering() {
  answers_.store(false, std::memory_order_release);
  WakeAll();
}

void RoomRequest::GrantAll() {
  grants_.fetch_add(1, std::memory_order_release);
  WakeAll();
}

void RoomRequest::RefuseLargest() {
  std::atomic<uint64_t>* largest = nullptr;
  uint64_t bytes = 0;
  for (std::atomic<uint64_t>& place : waiting_) {
    const uint64_t waits = place.load(std::memory_order_acquire);
    if (waits == kRefused || waits <= bytes) continue;
    largest = &place;
    bytes = waits;
  }
  if (largest == nullptr) return;
  if (largest->compare_exchange_strong(bytes, kRefused, std::memory_order_acq_rel)) {
    wanted_bytes_.fetch_sub(bytes, std::memory_order_acq_rel);
  }
  WakeAll();
}

void RoomRequest::WakeAll() {
  changes_.fetch_add(1, std::memory_order_release);
  FutexWakeAll(&changes_);
}

void RoomRequest::Reset() {
  answers_.store(false, std::memory_order_relaxed);
  wanted_bytes_.store(0, std::memory_order_relaxed);
  for (std::atomic<uint64_t>& place : waiting_) place.store(0, std::memory_order_relaxed);
}

}  // namespace vramstow
