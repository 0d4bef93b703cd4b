// Advice about blocks that live at least four times as long as a transfer takes, and that could be
// on the host meanwhile.
#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/changes.h"
#include "tools/analysis/advice/rule.h"
#include "tools/analysis/advice/step_cost.h"
#include "tools/analysis/explain/census_summary.h"
#include "tools/analysis/explain/holders.h"
#include "tools/base/link.h"

namespace vramstow {
namespace {

// A block must live for at least this many times the duration of one transfer. A shorter life is
// not worth a transfer to the host and another one back.
constexpr uint64_t kLeastStays = 4;

// True if the block lives long enough for a transfer to the host and back while PCIe or NVLink is
// busy half of the time. The whole life counts as idle time.
bool CouldWait(const Evidence& evidence, const Life& life) {
  const Phase phase = evidence.PhaseOf(life);
  if (life.death == kStillLive || (phase != Phase::kForward && phase != Phase::kOptimizer)) {
    return false;
  }
  // After an out-of-memory a program may free blocks that it would otherwise have used, so only the
  // time until the last out-of-memory counts.
  const std::vector<OutOfMemoryFacts>& failures = evidence.facts().out_of_memory;
  const uint64_t end =
      failures.empty() ? life.death_ns : std::min(life.death_ns, failures.back().time_ns);
  return end >= life.birth_ns + kLeastStays * LinkNs(life.size);
}

// The idle blocks, grouped by what a program can do about them.
struct Waiting {
  uint64_t of_graphs = 0;
  uint64_t of_program = 0;  // bytes that the program holds, and no graph
};

Waiting WhatWaits(const Evidence& evidence, const std::vector<const Life*>& lives) {
  const std::vector<OutOfMemoryFacts>& failures = evidence.facts().out_of_memory;
  std::optional<Holders> holders;
  if (!failures.empty()) holders.emplace(evidence.detail(), evidence.facts(), failures.back());
  Waiting waiting;
  for (const Life* life : lives) {
    const HeldBlock* block = holders.has_value() ? holders->Of(*life) : nullptr;
    const bool is_recorded =
        block != nullptr ? IsInGraph(*block) || block->about.find("made by") != std::string::npos
                         : evidence.categories().NameOf(*life) == "activations";
    if (is_recorded) {
      waiting.of_graphs += life->size;
    } else if (block != nullptr && block->role == "other") {
      waiting.of_program += life->size;
    }
  }
  return waiting;
}

std::string WhatToDo(const Waiting& waiting, uint64_t bytes) {
  const std::string pool =
      "se vramstow run --pool=on --offload=auto, which moves memory that is not needed.";
  if (waiting.of_graphs * 2 > bytes) {
    return "Put torch.autograd.graph.save_on_cpu(pin_memory=True) around these lines, or u" + pool;
  }
  if (waiting.of_program * 2 > bytes) {
    return "Move them to the host (.cpu()) until they are needed, or u" + pool;
  }
  return "U" + pool;
}

std::string CostOfWaiting(const Evidence& evidence, uint64_t bytes) {
  const std::string beside =
      ", which overlap with the work if they begin early, and as much pinned host memory.";
  const StepCost cost(evidence.detail(), evidence.facts());
  if (cost.is_known()) {
    return "About " + AdviceTime(cost.OfRoundTrip(bytes)) + " of copies each time" + beside +
           " --offload makes work wait for about " + AdviceTime(cost.OfMapping(bytes)) +
           " more, to map host memory. All this is" + OfModelInWords(cost).substr(1);
  }
  return "About " + std::to_string(LinkNs(2 * bytes) / 1'000'000) +
         " ms of transfers at 24 GiB/s each time" + beside;
}

Hint FindOffloadBlocks(const Evidence& evidence) {
  std::map<std::string, uint64_t> by_site;
  uint64_t bytes = 0;
  std::vector<const Life*> lives;
  for (const Life& life : evidence.detail().lives) {
    if (!evidence.IsAtPeak(life) || !CouldWait(evidence, life)) continue;
    by_site[evidence.detail().sites[life.site].site] += life.size;
    bytes += life.size;
    lives.push_back(&life);
  }
  if (!evidence.IsWorthIt(bytes)) return std::nullopt;
  std::vector<std::pair<uint64_t, std::string>> sorted;
  for (const auto& [site, held] : by_site) sorted.emplace_back(held, site);
  std::ranges::sort(sorted, std::ranges::greater());
  std::vector<std::string> names;
  for (const auto& [held, name] : sorted) names.push_back(name + " (" + AdviceText(held) + ")");
  return AdviceFacts{.title = "Blocks stay unused so long that they could be on the host meanwhile",
                     .bytes = bytes,
                     .evidence = AdviceText(bytes) + " at the peak stay at least " +
                                 std::to_string(kLeastStays) +
                                 " times as long as a transfer takes: " + FirstNames(names) + ".",
                     .cost = CostOfWaiting(evidence, bytes),
                     .action = WhatToDo(WhatWaits(evidence, lives), bytes)};
}

Change OffloadBlocksChange(const Evidence& evidence, const AdviceFacts& /*advice*/) {
  return Without(evidence.detail(),
                 evidence.LiveThat([&](const Life& life) { return CouldWait(evidence, life); }));
}

bool MayWaitOnHost(const Evidence& evidence) {
  return evidence.facts().end_ns > LinkNs(2 * evidence.facts().peak.allocated_bytes);
}

constexpr Precondition kNeedsTimes = {
    .words = "the job ran longer than a transfer of its memory to the host and back takes",
    .in_job = MayWaitOnHost};

}  // namespace

constinit const Rule kOffloadBlocks = {
    .rank = Rank::kUsual,
    .meaning = "blocks that stay at least four times as long as a transfer takes",
    .help =
        "Blocks at the peak stay unused so long that they could be on the host meanwhile. Use "
        "torch.autograd.graph.save_on_cpu(), or vramstow run --offload.",
    .needs = {kNeedsTimes},
    .advice = FindOffloadBlocks,
    .change = OffloadBlocksChange,
    .said_by = {AdviceId::kKeptOutputs, AdviceId::kHeldGraphs, AdviceId::kDeadCycles,
                AdviceId::kAutocastCopies, AdviceId::kEarlierModels, AdviceId::kKeptInModules,
                AdviceId::kOptimizerState, AdviceId::kKeptError},
};

}  // namespace vramstow
