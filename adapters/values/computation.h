// Computes one call of an operator when the simulated device's work reaches it.
//
// Idea: the arguments of the call are stored as shadows, which are host tensors over the bytes of
// the device's tensors. The simulator runs the computation as a part of the operator's own kernels,
// so streams, events, reuse of memory and captured graphs behave as usual.
//
// Ownership: the simulator owns a computation from Append on. Threads: made by the calling thread;
// run by any thread, with the simulator's lock held. Errors: outcomes of simulator_api.h; no
// exception leaves. Units: bytes.
#ifndef VRAMSTOW_ADAPTERS_VALUES_COMPUTATION_H_
#define VRAMSTOW_ADAPTERS_VALUES_COMPUTATION_H_

#include <memory>
#include <optional>

#include "adapters/values/known_sizes.h"
#include "adapters/values/plan.h"
#include "adapters/values/shadow_tensor.h"

namespace vramstow::values {

// The seed and the offset of the device's random generator before the operator advanced it.
struct RandomState {
  uint64_t seed = 0;
  uint64_t offset = 0;
};

// Returns the GPU whose stream executes a call, according to its arguments or results. Returns -1
// if no argument or result is on a GPU. The GPU need not be the current one.
c10::DeviceIndex CardOf(const Plan& plan, const Stack& values);

// Appends a task that computes the results of a call to the current stream of the GPU. `given` and
// `results` are the operator's arguments and results. A call that is too large, or that the host
// cannot compute, is not computed.
// `is_inner` is true if another operator made this call. Then only that operator is written to the
// work log.
void AppendComputation(const Plan& plan, const Stack& given, const Stack& results,
                       const RandomState& random, bool is_inner);

// Reports to the simulator what the call reads and writes and how much work it is, without
// computing it.
void ReportUses(const Plan& plan, const Stack& given, const Stack& results, bool is_inner);

// Computes an operator whose results have a size that depends on values. The computation runs
// before the operator, so that the operator can read the size. The results are copied into the
// operator's tensors afterwards.
class EarlyComputation {
 public:
  // Returns null if the host cannot represent the arguments.
  static std::unique_ptr<EarlyComputation> Begin(const Plan& plan, const Stack& given);
  ~EarlyComputation();
  EarlyComputation(const EarlyComputation&) = delete;
  EarlyComputation& operator=(const EarlyComputation&) = delete;

  // Copies the results. Before Finish is called, a read of a few bytes of device memory by this
  // thread returns the size.
  void Finish(const Stack& results);

 private:
  struct Shared;
  EarlyComputation(const Plan& plan, c10::DeviceIndex card, Stack shadows,
                   const Footprint& footprint, std::optional<Source> source);

  const Plan& plan_;
  const c10::DeviceIndex card_;
  std::shared_ptr<Shared> shared_;
  Footprint reads_;
};

// While this object exists, a thread that reads a few bytes of device memory gets the same given
// number each time. This serves operators that read the size of their result while nothing is
// computed: the memory could contain any number then.
class ReportedSize {
 public:
  explicit ReportedSize(int64_t size);
  ~ReportedSize();
  ReportedSize(const ReportedSize&) = delete;
  ReportedSize& operator=(const ReportedSize&) = delete;

 private:
  int64_t size_;
};

}  // namespace vramstow::values

#endif  // VRAMSTOW_ADAPTERS_VALUES_COMPUTATION_H_
