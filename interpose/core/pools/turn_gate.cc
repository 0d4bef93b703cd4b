#include "interpose/core/pools/turn_gate.h"

#include "base/futex.h"
#include "base/keep_errno.h"

namespace vramstow {

void TurnGate::Wait() {
  const KeepErrno keep_errno;
  waiting_.fetch_add(1, std::memory_order_acq_rel);
  while (is_closed()) {
    FutexWait(&closed_, 1);
  }
  waiting_.fetch_sub(1, std::memory_order_acq_rel);
}

void TurnGate::Open() {
  if (closed_.exchange(0, std::memory_order_seq_cst) == 0) return;
  FutexWakeAll(&closed_);
}

void TurnGate::Reset() {
  closed_.store(0, std::memory_order_relaxed);
  waiting_.store(0, std::memory_order_relaxed);
  counts_.store(false, std::memory_order_relaxed);
}

}  // namespace vramstow
