// SubmissionGate: lets work be submitted, but for the moments in which memory moves.
//
// Idea: whoever submits work passes the gate: one addition to a counter before, one after. Whoever
// moves memory closes it: nobody enters any more, and when all counters are zero no submission is
// on its way on any processor. Waiting for the work that was submitted before is then enough.
// Counters are striped, so that threads do not share a cache line.
//
// Ownership: static storage; constant-initialised. Threads: any. A thread that is inside must not
// enter again, close, or wait for who closes. Errors: Close gives up after a while, and the gate
// is open again. After fork the child calls Reset. Units: nanoseconds.
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

  // `lane`: any number, the same as for Leave; threads with different ones do not slow each other.
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

  // Whoever is inside waits, until EndWait, for something that the one who closes may hold: Close
  // gives up meanwhile.
  void BeginWait() { waiting_.fetch_add(1, std::memory_order_relaxed); }
  void EndWait() { waiting_.fetch_sub(1, std::memory_order_relaxed); }

  // True: nobody is inside, until Open. False: somebody still was after `wait_ns`, or when `*stop`
  // became true (null: nobody says so), or somebody inside waits, or another thread has closed the
  // gate; then it need not be opened.
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
