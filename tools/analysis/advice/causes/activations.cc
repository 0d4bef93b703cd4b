// A cause of an out-of-memory: the activations of one batch.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/batch.h"
#include "tools/analysis/advice/changes.h"
#include "tools/analysis/advice/layers.h"
#include "tools/analysis/advice/no_backward.h"
#include "tools/analysis/advice/places.h"
#include "tools/analysis/advice/rule.h"
#include "tools/analysis/advice/rule_table.h"
#include "tools/analysis/advice/step_cost.h"
#include "tools/analysis/explain/census_summary.h"

namespace vramstow {
namespace {

constexpr uint64_t kMaxMicroBatches = 16;
constexpr size_t kLeastActivations = 3;

// Says that a smaller batch would not help, because the results in `without` do not grow with it.
void DescribeMissingBatch(const FailureMoment& moment, const std::vector<const Life*>& without,
                          Cause* cause) {
  const auto largest = std::ranges::max_element(without, {}, &Life::size);
  const std::string about = moment.holders().Of(**largest)->about;
  cause->title = "Intermediate results are too large, even with a smaller batch";
  cause->place = PlaceOf(moment.detail(), (*largest)->site);
  cause->evidence += " " + AdviceText(BytesOf(without)) + " of it do not grow with the batch, as " +
                     about.substr(0, about.find(']')) + "].";
  cause->cost = RecomputationInWords(moment.detail(), moment.facts(), cause->held,
                                     "Recomputation makes an iteration about a third longer.");
  cause->action =
      "Process a part of the input at a time at this line, each part under torch.utils.checkpoint; "
      "a smaller batch does not help.";
}

// Adds advice for a model in eval(). If its parameters are trained elsewhere, this pass is an
// evaluation, which has no step. Otherwise gradients flow through a frozen model, for example to a
// trained prompt.
void DescribeEvaluation(const FailureMoment& moment, uint64_t parts, Cause* cause) {
  const ParameterWords parameters = ParametersOf(moment.holders(), moment.live());
  const bool is_trained = parameters.untrained * 2 < parameters.all;
  if (is_trained && parameters.evaluating * 2 > parameters.all &&
      AskForCause(kNeedlessGraph, moment).has_value()) {
    cause->cost = "A little time.";
    cause->action =
        "This is an evaluation: run it under torch.no_grad(), and divide its batch by " +
        std::to_string(parts) + ".";
    return;
  }
  uint64_t all = 0;
  uint64_t evaluating = 0;
  for (const Life* life : moment.live()) {
    const HeldBlock* block = moment.holders().Of(*life);
    if (block == nullptr || block->role != "parameter") continue;
    all += life->size;
    if (block->about.find(", in eval()") != std::string::npos) evaluating += life->size;
  }
  if (evaluating * 2 <= all) return;
  cause->action +=
      " The model is in eval(): in this mode transformers and diffusers ignore gradient "
      "checkpointing, even if it is enabled. If it is enabled, call train() (frozen weights stay "
      "frozen).";
}

// Says that one sample is far larger than the others, and that all of them are padded to its
// length.
void DescribeUnevenBatch(const FailureMoment& moment, const UnevenBatch& uneven, Cause* cause) {
  const uint64_t bytes = BytesOf(cause->held);
  const auto largest = std::ranges::max_element(cause->held, {}, &Life::size);
  cause->bytes = bytes - uneven.usual_bytes;
  cause->title = "This batch is far larger than those before it";
  cause->place = PlaceOf(moment.detail(), (*largest)->site);
  cause->evidence +=
      uneven.times > 0
          ? absl::StrFormat(" Its blocks are %.1f times as large as those of any batch before.",
                            uneven.times)
          : " No batch before made more than " + AdviceText(uneven.usual_bytes) +
                " on these lines.";
  cause->cost = "None, if samples of similar size are grouped.";
  cause->action =
      "If samples are padded to the longest one, group them by length, shorten the longest, or "
      "process it in a batch of its own. Otherwise: " +
      cause->action;
}

// Returns the type of most of the weights' bytes if it has 16 bits; otherwise an empty text.
std::string NarrowTypeOfWeights(const FailureMoment& moment) {
  uint64_t all = 0;
  std::map<std::string, uint64_t> by_type;
  for (const Life* life : moment.live()) {
    const HeldBlock* block = moment.holders().Of(*life);
    if (block == nullptr || block->role != "parameter") continue;
    all += life->size;
    const std::optional<TensorWords> words = ParseTensor(block->about);
    if (words.has_value()) by_type[std::string(words->type)] += life->size;
  }
  for (const char* type : {"bfloat16", "float16"}) {
    if (by_type[type] * 2 > all) return type;
  }
  return "";
}

// If most of the activations are copies in float32 beside weights of 16 bits, which one line makes,
// names this line and the copies. An adapter in float32 on a smaller base makes them in each layer.
void DescribeWideCopies(const FailureMoment& moment, const std::vector<const Life*>& activations,
                        Cause* cause) {
  std::vector<const Life*> copies;
  std::map<std::string, uint64_t> by_place;
  for (const Life* life : activations) {
    const HeldBlock* block = moment.holders().Of(*life);
    if (block == nullptr || !IsInGraph(*block)) continue;
    const std::optional<TensorWords> words = ParseTensor(block->about);
    if (!words.has_value() || words->type != "float32") continue;
    if (OperatorName(moment.site_of(*life)) != "_to_copy") continue;
    copies.push_back(life);
    by_place[PlaceOf(moment.detail(), life->site)] += life->size;
  }
  const uint64_t bytes = BytesOf(copies);
  if (copies.empty() || bytes * 2 < BytesOf(activations)) return;
  const auto most =
      std::ranges::max_element(by_place, {}, [](const auto& place) { return place.second; });
  const std::string type = NarrowTypeOfWeights(moment);
  if (type.empty() || most->second * 2 < bytes) return;
  cause->place = most->first;
  cause->evidence += " " + AdviceText(bytes) +
                     " of it are copies in float32, which graphs keep, beside weights in " + type +
                     ".";
  cause->action += " Or convert no input to float32 at this line: compute in " + type +
                   ", the type of the weights, as with an adapter whose weights are converted "
                   "instead (weight.to(x.dtype)). The copies take " +
                   AdviceText(bytes) + ".";
}

// Puts advice for an inference first, if nothing was trained yet and no optimizer has a parameter
// of the model: a program that trains usually makes its optimizer before its first forward pass.
void DescribeUntrained(const FailureMoment& moment, Cause* cause) {
  const ParameterWords parameters = ParametersOf(moment.holders(), moment.live());
  if (parameters.all == 0 || parameters.untrained < parameters.all) return;
  if (TrainsAnywhere(moment) || parameters.evaluating > 0) return;
  cause->action =
      "No optimizer has the parameters: if no backward pass follows, run it under torch.no_grad(). "
      "Otherwise: " +
      cause->action;
}

// Adds advice for PyTorch Geometric, where a "batch" is often the whole of one graph.
void DescribeGraphNetwork(const FailureMoment& moment, Cause* cause) {
  const bool is_one = std::ranges::any_of(moment.detail().files, [](const std::string& file) {
    return Mentions(file, "/torch_geometric/");
  });
  if (!is_one) return;
  cause->action +=
      " If the batch is one whole graph, train on parts of it (NeighborLoader or ClusterLoader of "
      "torch_geometric).";
}

// Finds blocks that one forward pass has allocated and that its backward pass will need.
Found FindActivations(const FailureMoment& moment) {
  // kGraphOfGradients is found only when the forward and the backward pass are over, so no blocks
  // wait for a backward pass. If nothing is trained and graphs of earlier iterations are still
  // referenced, no backward pass will come either.
  if (IsFound(moment, {AdviceId::kGraphOfGradients})) return std::nullopt;
  if (!TrainsAnywhere(moment) && IsFound(moment, {AdviceId::kHeldGraphs})) return std::nullopt;
  if (AskForCause(kOneLayer, moment).has_value()) return std::nullopt;
  const std::vector<const Life*> activations = ActivationsOf(moment);
  uint64_t bytes = BytesOf(activations);
  if (activations.size() < kLeastActivations || !MayBeNeeded(moment, activations)) {
    return std::nullopt;
  }
  // The size of the request grows with the batch, too, unless a backward pass or an optimizer makes
  // the request, or it is for a copy of a tensor that grows in each iteration.
  const SiteDetail& request = moment.request_site();
  const bool grows =
      !request.in_backward && !request.in_optimizer && !IsFound(moment, {AdviceId::kConcatenation});
  if (grows) bytes += moment.requested();
  uint64_t parts = 2;
  while (parts < kMaxMicroBatches && bytes - bytes / parts < moment.lacking()) parts *= 2;
  Cause cause;
  cause.bytes = bytes - bytes / parts;
  cause.held = activations;
  cause.is_estimate = true;
  if (!moment.IsLarge(cause.bytes)) return std::nullopt;
  cause.change = InParts(moment.detail(), activations, parts);
  if (grows) cause.change.requested = (moment.requested() + parts - 1) / parts;
  cause.title = "The activations of one batch are too large";
  cause.place = PlaceInProgram(moment, activations);
  cause.evidence = AdviceText(BytesOf(activations)) +
                   " were allocated in this iteration and are needed in its backward pass: " +
                   LargestPlaces(moment.detail(), activations) + ".";
  cause.cost = RecomputationInWords(
      moment.detail(), moment.facts(), activations,
      "Micro-batches cost a little time; recomputation makes an iteration about a third longer.");
  cause.action = "Divide the batch by " + std::to_string(parts) + " and step after every " +
                 std::to_string(parts) +
                 ", or put torch.utils.checkpoint around the repeated layer.";
  DescribeUntrained(moment, &cause);
  DescribeGraphNetwork(moment, &cause);
  DescribeEvaluation(moment, parts, &cause);
  DescribeWideCopies(moment, activations, &cause);
  const std::vector<const Life*> without = WithoutBatch(moment, activations);
  if (BytesOf(without) * 2 > BytesOf(activations)) DescribeMissingBatch(moment, without, &cause);
  const UnevenBatch uneven = UnevenBatchOf(moment, activations);
  if (uneven.usual_bytes > 0) DescribeUnevenBatch(moment, uneven, &cause);
  return cause;
}

}  // namespace

constinit const Rule kActivations = {
    .rank = Rank::kTrade,
    .meaning = "the activations of one batch",
    .help =
        "This iteration retains too much memory for its backward pass. Divide the batch and step "
        "after several parts, or recompute with torch.utils.checkpoint. If a census knows the "
        "shapes and most of the memory does not grow with the batch, the advice says so.",
    .needs = {kNeedsGraph},
    .cause = FindActivations,
};

}  // namespace vramstow
