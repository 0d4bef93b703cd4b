// A cause: none of the others; the line that made most of what was live, and who holds it.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/changes.h"
#include "tools/analysis/advice/keepers.h"
#include "tools/analysis/advice/places.h"
#include "tools/analysis/advice/rule.h"

namespace vramstow {
namespace {

constexpr size_t kManyBlocks = 3;

// What one line made: of tensors, where there are any.
std::vector<const Life*> LargestLine(const Scene& scene) {
  const bool any_tensor = std::ranges::any_of(scene.live(), &Life::tensor);
  std::map<std::string, std::vector<const Life*>> by_place;
  for (const Life* life : scene.live()) {
    if (any_tensor && !life->tensor) continue;
    by_place[PlaceOf(scene.detail(), life->site)].push_back(life);
  }
  const auto largest =
      std::ranges::max_element(by_place, {}, [](const auto& one) { return BytesOf(one.second); });
  return largest == by_place.end() ? std::vector<const Life*>() : largest->second;
}

Found FindLargestHolder(const Scene& scene) {
  Cause cause;
  cause.held = LargestLine(scene);
  cause.bytes = BytesOf(cause.held);
  if (cause.bytes == 0) return std::nullopt;
  cause.change = Without(scene.detail(), cause.held);
  cause.title = "One line made the largest part of what was live";
  cause.place = PlaceInProgram(scene, cause.held);
  cause.evidence =
      AdviceText(cause.bytes) + " of " + AdviceText(scene.live_bytes()) + " were made by " +
      LargestPlaces(scene.detail(), cause.held) + ", in " + std::to_string(cause.held.size()) +
      (cause.held.size() == 1 ? " block" : " blocks") + ". No other cause explains the failure.";
  cause.cost = "Depends on what needs it.";
  const std::vector<HolderFacts> holders = scene.holders().OfAll(cause.held);
  const std::string about = holders.empty() ? "" : WhatToDoAbout(holders.front().holder);
  cause.action = cause.held.size() >= kManyBlocks
                     ? "Let go of those that nobody needs any more, keep a part of each, or move "
                       "them to the host (.cpu())."
                     : "Make it for a part of the data at a time, in a smaller type, or delete it "
                       "(del) before this request.";
  if (!about.empty()) cause.action = about + " Else: " + cause.action;
  return cause;
}

}  // namespace

constinit const Rule kLargestHolder = {
    .rank = Rank::kLast,
    .meaning = "none of the others: the line that made most of what was live, and who holds it",
    .help =
        "No other cause explains the failure. The advice names the line that made the largest part "
        "of what was live, and where there is a census, who holds it. Whether it is needed, only "
        "the program tells.",
    .cause = FindLargestHolder,
};

}  // namespace vramstow
