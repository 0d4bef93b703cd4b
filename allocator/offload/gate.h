// SubmissionGate: lets threads submit work, except while memory moves.
//
// Idea: a thread that submits work passes the gate: it adds to a counter before the submission and
// subtracts from it afterwards. To move memory, a thread closes the gate. No other thread enters
// any more, and when all counters are zero no submission is in progress on any processor. Then it
// is enough to wait for the work that was submitted before. Each thread uses one of many counters,
// so that threads do not share a cache line.
//
// Ownership: static storage; constant-initialised. Threads: any. A thread inside the gate must not
// enter again, close the gate, or wait for a thread that closes it. Errors: Close gives up after a
// time limit, and the gate is open again. After a fork the child calls Reset. Units: nanoseconds.
#ifndef VRAMSTOW_ALLOCATOR_OFFLOAD_GATE_H_
#define VRAMSTOW_ALLOCATOR_OFFLOAD_GATE_H_

#include <atomic>
#include <cstdint>

namespace vramstow {

class SubmissionGate {
 public:
  static constexpr uint32_t kLanes = 64;

  constexpr SubmissionGate() = default;
  SubmissionGate(const SubmissionGate&) = delete;
  SubmissionGate& operator=(const SubmissionGate&) = delete;

  // Enters the gate and waits while it is closed. `lane` is any number, the same as for Leave;
  // threads with different numbers do not slow each other down.
  void Enter(uint32_t lane) {
    std::atomic<uint32_t>& inside = lanes_[lane % kLanes].inside;
    inside.fetch_add(1, std::memory_order_seq_cst);
    if (closed_.load(std::memory_order_seq_cst) != 0) [[unlikely]] {
      EnterSlow(&inside);
    }
  }
  void Leave(uint32_t lane) {
    lanes_[lane % kLanes].inside.fetch_sub(1, std::memory_order_release);
  }

  // Between BeginWait and EndWait a thread inside the gate waits for a lock that the thread in
  // Close may hold. Close gives up during that time.
  void BeginWait() { waiting_.fetch_add(1, std::memory_order_relaxed); }
  void EndWait() { waiting_.fetch_sub(1, std::memory_order_relaxed); }

  // Closes the gate. Returns true once no thread is inside; no thread enters until Open. Returns
  // false, and leaves the gate open, in four cases: a thread is still inside after `wait_ns`;
  // `*stop` becomes true (`stop` may be null); a thread inside waits (BeginWait); another thread
  // has closed the gate.
  bool Close(uint64_t wait_ns, const std::atomic<bool>* stop = nullptr);
  void Open();
  void Reset();

 private:
  struct alignas(64) Lane {
    std::atomic<uint32_t> inside{0};
  };

  void EnterSlow(std::atomic<uint32_t>* inside);

  std::atomic<uint32_t> closed_{0};
  std::atomic<uint32_t> waiting_{0};
  Lane lanes_[kLanes];
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_OFFLOAD_GATE_H_
