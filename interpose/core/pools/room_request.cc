#include "interpose/core/pools/room_request.h"

#include "base/futex.h"
#include "base/keep_errno.h"

namespace vramstow {

bool RoomRequest::Ask(uint64_t bytes) {
  if (!answers_.load(std::memory_order_acquire)) return false;
  const KeepErrno keep_errno;
  const uint32_t seen = answer_.load(std::memory_order_acquire);
  wanted_bytes_.fetch_add(bytes, std::memory_order_acq_rel);
  uint32_t answer = seen;
  bool is_answered = true;
  while ((answer = answer_.load(std::memory_order_acquire)) == seen) {
    is_answered = answers_.load(std::memory_order_acquire);
    if (!is_answered) break;
    wake_(context_);
    FutexWait(&answer_, seen);
  }
  wanted_bytes_.fetch_sub(bytes, std::memory_order_acq_rel);
  return is_answered && (answer & 1) == 0;
}

void RoomRequest::StartAnswering(void (*wake)(void*), void* context) {
  wake_ = wake;
  context_ = context;
  answers_.store(true, std::memory_order_release);
}

void RoomRequest::StopAnswering() {
  answers_.store(false, std::memory_order_release);
  Answer(/*is_granted=*/false);
}

void RoomRequest::Answer(bool is_granted) {
  const uint32_t before = answer_.load(std::memory_order_relaxed);
  answer_.store(((before >> 1) + 1) << 1 | (is_granted ? 0u : 1u), std::memory_order_release);
  FutexWakeAll(&answer_);
}

void RoomRequest::Reset() {
  answers_.store(false, std::memory_order_relaxed);
  wanted_bytes_.store(0, std::memory_order_relaxed);
}

}  // namespace vramstow
