// A cause of an out-of-memory: the tensors of a file of weights that was loaded to the GPU are
// still live beside the model.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/changes.h"
#include "tools/analysis/advice/places.h"
#include "tools/analysis/advice/rule.h"

namespace vramstow {
namespace {

// True for torch.load, or load_file of safetensors.
bool ReadsFile(const FailureMoment& moment, const SiteDetail& site) {
  return std::ranges::any_of(site.frames, [&](uint32_t number) {
    const std::string& frame = moment.detail().frames[number];
    return frame.ends_with(" load_file") ||
           (frame.starts_with("serialization.py:") && frame.find("load") != std::string::npos);
  });
}

// True if the loaded tensors may be the state of an optimizer, which has the sizes of the weights
// and stays in use. If there is no census (a reference scan), this is assumed for an optimizer that
// has not allocated any state itself.
bool MayBeLoadedState(const FailureMoment& moment) {
  if (moment.holders().any()) return false;
  bool works = false;
  bool has_own_state = false;
  for (const Life& life : moment.detail().lives) {
    const bool in_optimizer = life.tensor && moment.site_of(life).in_optimizer;
    works |= in_optimizer;
    has_own_state |= in_optimizer && life.birth < moment.event() && life.LivesAt(moment.event());
  }
  return works && !has_own_state;
}

// True at the peak of a job that did not fail if the block is a part of a model.
bool IsInUse(const FailureMoment& moment, const Life& life) {
  return moment.is_peak() && moment.IsWeight(life);
}

Found FindLoadedFile(const FailureMoment& moment) {
  if (moment.is_peak() && MayBeLoadedState(moment)) return std::nullopt;
  absl::flat_hash_map<uint32_t, bool> reads;  // by site
  std::vector<const Life*> loaded;
  std::set<uint64_t> sizes;  // the sizes of the other live blocks
  for (const Life* life : moment.live()) {
    if (!life->tensor) continue;
    const auto [site, is_new] = reads.try_emplace(life->site, false);
    if (is_new) site->second = ReadsFile(moment, moment.site_of(*life));
    if (site->second && !IsInUse(moment, *life)) {
      loaded.push_back(life);
    } else {
      sizes.insert(life->size);
    }
  }
  // A tensor that became a part of a model or an optimizer is needed. Without a census, a tensor
  // counts as needed if no other live block has its size.
  std::erase_if(loaded, [&](const Life* life) {
    const HeldBlock* block = moment.holders().Of(*life);
    return block == nullptr ? !sizes.contains(life->size) : block->role != "other";
  });
  Cause cause;
  cause.held = loaded;
  cause.bytes = BytesOf(loaded);
  if (!moment.IsLarge(cause.bytes)) return std::nullopt;
  cause.change = Without(moment.detail(), loaded);
  cause.title = "A loaded file stays on the GPU in addition to the model";
  cause.place = PlaceInProgram(moment, loaded);
  cause.evidence =
      AdviceText(cause.bytes) +
      " were read from a file to the GPU, and neither the model nor an optimizer uses them: " +
      LargestPlaces(moment.detail(), loaded) + ".";
  cause.cost = "None: load_state_dict() copies to the GPU.";
  cause.action =
      "Load with map_location=\"cpu\" (device=\"cpu\" for safetensors), or delete the loaded file "
      "(del) after load_state_dict().";
  return cause;
}

bool HasReadFile(const FailureMoment& moment) {
  return std::ranges::any_of(moment.live(), [&](const Life* life) {
    return life->tensor && ReadsFile(moment, moment.site_of(*life));
  });
}

constexpr Precondition kNeedsFile = {
    .words = "a function that reads a file allocated some of the live memory",
    .in_failure = HasReadFile};

}  // namespace

constinit const Rule kLoadedFile = {
    .rank = Rank::kMistake,
    .meaning =
        "a file of weights that was loaded to the GPU and stays there in addition to the model",
    .help =
        "torch.load() put the tensors of a file on the GPU, and they are still live in addition to "
        "the model and the optimizer that were made from them. Load with map_location=\"cpu\", or "
        "delete the loaded file after load_state_dict().",
    .needs = {kNeedsFile},
    .cause = FindLoadedFile,
    .at_peak = true,
};

}  // namespace vramstow
