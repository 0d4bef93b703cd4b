#include "base/work_cost.h"

#include <algorithm>

namespace vramstow {
namespace {

constexpr double kTera = 1e12;
constexpr double kGiga = 1e9;
// The share of the data sheet's memory bandwidth that large element-wise kernels reach.
constexpr double kMemoryShare = 0.80;
// The share of the data sheet's rate that links between GPUs (PCIe or NVLink) reach.
constexpr double kLinkShare = 0.75;
constexpr double kCollectiveSeconds = 15e-6;
// The share of the data sheet's rate that copies between pinned host memory and the GPU reach.
constexpr double kHostShare = 0.80;
// The time of cuMemSetAccess for host memory, per GiB (docs/card.md#times).
constexpr double kHostAccessSeconds = 9.6e-3;
constexpr double kGib = 1024.0 * 1024 * 1024;

// A product of matrices of 16-bit numbers whose rows have an odd number of elements reaches this
// share of its usual rate (docs/plan.md says why).
constexpr double kOddShare = 0.29;

double RateOf(const CardRates& rates, std::string_view precision) {
  if (precision == "bf16") return rates.bf16;
  if (precision == "f16") return rates.f16;
  if (precision == "tf32") return rates.tf32;
  if (precision == "f64") return rates.f64;
  if (precision == "bf16_odd") return rates.bf16 * kOddShare;
  if (precision == "f16_odd") return rates.f16 * kOddShare;
  return rates.f32;
}

// True for operators such as embeddings, which have a whole table as an argument, but read or write
// only the requested rows of it.
bool IsPicking(std::string_view name) {
  constexpr std::string_view kPicking[] = {"embedding", "index_select",     "index",
                                           "gather",    "nll_loss_forward", "nll_loss_backward"};
  return std::find(std::begin(kPicking), std::end(kPicking), name) != std::end(kPicking);
}

double BytesOf(const WorkSize& work) {
  constexpr uint64_t kSector = 64;  // the smallest memory transfer
  uint64_t read = work.read_bytes;
  if (IsPicking(work.name)) read = std::min(read, work.written_bytes + kSector * work.items);
  return static_cast<double>(read + work.written_bytes);
}

}  // namespace

OperatorCost CostOfOperator(const WorkSize& work, const CardRates& rates) {
  OperatorCost cost;
  cost.is_attention = work.name.find("_attention") != std::string_view::npos;
  const double share = cost.is_attention ? rates.attention_share : rates.product_share;
  cost.computing =
      static_cast<double>(work.operations) / (RateOf(rates, work.precision) * kTera * share);
  cost.memory = BytesOf(work) / (rates.memory * kGiga * kMemoryShare);
  return cost;
}

double SecondsOfCollective(const WorkSize& work, const CardRates& rates) {
  if (work.items < 2) return 0;
  const auto ranks = static_cast<double>(work.items);
  const auto most = static_cast<double>(std::max(work.read_bytes, work.written_bytes));
  double bytes = most * (ranks - 1) / ranks;
  if (work.name == "all_reduce") bytes *= 2;
  if (work.name == "send" || work.name == "receive") bytes = most;
  const double link = rates.links > 0 ? rates.links : rates.host;
  return bytes / (link * kGiga * kLinkShare) + kCollectiveSeconds;
}

double SecondsOverHostLink(uint64_t bytes, const CardRates& rates) {
  return static_cast<double>(bytes) / (rates.host * kGiga * kHostShare);
}

MoveCost CostOfMoves(uint64_t out_bytes, uint64_t in_bytes, const CardRates& rates) {
  return {SecondsOverHostLink(out_bytes, rates) + SecondsOverHostLink(in_bytes, rates),
          kHostAccessSeconds * static_cast<double>(out_bytes) / kGib};
}

}  // namespace vramstow
