// A cause of an out-of-memory if no other was found: the line that allocated most of the live
// memory, and its owner.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/changes.h"
#include "tools/analysis/advice/keepers.h"
#include "tools/analysis/advice/places.h"
#include "tools/analysis/advice/rule.h"
#include "tools/analysis/advice/rule_table.h"
#include "tools/analysis/advice/training_state.h"

namespace vramstow {
namespace {

constexpr size_t kManyBlocks = 3;

// Parameters, gradients and optimizer state, which most programs need. Without a census (a
// reference scan) only parameters are known, by their call sites.
bool IsOfTraining(const FailureMoment& moment, const Life& life) {
  const HeldBlock* block = moment.holders().Of(life);
  if (block == nullptr) return !moment.holders().any() && moment.IsWeight(life);
  return block->role == "parameter" || block->role == "gradient" ||
         block->role == "optimizer_state";
}

std::vector<const Life*> LargestLine(const FailureMoment& moment,
                                     const std::vector<const Life*>& lives) {
  std::map<std::string, std::vector<const Life*>> by_place;
  for (const Life* life : lives) {
    by_place[PlaceOf(moment.detail(), life->site)].push_back(life);
  }
  const auto largest =
      std::ranges::max_element(by_place, {}, [](const auto& one) { return BytesOf(one.second); });
  return largest == by_place.end() ? std::vector<const Life*>() : largest->second;
}

// Returns the blocks of the line with the most bytes. Tensors come before other memory. If nothing
// else is large, returns the parameters, gradients and optimizer state of all lines.
std::vector<const Life*> LargestOf(const FailureMoment& moment) {
  constexpr uint64_t kSmallestPartOfLive = 8;
  std::vector<const Life*> of_training;
  std::vector<const Life*> others;
  for (const Life* life : moment.live()) {
    if (!life->tensor) continue;
    (IsOfTraining(moment, *life) ? of_training : others).push_back(life);
  }
  if (of_training.empty() && others.empty()) return LargestLine(moment, moment.live());
  std::vector<const Life*> largest = LargestLine(moment, others);
  const bool is_large = BytesOf(largest) * kSmallestPartOfLive >= moment.live_bytes();
  return is_large || BytesOf(largest) >= BytesOf(of_training) ? largest : of_training;
}

// Describes memory that a program cannot delete: its model, and what the training of it needs.
Cause OfTraining(const FailureMoment& moment, const std::vector<const Life*>& state) {
  uint64_t parameters = 0;
  for (const Life* life : state) {
    const HeldBlock* block = moment.holders().Of(*life);
    parameters += block == nullptr || block->role == "parameter" ? life->size : 0;
  }
  const uint64_t bytes = BytesOf(state);
  const bool trains = parameters < bytes;
  Cause cause;
  cause.held = state;
  cause.bytes = bytes / 2;
  cause.is_estimate = true;
  cause.change = InParts(moment.detail(), state, 2);
  cause.title =
      (trains ? "The model and the state of its training, " : "The model's parameters, ") +
      AdviceText(bytes) + ", are the largest part; half of them";
  cause.place = PlaceInProgram(moment, state);
  cause.evidence = AdviceText(bytes) + " of " + AdviceText(moment.live_bytes()) + " are " +
                   (trains ? "parameters, gradients and optimizer state" : "parameters") + ": " +
                   LargestPlaces(moment.detail(), state) +
                   ". No other cause explains as much of it.";
  cause.cost = "Precision, or time for transfers.";
  cause.action =
      trains ? "Load the model in bfloat16 (half of float32), freeze most layers and "
               "train adapters (LoRA), use an optimizer with less state, or " +
                   std::string(AreSharded(moment, state) ? "divide them over more GPUs."
                                                         : "shard them over several GPUs (FSDP).")
             : "Load it in bfloat16 (half of float32) or quantised, or keep some of its "
               "layers on the host.";
  if (IsFound(moment, {AdviceId::kActivations})) {
    cause.action = "Divide the batch or, if this is not enough: " + cause.action;
  }
  return cause;
}

// True if a census (a reference scan) ran and no variable holds any of the blocks: a list that is
// still being built holds them.
bool AreBeingGathered(const FailureMoment& moment, const std::vector<const Life*>& lives) {
  constexpr uint64_t kSmallPart = 10;
  uint64_t held = 0;
  for (const Life* life : lives) {
    const HeldBlock* block = moment.holders().Of(*life);
    const bool has_name = block != nullptr && block->holder.find(kUnfinished) == std::string::npos;
    held += has_name ? life->size : 0;
  }
  // Without a census, the name of the function shows that it is a list comprehension.
  const bool is_known =
      moment.holders().any() || CommonPlace(moment.detail(), lives, true).ends_with("<listcomp>");
  return is_known && lives.size() >= kManyBlocks && held * kSmallPart <= BytesOf(lives);
}

// True if no variable of the program holds most of the blocks: they are buffers of the running
// backward pass.
bool AreBuffersOfBackwardPass(const FailureMoment& moment, const std::vector<const Life*>& lives) {
  uint64_t bytes = 0;
  for (const Life* life : lives) {
    const HeldBlock* block = moment.holders().Of(*life);
    if (block == nullptr && moment.site_of(*life).in_backward) bytes += life->size;
  }
  return moment.request_site().in_backward && bytes * 2 > BytesOf(lives);
}

// Returns the change of the requests in which each result of this line is freed when the line makes
// the next one.
Change OneAtATime(const FailureMoment& moment, const Life& one) {
  Change change;
  const Life* before = nullptr;
  for (const Life& life : moment.detail().lives) {
    if (life.birth >= moment.event()) break;
    if (!life.tensor || life.pending || life.site != one.site) continue;
    if (before != nullptr && life.birth < before->death) {
      const Change freed = FreedBefore(moment.detail(), {before}, life.birth);
      change.lives.push_back(freed.lives.front());
    }
    before = &life;
  }
  if (before != nullptr && before->LivesAt(moment.event())) {
    change.lives.push_back(FreedBefore(moment.detail(), {before}, moment.event()).lives.front());
  }
  return change;
}

// Returns how many requests of this line have failed so far, including this one.
uint64_t RefusedAt(const FailureMoment& moment, const Life& one) {
  const std::string place = PlaceOf(moment.detail(), one.site);
  return static_cast<uint64_t>(
      std::ranges::count_if(moment.facts().out_of_memory, [&](const OutOfMemoryFacts& failure) {
        return failure.event <= moment.event() &&
               PlaceOf(moment.detail(), failure.site_number) == place;
      }));
}

void DescribeGathering(const FailureMoment& moment, Cause* cause) {
  const std::string place = CommonPlace(moment.detail(), cause->held, true);
  if (place.empty()) return;
  cause->place = place;
  // "spread.<locals>.<listcomp>" is a part of the function spread.
  std::string function = place.substr(place.find(' ') + 1);
  function = function.substr(0, function.find(".<locals>"));
  cause->holder = "a list that is being built in " + function;
  cause->title = "A line computes many results before any of them is used";
  cause->evidence +=
      " No variable references them yet: they belong to a comprehension, or to a call whose "
      "arguments are being computed.";
  cause->action =
      "Reduce each result when it is computed (a sum, a mean, a part of it), instead of all "
      "together at the end, or move each to the host (.cpu()).";
  cause->cost = "None, if a reduction of each is sufficient.";
  cause->change = OneAtATime(moment, *cause->held.front());
  const uint64_t refused = RefusedAt(moment, *cause->held.front());
  // The facts have the first failures only, so the count would be too low if there were more.
  if (refused > 1 && moment.facts().out_of_memory.size() < kMaxOutOfMemory) {
    const uint64_t served = moment.site_of(*cause->held.front()).allocations;
    cause->evidence += " Of " + std::to_string(served + refused) + " requests of this line, " +
                       std::to_string(refused) + " were refused.";
  }
}

Found FindLargestHolder(const FailureMoment& moment) {
  Cause cause;
  cause.held = LargestOf(moment);
  cause.bytes = BytesOf(cause.held);
  if (cause.bytes == 0) return std::nullopt;
  if (IsOfTraining(moment, *cause.held.front())) return OfTraining(moment, cause.held);
  cause.change = Without(moment.detail(), cause.held);
  cause.title = "One line allocated the largest part of the live memory";
  cause.place = PlaceInProgram(moment, cause.held);
  cause.evidence =
      AdviceText(cause.bytes) + " of " + AdviceText(moment.live_bytes()) + " were made by " +
      LargestPlaces(moment.detail(), cause.held) + ", in " + std::to_string(cause.held.size()) +
      (cause.held.size() == 1 ? " block" : " blocks") + ". No other cause explains as much of it.";
  cause.cost = "It depends on the code that needs the memory.";
  const std::vector<HolderFacts> holders = moment.holders().OfAll(cause.held);
  const std::string about = holders.empty() ? "" : AdviceForOwner(holders.front().holder);
  cause.action = cause.held.size() >= kManyBlocks
                     ? "Free tensors that you no longer need (del), keep a part of each, or move "
                       "them to the host (.cpu())."
                     : "Process a part of the data at a time, use a smaller type, or delete the "
                       "result of this line (del) before this request.";
  if (!about.empty()) cause.action = about + " Else: " + cause.action;
  const bool of_backward_pass = AreBuffersOfBackwardPass(moment, cause.held);
  if (of_backward_pass) {
    cause.title = "Buffers of the running backward pass are the largest part of the live memory";
    cause.action =
        "Make them smaller: use a smaller batch, a narrower layer, or a lower precision "
        "(torch.autocast). If several threads train at the same time, run their backward passes "
        "one after the other.";
    cause.cost = "Time, or precision.";
  }
  if (!of_backward_pass && AreBeingGathered(moment, cause.held)) {
    DescribeGathering(moment, &cause);
  }
  return cause;
}

}  // namespace

constinit const Rule kLargestHolder = {
    .rank = Rank::kLast,
    .meaning =
        "no other cause was found: the source line that allocated most of the live memory, and the "
        "object that references it; or the model and the state of its training",
    .help =
        "No other cause explains much of the live memory. The advice names the source line that "
        "allocated the largest part of it and, if there is a census, the object that references "
        "it. Only you can decide whether the program needs this memory.",
    .needs = {kNeedsTensors},
    .cause = FindLargestHolder,
};

}  // namespace vramstow
