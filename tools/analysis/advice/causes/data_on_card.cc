// A cause of an out-of-memory: data that were placed on the GPU before the first step and are still
// there.
#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/changes.h"
#include "tools/analysis/advice/first_step.h"
#include "tools/analysis/advice/keepers.h"
#include "tools/analysis/advice/parameter_sites.h"
#include "tools/analysis/advice/places.h"
#include "tools/analysis/advice/rule.h"
#include "tools/analysis/explain/census_summary.h"
#include "tools/analysis/facts/census_log.h"

namespace vramstow {
namespace {

// True if the block may be data: nothing shows that it belongs to a model. A block that only waits
// for the garbage collector was not placed there on purpose. A tensor that is made empty or with
// one number was not moved from the host, and neither was a cache of keys and values.
bool MayBeData(const FailureMoment& moment, const Life& life) {
  if (IsBlank(moment.site_of(life)) || moment.IsCache(life)) return false;
  const HeldBlock* block = moment.holders().Of(life);
  if (block != nullptr) return block->role == "other" && !block->holder.starts_with(kDeadCycle);
  return moment.site_of(life).phase != Phase::kInit;
}

// Returns the first extent of a tensor; 0 if it is not known.
uint64_t Rows(const FailureMoment& moment, const Life& life) {
  const HeldBlock* block = moment.holders().Of(life);
  if (block == nullptr) return 0;
  const std::optional<TensorWords> words = ParseTensor(block->about);
  return words.has_value() && words->shape.size() > 1 ? words->shape.front() : 0;
}

// True if the tensor is an argument of a running module.
bool IsArgument(const FailureMoment& moment, const Life& life) {
  const HeldBlock* block = moment.holders().Of(life);
  return block != nullptr && block->holder.find("call_impl: args[") != std::string::npos;
}

// True if a step works on this number of rows, on all at once or on a part of them on each GPU, as
// torch.nn.DataParallel does.
bool WorksOn(const FailureMoment& moment, uint64_t rows, const std::set<uint64_t>& made) {
  uint64_t cards = 0;
  for (const DeviceFacts& device : moment.facts().devices) cards += device.peak_bytes > 0 ? 1 : 0;
  return made.contains(rows) || (cards > 1 && made.contains((rows + cards - 1) / cards));
}

// Removes the current batch from `data`: tensors that are arguments of a running module, or whose
// number of rows occurs in results of the step. If there are more than two such tensors, they are
// batches that wait to be used, and they are not removed.
void LeaveOutBatch(const FailureMoment& moment, uint64_t begin, std::vector<const Life*>* data) {
  constexpr ptrdiff_t kMaxOfBatch = 2;
  std::set<uint64_t> rows;
  for (const Life* life : moment.live()) {
    const HeldBlock* block = moment.holders().Of(*life);
    if (block == nullptr || life->birth < begin || block->role == "parameter") continue;
    rows.insert(Rows(moment, *life));
  }
  const auto is_batch = [&](const Life* life) {
    const uint64_t own = Rows(moment, *life);
    return IsArgument(moment, *life) || (own > 1 && WorksOn(moment, own, rows));
  };
  if (std::ranges::count_if(*data, is_batch) <= kMaxOfBatch) std::erase_if(*data, is_batch);
}

Found FindDataOnCard(const FailureMoment& moment) {
  const uint64_t begin = FirstStepOf(moment);
  absl::flat_hash_set<uint64_t> trained;  // sizes of gradients and of optimizer state
  for (const Life& life : moment.detail().lives) {
    const SiteDetail& site = moment.site_of(life);
    if (site.in_backward || site.in_optimizer) trained.insert(life.size);
  }
  std::vector<const Life*> data;
  for (const Life* life : moment.live()) {
    const SiteDetail& site = moment.site_of(*life);
    if (life->birth >= begin) break;
    if (!life->tensor || !MayBeParameter(site) || !MayBeData(moment, *life)) continue;
    if (life->size < kLeastParameter || trained.contains(life->size)) continue;
    data.push_back(life);
  }
  LeaveOutBatch(moment, begin, &data);
  Cause cause;
  cause.bytes = BytesOf(data);
  cause.held = data;
  if (!moment.IsLarge(cause.bytes)) return std::nullopt;
  cause.change = Without(moment.detail(), data);
  cause.proof.grows = IsStillFilled(moment, data);
  cause.title = "Data were placed on the GPU before the first step, and stay there";
  cause.is_estimate = true;
  cause.place = PlaceInProgram(moment, data);
  cause.evidence =
      AdviceText(cause.bytes) +
      " were allocated before the first step, have no gradients, and were never freed: " +
      LargestPlaces(moment.detail(), data) + ".";
  cause.cost = "A transfer for each batch, which overlaps with the work if pin_memory=True.";
  cause.action = "Keep the data on the host, and move one batch at a time to the GPU.";
  const std::vector<HolderFacts> holders = moment.holders().OfAll(data);
  const std::string about = holders.empty() ? "" : AdviceForOwner(holders.front().holder);
  if (!about.empty()) cause.action = about + " Otherwise k" + cause.action.substr(1);
  return cause;
}

}  // namespace

constinit const Rule kDataOnCard = {
    .rank = Rank::kMistake,
    .meaning = "data that were placed on the GPU before the first step and stay there",
    .help =
        "Tensors with data were allocated before the first step, have no gradients and no "
        "optimizer state, and were never freed. Keep data on the host, and move one batch at a "
        "time to the GPU.",
    .needs = {kNeedsTensors},
    .cause = FindDataOnCard,
};

}  // namespace vramstow
