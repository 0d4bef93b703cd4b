#include "interpose/core/pools/turn_gate.h"

#include "base/futex.h"
#include "base/keep_errno.h"

namespace vramstow {

void TurnGate::Wait() {
  const KeepErrno keep_errno;
  waiting_.fetch_add(1, std::memory_order_acq_rel);
  while (const uint32_t closed = closed_.load(std::memory_order_seq_cst)) {
    FutexWait(&closed_, closed);
  }
  waiting_.fetch_sub(1, std::memory_order_acq_rel);
}

void TurnGate::Open(int number) {
  const uint32_t before = closed_.fetch_and(~BitOf(number), std::memory_order_seq_cst);
  if (before == BitOf(number)) FutexWakeAll(&closed_);
}

void TurnGate::Reset() {
  closed_.store(0, std::memory_order_relaxed);
  waiting_.store(0, std::memory_order_relaxed);
  counts_.store(false, std::memory_order_relaxed);
}

}  // namespace vramstow
