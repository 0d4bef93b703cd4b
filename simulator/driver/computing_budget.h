// ComputingBudget limits how much of this machine's time large calls may use to compute their
// results.
//
// Idea: a simulated run must not become much slower because it computes the values that decide the
// program's behaviour. Without allowance= in the SPEC, large calls together may take as long as the
// job has run without them, and ten seconds at least. A call is computed if it is expected to take
// no more than a third of the remaining time; the expectation follows from how long calls of that
// name took before. Random values get an eighth of the budget: programs initialize whole models
// with random values, and most of these values are read only by products that are not computed. If
// a job derives sizes from values, calls that may lead to a size have at least a minute, because a
// wrong size makes the simulated run wrong. With allowance= the accessed bytes count instead of
// time, so that each run computes the same results.
//
// Ownership: one for the process; names live as long as it. Threads: the caller holds the driver's
// lock, except for IsOpen and makes_sizes, which any thread may call. Errors: none. Units: bytes,
// operations, nanoseconds.
#ifndef VRAMSTOW_SIMULATOR_DRIVER_COMPUTING_BUDGET_H_
#define VRAMSTOW_SIMULATOR_DRIVER_COMPUTING_BUDGET_H_

#include <atomic>
#include <cstdint>
#include <map>

#include "simulator/device/spec.h"

namespace vramstow::simulator {

// The cost of a call.
struct Effort {
  const char* name = nullptr;  // the called function's name
  uint64_t bytes = 0;          // bytes that are touched, or an equivalent number
  uint64_t operations = 0;     // operations of a matrix product
  bool is_random = false;      // its results are random values
  bool leads_to_size = false;  // a size may follow from its results
};

class ComputingBudget {
 public:
  static ComputingBudget& Global();

  // Records that the program derives a size from values; it probably does so again.
  void NoteSize() { makes_sizes_.store(true, std::memory_order_relaxed); }
  bool makes_sizes() const { return makes_sizes_.load(std::memory_order_relaxed); }

  // True if the call is large; a small call is always computed.
  static bool IsLarge(const Spec& spec, const Effort& effort) {
    return effort.bytes > spec.emulation_bytes || effort.operations > spec.gemm_operations;
  }
  // Returns false if Allows would certainly return false for a large call of this cost. Needs no
  // lock.
  bool IsOpen(const Spec& spec, const Effort& effort) const;
  // Returns whether a large call of this cost may be computed.
  bool Allows(const Spec& spec, const Effort& effort) const;
  // Charges the budget with a call that was computed in `took_ns`.
  void Spend(const Effort& effort, uint64_t took_ns);

 private:
  // Sums over the computed calls of one name.
  struct Calls {
    double units = 0;  // bytes, or operations
    double took_ns = 0;
  };

  ComputingBudget();
  uint64_t LeftNs(const Effort& effort) const;
  double ExpectNs(const Effort& effort) const;

  const uint64_t began_ns_;
  std::atomic<bool> makes_sizes_{false};
  std::atomic<uint64_t> spent_bytes_{0};
  std::atomic<uint64_t> spent_ns_{0};
  std::atomic<uint64_t> random_ns_{0};  // the part of spent_ns_ for random values
  std::map<const char*, Calls> calls_;  // by name
};

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DRIVER_COMPUTING_BUDGET_H_
