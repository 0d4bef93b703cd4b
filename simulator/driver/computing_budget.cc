#include "simulator/driver/computing_budget.h"

#include <algorithm>

#include "simulator/driver/state.h"

namespace vramstow::simulator {
namespace {

constexpr uint64_t kLeastNs = 10'000'000'000;
constexpr uint64_t kLeastForSizesNs = 60'000'000'000;
constexpr uint64_t kRandomPart = 8;
// Largest part of the remaining budget that one call may use. The limit leaves some of the budget
// for many cheap calls.
constexpr double kPartOfLeft = 1.0 / 3;
// Expected speed for the first call of a name: 1 GB/s for bytes and 5 GFLOP/s for operations. This
// estimate has the weight of kExpectedUnits of measured work. So a few small calls, which also
// start threads and allocate memory, change it little.
constexpr double kByteNs = 1;
constexpr double kOperationNs = 0.2;
constexpr double kExpectedUnits = 32 << 20;

uint64_t UnitsOf(const Effort& effort) {
  return effort.operations > 0 ? effort.operations : effort.bytes;
}

}  // namespace

ComputingBudget::ComputingBudget() : began_ns_(RealNanoseconds()) {}

ComputingBudget& ComputingBudget::Global() {
  static auto* budget = new ComputingBudget;
  return *budget;
}

uint64_t ComputingBudget::LeftNs(const Effort& effort) const {
  const uint64_t spent = spent_ns_.load(std::memory_order_relaxed);
  const uint64_t ran = RealNanoseconds() - began_ns_;
  const uint64_t least = effort.leads_to_size ? kLeastForSizesNs : kLeastNs;
  const uint64_t whole = std::max(least, ran - std::min(ran, spent));
  const uint64_t left = whole - std::min(whole, spent);
  if (!effort.is_random) return left;
  const uint64_t part = whole / kRandomPart;
  return std::min(left, part - std::min(part, random_ns_.load(std::memory_order_relaxed)));
}

double ComputingBudget::ExpectNs(const Effort& effort) const {
  const double first = effort.operations > 0 ? kOperationNs : kByteNs;
  Calls calls;
  if (const auto known = calls_.find(effort.name); known != calls_.end()) calls = known->second;
  const double unit_ns = (calls.took_ns + first * kExpectedUnits) / (calls.units + kExpectedUnits);
  return unit_ns * static_cast<double>(UnitsOf(effort));
}

bool ComputingBudget::IsOpen(const Spec& spec, const Effort& effort) const {
  if (!spec.budget_is_time) {
    const uint64_t spent = spent_bytes_.load(std::memory_order_relaxed);
    return effort.operations <= spec.gemm_operations &&
           effort.bytes <= spec.allowance_bytes - std::min(spec.allowance_bytes, spent);
  }
  const bool is_beyond = spec.gemm_is_limit && effort.operations > spec.gemm_operations;
  return !is_beyond && LeftNs(effort) > 0;
}

bool ComputingBudget::Allows(const Spec& spec, const Effort& effort) const {
  if (!IsOpen(spec, effort)) return false;
  return !spec.budget_is_time ||
         ExpectNs(effort) <= kPartOfLeft * static_cast<double>(LeftNs(effort));
}

void ComputingBudget::Spend(const Effort& effort, uint64_t took_ns) {
  spent_bytes_.fetch_add(effort.bytes, std::memory_order_relaxed);
  spent_ns_.fetch_add(took_ns, std::memory_order_relaxed);
  if (effort.is_random) random_ns_.fetch_add(took_ns, std::memory_order_relaxed);
  Calls& calls = calls_[effort.name];
  calls.units += static_cast<double>(UnitsOf(effort));
  calls.took_ns += static_cast<double>(took_ns);
}

}  // namespace vramstow::simulator
