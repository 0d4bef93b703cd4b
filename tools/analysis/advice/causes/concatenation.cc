// A cause of an out-of-memory: the old and the new copy of a tensor that grows by concatenation.
#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/changes.h"
#include "tools/analysis/advice/places.h"
#include "tools/analysis/advice/precondition.h"
#include "tools/analysis/advice/rule.h"
#include "tools/analysis/advice/rule_table.h"
#include "tools/analysis/explain/census_summary.h"

namespace vramstow {
namespace {

// True if all blocks are parameters or their gradients, which do not grow.
bool AreOfModel(const FailureMoment& moment, const std::vector<const Life*>& lives) {
  return std::ranges::all_of(lives, [&](const Life* life) {
    const HeldBlock* block = moment.holders().Of(*life);
    return block != nullptr && (block->role == "parameter" || block->role == "gradient");
  });
}

// True for the evaluation loop of transformers' Trainer, which concatenates the predictions of all
// batches.
bool IsTrainersEvaluation(const FailureMoment& moment) {
  return std::ranges::any_of(moment.request_site().frames, [&](uint32_t frame) {
    return moment.detail().frames[frame].ends_with("Trainer.evaluation_loop");
  });
}

std::string ActionFor(const FailureMoment& moment, const std::vector<const Life*>& held) {
  if (AreOfModel(moment, held)) {
    return "Compute the result for each tensor separately, instead of concatenating all into one "
           "vector: for a norm, call torch.nn.utils.clip_grad_norm_() or "
           "torch.nn.utils.get_total_norm().";
  }
  if (IsTrainersEvaluation(moment)) {
    return "Set eval_accumulation_steps, so that the Trainer moves the predictions to the host, "
           "or preprocess_logits_for_metrics, so that it keeps only what the metrics need.";
  }
  return "Allocate the whole tensor once, with its final size, and write each piece into it. If "
         "only the newest pieces are needed, remove the rest in each iteration of the loop.";
}

// True if this line made a larger tensor each time. A line of a helper function may also make
// other, smaller tensors in each turn: labels beside predictions.
bool GrewAtThisLine(const FailureMoment& moment, const Life& newest) {
  constexpr size_t kLeastTurns = 3;
  size_t turns = 0;
  uint64_t size = 0;
  for (const Life& life : moment.detail().lives) {
    if (life.birth >= moment.event()) break;
    if (!life.tensor || life.pending || life.site != newest.site) continue;
    if (life.requested * 2 < size) continue;
    turns = life.requested > size ? turns + 1 : 1;
    size = life.requested;
  }
  return turns >= kLeastTurns && moment.requested() > size;
}

// Returns the largest of these blocks, and of equal ones the newest.
const Life* LargestOf(const std::vector<const Life*>& lives) {
  return *std::ranges::max_element(lives, [](const Life* a, const Life* b) {
    return std::pair(a->size, a->birth) < std::pair(b->size, b->birth);
  });
}

// True if the line makes one tensor for each layer. Such tensors are keys and values of sequences,
// for which another cause (kv_cache) reports all layers together.
bool IsOneOfManyLayers(const FailureMoment& moment, const std::vector<const Life*>& made) {
  constexpr ptrdiff_t kLeastLayers = 3;
  const uint64_t size = LargestOf(made)->size;
  const auto layers =
      std::ranges::count_if(made, [&](const Life* life) { return life->size * 2 > size; });
  return layers >= kLeastLayers && IsFound(moment, {AdviceId::kKvCache});
}

using LivesBySite = std::map<uint32_t, std::vector<const Life*>>;  // the same order in each run

// Returns the live blocks that the call which failed made before. If all of them are small, returns
// those that the same lines of the program made: a library may call itself once for each of several
// results.
std::vector<const Life*> EarlierResults(const FailureMoment& moment, const LivesBySite& by_site) {
  const auto same = by_site.find(moment.failure().site_number);
  if (same != by_site.end() && LargestOf(same->second)->size * 2 > moment.requested()) {
    return same->second;
  }
  std::vector<const Life*> lives;
  for (const auto& [site, made] : by_site) {
    if (!SameWork(moment.detail().sites[site], moment.request_site())) continue;
    lives.insert(lives.end(), made.begin(), made.end());
  }
  return lives;
}

// Returns the number of iterations up to now in which the block's line made a larger tensor each
// time.
size_t TurnsOfGrowth(const FailureMoment& moment, const Life& newest) {
  size_t turns = 0;
  uint64_t size = 0;
  int64_t pass = -1;
  for (const Life& life : moment.detail().lives) {
    if (life.birth > newest.birth) break;
    if (!life.tensor || life.pending || life.site != newest.site) continue;
    if (moment.PassOf(life) == pass) continue;
    turns = life.requested > size ? turns + 1 : 1;
    size = life.requested;
    pass = moment.PassOf(life);
  }
  return turns;
}

// Returns the largest tensor that one line has made larger in each iteration by concatenation, and
// which the program keeps: a history or a memory bank. Returns null if there is none, or if several
// lines or layers have such tensors.
const Life* GrowingTensor(const FailureMoment& moment) {
  constexpr size_t kLeastIterations = 8;
  if (!moment.passes().is_sure() || IsFound(moment, {AdviceId::kKvCache})) return nullptr;
  const Life* largest = nullptr;
  size_t count = 0;
  for (const Life* life : moment.live()) {
    const HeldBlock* block = moment.holders().Of(*life);
    if (block == nullptr || block->role != "other" || !life->tensor) continue;
    const SiteDetail& site = moment.site_of(*life);
    if (OperatorName(site) != "cat" || site.phase == Phase::kCache || site.in_backward) continue;
    if (!moment.IsLarge(life->size) || TurnsOfGrowth(moment, *life) < kLeastIterations) continue;
    ++count;
    if (largest == nullptr || life->size > largest->size) largest = life;
  }
  return count == 1 ? largest : nullptr;
}

// Finds a tensor that grows, if the request that failed is for something else, which often grows
// with it.
Found FindGrowingTensor(const FailureMoment& moment) {
  const Life* growing = GrowingTensor(moment);
  if (growing == nullptr) return std::nullopt;
  Cause cause;
  cause.bytes = growing->size;
  cause.held = {growing};
  cause.place = PlaceInProgram(moment, cause.held);
  cause.change = Without(moment.detail(), cause.held);
  cause.proof.grows = true;
  cause.is_estimate = true;
  cause.title = "A tensor grows with each iteration";
  cause.evidence = "Its line made a larger one in each of the last " +
                   std::to_string(TurnsOfGrowth(moment, *growing)) +
                   " iterations. What is computed from it grows, too.";
  cause.cost = "None, if the oldest pieces are not needed.";
  cause.action =
      "Limit it: remove the oldest pieces in each iteration, or keep it on the host and compute "
      "with a part of it.";
  return cause;
}

// cat() needs all of the old tensor and all of the new one at the same time.
Found FindConcatenation(const FailureMoment& moment) {
  if (!IsConcatenation(OperatorName(moment.request_site()))) return FindGrowingTensor(moment);
  LivesBySite by_site;
  for (const Life* life : moment.live()) {
    if (life->tensor) by_site[life->site].push_back(life);
  }
  const std::vector<const Life*> earlier = EarlierResults(moment, by_site);
  if (!earlier.empty() && IsOneOfManyLayers(moment, earlier)) return std::nullopt;
  Cause cause;
  cause.place = PlaceOfRequest(moment);
  const Life* previous = earlier.empty() ? nullptr : LargestOf(earlier);
  if (previous != nullptr && previous->size * 2 > moment.requested()) {
    cause.bytes = previous->size;
    cause.held = {previous};
    cause.proof.grows = GrewAtThisLine(moment, *cause.held.front());
    cause.title =
        "A tensor grows by being copied: the old and the new one are live at the same time";
    cause.evidence = "A request for " + AdviceText(moment.requested()) +
                     " failed while the previous result of the same line (" +
                     AdviceText(cause.bytes) + ") had to stay.";
  } else {
    for (const auto& [number, lives] : by_site) {
      const uint64_t bytes = BytesOf(lives);
      if (lives.size() < 2 || bytes > moment.requested() + moment.requested() / 10) continue;
      if (bytes * 2 <= moment.requested() || bytes <= cause.bytes) continue;
      // If a backward pass needs the pieces, they cannot be written into one tensor.
      if (RecordedBytes(moment.holders(), lives) * 2 > bytes) continue;
      cause.bytes = bytes;
      cause.held = lives;
    }
    cause.title = "The pieces and the whole are live at the same time";
    cause.evidence = "A request for " + AdviceText(moment.requested()) +
                     " failed while the pieces of the result (" + AdviceText(cause.bytes) +
                     ") had to stay.";
  }
  if (!moment.IsLarge(cause.bytes)) return std::nullopt;
  cause.change = Without(moment.detail(), cause.held);
  cause.cost = "None, if the final size is known.";
  cause.action = ActionFor(moment, cause.held);
  return cause;
}

bool IsConcatenated(const FailureMoment& moment) {
  return IsConcatenation(OperatorName(moment.request_site())) || HasCensus(moment);
}

constexpr Precondition kNeedsConcatenation = {
    .words =
        "the request comes from an operator that makes one tensor from several, or a census shows "
        "a tensor that such an operator made larger in each iteration",
    .in_failure = IsConcatenated};

}  // namespace

constinit const Rule kConcatenation = {
    .rank = Rank::kMistake,
    .meaning = "a tensor that grows by concatenation, or its old and new copy",
    .help =
        "torch.cat() or torch.stack() allocates the whole again while the pieces are still live. A "
        "tensor that grows in a loop is copied in each iteration. Allocate the whole once, with "
        "its final size, and write each piece into it. A history or a memory bank that grows "
        "without a limit also makes the results larger that are computed from it.",
    .needs = {kNeedsConcatenation},
    .cause = FindConcatenation,
};

}  // namespace vramstow
