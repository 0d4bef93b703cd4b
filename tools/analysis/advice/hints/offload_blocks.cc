// Advice: blocks that stay at least four times as long as a transfer takes.
#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/changes.h"
#include "tools/analysis/advice/rule.h"
#include "tools/base/link.h"

namespace vramstow {
namespace {

constexpr uint64_t kLeastStays = 4;  // in transfers: what stays shorter is not worth two of them

// Long enough there for a way out and back, with the link at work half of the time.
bool CouldWait(const Evidence& evidence, const Life& life) {
  const Phase phase = evidence.PhaseOf(life);
  return life.death != kStillLive && (phase == Phase::kForward || phase == Phase::kOptimizer) &&
         life.death_ns - life.birth_ns >= kLeastStays * LinkNs(life.size);
}

Hint FindOffloadBlocks(const Evidence& evidence) {
  std::map<std::string, uint64_t> by_site;
  uint64_t bytes = 0;
  uint64_t for_backward = 0;  // what autograd saved
  for (const Life& life : evidence.detail().lives) {
    if (!evidence.IsAtPeak(life) || !CouldWait(evidence, life)) continue;
    by_site[evidence.detail().sites[life.site].site] += life.size;
    bytes += life.size;
    if (evidence.categories().NameOf(life) == "activations") for_backward += life.size;
  }
  if (!evidence.IsWorthIt(bytes)) return std::nullopt;
  std::vector<std::pair<uint64_t, std::string>> sorted;
  for (const auto& [site, held] : by_site) sorted.emplace_back(held, site);
  std::ranges::sort(sorted, std::ranges::greater());
  std::vector<std::string> names;
  for (const auto& [held, name] : sorted) names.push_back(name + " (" + AdviceText(held) + ")");
  const uint64_t milliseconds = LinkNs(2 * bytes) / 1'000'000;
  return AdviceFacts{
      .title = "Blocks wait so long that they could wait on the host",
      .bytes = bytes,
      .evidence = AdviceText(bytes) + " at the peak stay at least " + std::to_string(kLeastStays) +
                  " times as long as a transfer takes: " + FirstNames(names) + ".",
      .cost = "About " + std::to_string(milliseconds) +
              " ms of transfers at 24 GiB/s each time, beside the work if they begin early, and as "
              "much pinned host memory.",
      .action = (for_backward * 2 > bytes
                     ? std::string("Put torch.autograd.graph.save_on_cpu(pin_memory=True) around "
                                   "these lines")
                     : std::string("Move them to the host (.cpu()) until they are needed")) +
                ", or use vramstow run --pool=on --offload=auto, which moves memory that is not "
                "needed."};
}

Change OffloadBlocksChange(const Evidence& evidence, const AdviceFacts& /*advice*/) {
  return Without(evidence.detail(),
                 evidence.LiveThat([&](const Life& life) { return CouldWait(evidence, life); }));
}

}  // namespace

constinit const Rule kOffloadBlocks = {
    .rank = Rank::kUsual,
    .meaning = "blocks that stay at least four times as long as a transfer takes",
    .help =
        "Blocks at the peak stay so long that they could wait on the host. Use "
        "torch.autograd.graph.save_on_cpu(), or vramstow run --offload.",
    .advice = FindOffloadBlocks,
    .change = OffloadBlocksChange,
};

}  // namespace vramstow
