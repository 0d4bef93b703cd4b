// TurnGate lets threads submit work only while this process has its turn on the GPU (--share).
//
// Idea: unlike the SubmissionGate, which is closed for moments, this gate may be closed for
// seconds, so waiting threads sleep. A thread checks it before it enters the SubmissionGate, and
// again inside. So once the gate is closed and the SubmissionGate was closed once, no thread
// submits work.
//
// Ownership: static storage. Threads: any; one thread closes and opens. Errors: none. After a fork
// the child calls Reset. Units: numbers of GPUs, from 0 to 31.
#ifndef VRAMSTOW_INTERPOSE_CORE_POOLS_TURN_GATE_H_
#define VRAMSTOW_INTERPOSE_CORE_POOLS_TURN_GATE_H_

#include <atomic>
#include <cstdint>

namespace vramstow {

class TurnGate {
 public:
  constexpr TurnGate() = default;
  TurnGate(const TurnGate&) = delete;
  TurnGate& operator=(const TurnGate&) = delete;

  bool is_closed() const { return closed_.load(std::memory_order_seq_cst) != 0; }
  // Waits until the gate is open.
  void Wait();
  // Counts a submission, if the process shares its GPU.
  void Count() {
    if (counts_.load(std::memory_order_relaxed)) {
      submissions_.fetch_add(1, std::memory_order_relaxed);
    }
  }

  void CountFromNowOn() { counts_.store(true, std::memory_order_relaxed); }
  // Closes the gate for the GPU `number`, or ends that; the gate is open if no GPU keeps it closed.
  void Close(int number) { closed_.fetch_or(BitOf(number), std::memory_order_seq_cst); }
  void Open(int number);
  bool is_closed_by(int number) const {
    return (closed_.load(std::memory_order_seq_cst) & BitOf(number)) != 0;
  }
  // The number of threads that wait, and the number of submissions so far.
  uint32_t waiting() const { return waiting_.load(std::memory_order_acquire); }
  uint64_t submissions() const { return submissions_.load(std::memory_order_relaxed); }
  void Reset();

 private:
  static constexpr uint32_t BitOf(int number) { return uint32_t{1} << number; }

  std::atomic<uint32_t> closed_{0};  // a bit for each GPU
  std::atomic<uint32_t> waiting_{0};
  std::atomic<bool> counts_{false};
  std::atomic<uint64_t> submissions_{0};
};

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_POOLS_TURN_GATE_H_
