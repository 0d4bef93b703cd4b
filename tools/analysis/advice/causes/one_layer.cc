// A cause of an out-of-memory: the activations of one layer, all of which its own backward pass
// needs at once.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/batch.h"
#include "tools/analysis/advice/changes.h"
#include "tools/analysis/advice/last_backward.h"
#include "tools/analysis/advice/layers.h"
#include "tools/analysis/advice/places.h"
#include "tools/analysis/advice/rule.h"

namespace vramstow {
namespace {

constexpr uint64_t kMaxPartsOfLayer = 16;
constexpr size_t kLeastOfLayer = 2;
constexpr uint64_t kLayerShare = 3;  // 1/3 of the live bytes

// Returns the gradients of results that the backward pass of the layer has made so far.
std::vector<const Life*> GradientsOfResults(const FailureMoment& moment,
                                            const std::vector<const Life*>& layer) {
  std::vector<const Life*> gradients;
  const uint64_t begin = LastBackwardOf(moment).begin;
  for (const Life* life : moment.live()) {
    const SiteDetail& site = moment.site_of(*life);
    if (!life->tensor || !site.in_backward || life->birth < begin || begin == 0) continue;
    const bool is_alike =
        std::ranges::any_of(layer, [&](const Life* result) { return result->size == life->size; });
    if (is_alike && !IsRecomputed(moment, *life)) gradients.push_back(life);
  }
  return gradients;
}

struct Layer {
  std::vector<const Life*> results;
  bool is_recomputed = false;
};

// Finds the activations of one layer: those that a checkpoint recomputes for the layer whose
// backward pass runs, or else all activations that wait for a backward pass, if they may be of one
// layer.
Layer FindLayer(const FailureMoment& moment) {
  Layer layer;
  for (const Life* life : moment.live()) {
    if (IsRecomputed(moment, *life)) layer.results.push_back(life);
  }
  layer.is_recomputed = BytesOf(layer.results) * kLayerShare >= moment.live_bytes();
  if (layer.is_recomputed) return layer;
  layer.results = ActivationsOf(moment);
  if (!AreStepsOfOne(layer.results) || !MayBeNeeded(moment, layer.results)) layer.results.clear();
  return layer;
}

// Returns the blocks of the line that made most of the bytes.
std::vector<const Life*> OfLargestLine(const std::vector<const Life*>& lives) {
  std::map<uint32_t, std::vector<const Life*>> by_site;
  for (const Life* life : lives) by_site[life->site].push_back(life);
  const auto largest =
      std::ranges::max_element(by_site, {}, [](const auto& one) { return BytesOf(one.second); });
  return largest == by_site.end() ? std::vector<const Life*>() : largest->second;
}

Found FindOneLayer(const FailureMoment& moment) {
  const Layer layer = FindLayer(moment);
  const uint64_t bytes = BytesOf(layer.results);
  if (layer.results.size() < kLeastOfLayer || bytes * kLayerShare < moment.live_bytes() ||
      CountLayers(moment.detail(), layer.results) > 1) {
    return std::nullopt;
  }
  // If one batch is far larger than the others, another cause (kActivations) advises to change the
  // batch.
  const std::vector<const Life*> largest = OfLargestLine(layer.results);
  if (!layer.is_recomputed && UnevenBatchOf(moment, largest).usual_bytes > 0) return std::nullopt;
  // The cause kActivations also covers results that do not grow with the batch.
  if (BytesOf(WithoutBatch(moment, layer.results)) * 2 > bytes) return std::nullopt;
  std::vector<const Life*> cut = layer.results;
  const std::vector<const Life*> gradients = GradientsOfResults(moment, layer.results);
  cut.insert(cut.end(), gradients.begin(), gradients.end());
  // The request is for one more result of this kind, or for the gradient of one.
  const uint64_t all = BytesOf(cut) + moment.requested();
  uint64_t parts = 2;
  while (parts < kMaxPartsOfLayer && all - all / parts < moment.lacking()) parts *= 2;
  Cause cause;
  cause.bytes = all - all / parts;
  cause.held = layer.results;
  cause.is_estimate = true;
  if (!moment.IsLarge(cause.bytes)) return std::nullopt;
  cause.change = InParts(moment.detail(), cut, parts);
  cause.change.requested = (moment.requested() + parts - 1) / parts;
  cause.title = "The activations of one layer are too large";
  cause.place = CommonPlace(moment.detail(), layer.results);
  if (cause.place.empty()) cause.place = PlaceInProgram(moment, layer.results);
  cause.evidence =
      AdviceText(bytes) +
      (layer.is_recomputed ? " were recomputed for the layer whose backward pass is running: "
       : moment.request_site().in_backward
           ? " are activations of the layer whose backward pass is running: "
           : " are activations of one layer, whose backward pass needs all of them at once: ") +
      LargestPlaces(moment.detail(), layer.results) +
      (layer.is_recomputed ? ". Its checkpoint saves nothing at that moment."
                           : ". A checkpoint around this layer saves nothing at that moment.");
  cause.cost = "A loop over parts, or the time of a smaller batch.";
  cause.action =
      "Split the layer: for attention use torch.nn.functional.scaled_dot_product_attention, or "
      "compute one head after the other; for other layers, compute a part of the input at a time "
      "(split()), each part under its own torch.utils.checkpoint. Otherwise divide the batch by " +
      std::to_string(parts) + ".";
  return cause;
}

}  // namespace

constinit const Rule kOneLayer = {
    .rank = Rank::kTrade,
    .meaning = "the activations of one layer, which its own backward pass needs all at once",
    .help =
        "One layer has most of the activations. Its backward pass needs all of them at the same "
        "time, so a checkpoint around the layer saves nothing. Compute a part of the layer at a "
        "time (one head of attention after the other), or use a function that does this "
        "(scaled_dot_product_attention), or a smaller batch.",
    .needs = {kNeedsGraph, kNeedsCallStacks, kNeedsRequestOfProgram},
    .cause = FindOneLayer,
};

}  // namespace vramstow
