// A cause: a checkpoint recomputes too much in one piece.
#include <algorithm>
#include <string>
#include <vector>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/changes.h"
#include "tools/analysis/advice/places.h"
#include "tools/analysis/advice/rule.h"

namespace vramstow {
namespace {

constexpr size_t kLeastRecomputed = 3;
constexpr uint64_t kMostCheckpoints = 16;
constexpr uint64_t kLargeRecomputedPart = 4;  // of what was live

// The forward pass runs within the backward pass: its lines are the program's own.
bool IsRecomputed(const Scene& scene, const SiteDetail& site) {
  return site.in_backward && !site.own.empty() &&
         std::ranges::any_of(site.frames, [&](uint32_t frame) {
           return scene.detail().frames[frame].find("checkpoint.py:") != std::string::npos;
         });
}

Found FindRecomputation(const Scene& scene) {
  Cause cause;
  for (const Life* life : scene.live()) {
    if (life->tensor && IsRecomputed(scene, scene.site_of(*life))) cause.held.push_back(life);
  }
  const uint64_t made = BytesOf(cause.held);
  if (cause.held.size() < kLeastRecomputed || made * kLargeRecomputedPart < scene.live_bytes()) {
    return std::nullopt;
  }
  uint64_t pieces = 2;
  while (pieces < kMostCheckpoints && made - made / pieces < scene.lacking()) pieces *= 2;
  cause.bytes = made - made / pieces;
  if (!scene.IsLarge(cause.bytes)) return std::nullopt;
  cause.is_estimate = true;
  cause.change = InParts(scene.detail(), cause.held, pieces);
  cause.title = "One checkpoint recomputes too much at once";
  cause.place = CommonPlace(scene.detail(), cause.held, false);
  if (cause.place.empty()) cause.place = PlaceInProgram(scene, cause.held);
  cause.evidence = AdviceText(made) +
                   " were computed again in the backward pass, all for one checkpoint: " +
                   LargestPlaces(scene.detail(), cause.held) +
                   ". A checkpoint around everything saves nothing at that moment.";
  cause.cost = "The inputs of each piece are kept; no more is computed.";
  cause.action = "Put a checkpoint around each of " + std::to_string(pieces) +
                 " or more pieces (each few layers), instead of one around all: "
                 "torch.utils.checkpoint.checkpoint_sequential(layers, " +
                 std::to_string(pieces) + ", x).";
  return cause;
}

}  // namespace

constinit const Rule kRecomputation = {
    .rank = Rank::kTrade,
    .meaning = "a checkpoint recomputes too much in one piece",
    .help =
        "In the backward pass a checkpoint computes all again that it stands around, and all of "
        "that lives at once. Put checkpoints around each few layers.",
    .cause = FindRecomputation,
};

}  // namespace vramstow
