// A cause of an out-of-memory: the keys and values of the sequences that a model generates.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/changes.h"
#include "tools/analysis/advice/large_result.h"
#include "tools/analysis/advice/places.h"
#include "tools/analysis/advice/rule.h"
#include "tools/analysis/advice/rule_table.h"
#include "tools/analysis/explain/kv_caches.h"
#include "tools/analysis/explain/phases_over.h"

namespace vramstow {
namespace {

constexpr uint64_t kLeastShareOfLive = 3;

std::vector<const Life*> CachesOf(const FailureMoment& moment) {
  const PhasesOver phases(moment.detail());
  const KvCaches caches(moment.detail(), phases);
  std::vector<const Life*> live;
  for (const Life* life : moment.live()) {
    const HeldBlock* block = moment.holders().Of(*life);
    const bool is_of_training =
        block != nullptr && (block->role == "optimizer_state" || block->role == "parameter" ||
                             block->role == "gradient");
    if (life->tensor && caches.Has(*life) && !is_of_training) live.push_back(life);
  }
  return live;
}

// True if the name of an operator, a module or a function of the forward pass contains the word
// attention.
bool HasAttention(const FailureMoment& moment) {
  const auto names_attention = [](std::string_view text) {
    return text.find("ttention") != std::string_view::npos ||
           text.find("softmax") != std::string_view::npos;
  };
  const Detail& detail = moment.detail();
  return std::ranges::any_of(detail.sites, [&](const SiteDetail& site) {
    if (site.phase == Phase::kCache) return true;
    return names_attention(site.made_by) || names_attention(site.module) ||
           names_attention(site.classes) || std::ranges::any_of(site.frames, [&](uint32_t frame) {
             return names_attention(detail.frames[frame]);
           });
  });
}

// True if most of the caches grew by cat(), token by token. An inference engine allocates them
// once.
bool AreGrown(const FailureMoment& moment, const std::vector<const Life*>& caches) {
  uint64_t grown = 0;
  for (const Life* life : caches) {
    if (IsConcatenation(OperatorName(moment.site_of(*life)))) grown += life->size;
  }
  return grown * 2 > BytesOf(caches);
}

Found FindKvCache(const FailureMoment& moment) {
  // If the sequences have ended and their caches are still held, another cause names the owner of
  // the caches.
  if (IsFound(moment, {AdviceId::kKeptOutputs, AdviceId::kHeldGraphs, AdviceId::kKeptError})) {
    return std::nullopt;
  }
  const std::vector<const Life*> caches = CachesOf(moment);
  const uint64_t bytes = BytesOf(caches);
  if (caches.empty() || bytes * kLeastShareOfLive < moment.live_bytes()) return std::nullopt;
  Cause cause;
  cause.bytes = bytes / 2;
  if (!moment.IsLarge(cause.bytes)) return std::nullopt;
  const bool grown = AreGrown(moment, caches);
  cause.proof.grows = grown;
  cause.held = caches;
  cause.change = InParts(moment.detail(), caches, 2);
  cause.is_estimate = true;
  cause.title = "The keys and values of all sequences, " + AdviceText(bytes) +
                ", are too large; half of them";
  cause.place = PlaceInProgram(moment, caches);
  cause.evidence = AdviceText(bytes) + " of " + AdviceText(moment.live_bytes()) +
                   " are caches of keys and values, in " + std::to_string(caches.size()) +
                   (grown ? " blocks that grow with each token: " : " blocks: ") +
                   LargestPlaces(moment.detail(), caches) + ".";
  cause.cost = "More calls, or time for transfers.";
  cause.action = grown ? "Generate for half of the sequences at a time, or for shorter ones "
                         "(max_new_tokens), or use a smaller cache (transformers: "
                         "cache_implementation=\"quantized\" or \"offloaded\")."
                       : "Use a smaller cache in the engine (vLLM: gpu_memory_utilization; SGLang: "
                         "mem_fraction_static), fewer sequences at a time, or shorter ones.";
  return cause;
}

// A model without attention has no keys and values.
constexpr Precondition kNeedsAttention = {
    .words = "an operator, a module or a function of the program computes attention",
    .in_failure = HasAttention};

}  // namespace

constinit const Rule kKvCache = {
    .rank = Rank::kTrade,
    .meaning = "the keys and values of the sequences that a model generates",
    .help =
        "A third or more of the live memory are caches of keys and values, judging by their shape "
        "and lifetime. They have an entry for each token of each sequence. Generate for fewer "
        "sequences at a time, or for shorter ones, or use a cache that is quantised or on the "
        "host.",
    .needs = {kNeedsTensors, kNeedsAttention},
    .cause = FindKvCache,
};

}  // namespace vramstow
