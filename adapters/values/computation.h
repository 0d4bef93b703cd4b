// A computation: one call of an operator, as the simulated device will compute it when its turn
// comes.
//
// Idea: what the call was given is kept as shadows of the device's tensors. The simulator runs the
// computation as a part of the work that the operator's own kernels are, so streams, events, memory
// that is used again and captured graphs stay what they are.
//
// Ownership: the simulator owns a computation from Append on. Threads: made by the calling thread;
// run by any, with the simulator's lock held. Errors: outcomes of simulator_api.h; no exception
// leaves. Units: bytes.
#ifndef VRAMSTOW_ADAPTERS_VALUES_COMPUTATION_H_
#define VRAMSTOW_ADAPTERS_VALUES_COMPUTATION_H_

#include <memory>
#include <optional>

#include "adapters/values/known_sizes.h"
#include "adapters/values/plan.h"
#include "adapters/values/shadow_tensor.h"

namespace vramstow::values {

// Seed and position of the device's generator, before the operator moved it on.
struct RandomState {
  uint64_t seed = 0;
  uint64_t offset = 0;
};

// The card whose stream has the work of a call, from its arguments or its results; -1: they do not
// say. It need not be the current one.
c10::DeviceIndex CardOf(const Plan& plan, const Stack& values);

// Appends to the work of the card's current stream that the results of a call are computed. `given`
// and `results` are what the operator got and gave. What is too large, or has no form that the host
// can compute with, is left out.
// `is_inner`: within another operator, which is told to the work log in its place.
void AppendComputation(const Plan& plan, const Stack& given, const Stack& results,
                       const RandomState& random, bool is_inner);

// Tells the simulator what the call reads and writes and how much work it is, and computes nothing.
void TellUses(const Plan& plan, const Stack& given, const Stack& results, bool is_inner);

// For operators whose results have a size that depends on values: computed first, so that the
// operator can be told the size; the results are put in place afterwards.
class EarlyComputation {
 public:
  // Null: the host has no form of what was given.
  static std::unique_ptr<EarlyComputation> Begin(const Plan& plan, const Stack& given);
  ~EarlyComputation();
  EarlyComputation(const EarlyComputation&) = delete;
  EarlyComputation& operator=(const EarlyComputation&) = delete;

  // Until then this thread's small reads of device memory give the size.
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

// While it lives, this thread's small reads of device memory give one number. For operators that
// ask how large their result is, where nothing is computed: any number might lie there.
class ToldSize {
 public:
  explicit ToldSize(int64_t size);
  ~ToldSize();
  ToldSize(const ToldSize&) = delete;
  ToldSize& operator=(const ToldSize&) = delete;

 private:
  int64_t size_;
};

}  // namespace vramstow::values

#endif  // VRAMSTOW_ADAPTERS_VALUES_COMPUTATION_H_
