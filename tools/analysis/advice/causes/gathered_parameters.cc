// A cause of an out-of-memory: FSDP gathers the parameters of many layers at once.
#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/changes.h"
#include "tools/analysis/advice/places.h"
#include "tools/analysis/advice/rule.h"

namespace vramstow {
namespace {

// FSDP2 gathers one group ahead, so the parameters of two layers are usual.
constexpr size_t kManyLayers = 4;
constexpr uint64_t kMostParts = 16;

// True if FSDP2 made the block to gather parameters: the buffer of the communication, or a
// parameter that is whole.
bool IsGathered(const Detail& detail, const SiteDetail& site) {
  return std::ranges::any_of(site.frames, [&](uint32_t frame) {
    const std::string_view text = detail.frames[frame];
    return text.find("_fsdp_") != std::string_view::npos &&
           (text.ends_with("foreach_all_gather") || text.ends_with("all_gather_outputs"));
  });
}

// Returns "net.blocks.3" for "net.blocks.3.up.weight"; empty if the parameter is of no layer.
std::string_view LayerOf(std::string_view holder) {
  size_t begin = holder.find('.');
  while (begin != std::string_view::npos) {
    const size_t end = holder.find('.', begin + 1);
    const std::string_view part = holder.substr(begin + 1, end - begin - 1);
    if (!part.empty() && part.find_first_not_of("0123456789") == std::string_view::npos) {
      return holder.substr(0, end);
    }
    begin = end;
  }
  return {};
}

size_t LayersOf(const FailureMoment& moment, const std::vector<const Life*>& lives) {
  std::set<std::string_view> layers;
  for (const Life* life : lives) {
    const HeldBlock* block = moment.holders().Of(*life);
    if (block == nullptr || block->role != "parameter") continue;
    const std::string_view layer = LayerOf(block->holder);
    if (!layer.empty()) layers.insert(layer);
  }
  return layers.size();
}

Found FindGatheredParameters(const FailureMoment& moment) {
  std::vector<const Life*> gathered;
  for (const Life* life : moment.live()) {
    if (life->tensor && IsGathered(moment.detail(), moment.site_of(*life))) {
      gathered.push_back(life);
    }
  }
  const size_t layers = LayersOf(moment, gathered);
  if (layers < kManyLayers) return std::nullopt;
  const uint64_t all = BytesOf(gathered);
  uint64_t parts = 2;
  while (parts * 2 <= std::min<uint64_t>(layers, kMostParts) &&
         all - all / parts < moment.lacking()) {
    parts *= 2;
  }
  Cause cause;
  cause.bytes = all - all / parts;
  cause.is_estimate = true;
  if (!moment.IsLarge(cause.bytes)) return std::nullopt;
  cause.held = gathered;
  cause.change = InParts(moment.detail(), gathered, parts);
  cause.title = "FSDP gathers the parameters of many layers at once";
  cause.place = PlaceInProgram(moment, gathered);
  cause.evidence = AdviceText(all) + " are parameters that FSDP gathered from all ranks, of " +
                   std::to_string(layers) + " layers, and the buffer for it.";
  cause.cost = "More communications, each of them smaller; most of them run beside the work.";
  cause.action =
      "Call fully_shard() on each layer before the whole model: FSDP then gathers the parameters "
      "of one layer at a time, and frees them after it.";
  return cause;
}

}  // namespace

constinit const Rule kGatheredParameters = {
    .rank = Rank::kMistake,
    .meaning = "parameters of many layers that FSDP gathers at once",
    .help =
        "FSDP gathered the parameters of four layers or more from all ranks at once. Call "
        "fully_shard() on each layer before the whole model, so that it gathers one layer at a "
        "time.",
    .needs = {kNeedsParameters, kNeedsCallStacks},
    .cause = FindGatheredParameters,
};

}  // namespace vramstow
