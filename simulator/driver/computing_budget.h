// ComputingBudget: how much of this machine's time large calls may take to be computed.
//
// Idea: a rehearsal that computes what decides must not take much longer for it. Without
// allowance= in the SPEC, large calls together may take as long as the job has run without them,
// and ten seconds at least; a call is computed if it is expected to take no more than a third of
// what is left. The expectation follows from how long calls of that name took before. Random
// values get an eighth of it: whole models begin with them, and products that nobody computes read
// most. A job that makes sizes of values has a minute at least for what may lead to one: a size
// that is wrong makes the rehearsal wrong. With allowance= the bytes that are touched count
// instead, so that what is computed is the same in each run.
//
// Ownership: one for the process; names live as long as it. Threads: the driver's lock, but for
// IsOpen and makes_sizes, which any thread may ask. Errors: none. Units: bytes, operations,
// nanoseconds.
#ifndef VRAMSTOW_SIMULATOR_DRIVER_COMPUTING_BUDGET_H_
#define VRAMSTOW_SIMULATOR_DRIVER_COMPUTING_BUDGET_H_

#include <atomic>
#include <cstdint>
#include <map>

#include "simulator/device/spec.h"

namespace vramstow::simulator {

// The price of a call.
struct Effort {
  const char* name = nullptr;  // of what is called
  uint64_t bytes = 0;          // that are touched, or what takes as long
  uint64_t operations = 0;     // of a matrix product
  bool is_random = false;      // its results are random values
  bool leads_to_size = false;  // a size may follow from its results
};

class ComputingBudget {
 public:
  static ComputingBudget& Global();

  // The program makes a size of values: others will follow.
  void NoteSize() { makes_sizes_.store(true, std::memory_order_relaxed); }
  bool makes_sizes() const { return makes_sizes_.load(std::memory_order_relaxed); }

  // A small call is computed in any case.
  static bool IsLarge(const Spec& spec, const Effort& effort) {
    return effort.bytes > spec.emulation_bytes || effort.operations > spec.gemm_operations;
  }
  // Whether such a large call might be allowed.
  bool IsOpen(const Spec& spec, const Effort& effort) const;
  // Whether it is.
  bool Allows(const Spec& spec, const Effort& effort) const;
  // It was computed, and took so long.
  void Spend(const Effort& effort, uint64_t took_ns);

 private:
  // Those that were computed.
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
  std::atomic<uint64_t> random_ns_{0};  // of it
  std::map<const char*, Calls> calls_;  // by name
};

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DRIVER_COMPUTING_BUDGET_H_
