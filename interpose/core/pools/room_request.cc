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
  // The sum is first increased, so that it never lacks a request that an answer subtracts.
  wanted_bytes_.fetch_add(bytes, std::memory_order_acq_rel);
  std::atomic<uint64_t>* const place = Claim(bytes);
  while (place != nullptr) {
    const uint32_t changes = changes_.load(std::memory_order_acquire);
    if (place->load(std::memory_order_acquire) >= kGranted) break;
    if (!answers_.load(std::memory_order_acquire)) break;
    wake_(context_);
    FutexWait(&changes_, changes);
  }
  const uint64_t answer = place == nullptr ? 0 : place->exchange(0, std::memory_order_acq_rel);
  if (answer < kGranted) wanted_bytes_.fetch_sub(bytes, std::memory_order_acq_rel);
  return answer == kGranted;
}

// Answers the request of this place, unless it has been answered or does not wait any more.
void RoomRequest::Answer(std::atomic<uint64_t>* place, uint64_t answer) {
  uint64_t bytes = place->load(std::memory_order_acquire);
  if (bytes == 0 || bytes >= kGranted) return;
  if (!place->compare_exchange_strong(bytes, answer, std::memory_order_acq_rel)) return;
  wanted_bytes_.fetch_sub(bytes, std::memory_order_acq_rel);
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
  for (std::atomic<uint64_t>& place : waiting_) Answer(&place, kGranted);
  WakeAll();
}

void RoomRequest::RefuseLargest() {
  std::atomic<uint64_t>* largest = nullptr;
  uint64_t most = 0;
  for (std::atomic<uint64_t>& place : waiting_) {
    const uint64_t bytes = place.load(std::memory_order_acquire);
    if (bytes >= kGranted || bytes <= most) continue;
    largest = &place;
    most = bytes;
  }
  if (largest == nullptr) return;
  Answer(largest, kRefused);
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
