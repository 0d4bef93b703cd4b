// A cause: other processes hold a large part of the card.
#include <algorithm>
#include <string>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/rule.h"

namespace vramstow {
namespace {

// A context with the modules of PyTorch's libraries takes no more.
constexpr uint64_t kContextBytes = uint64_t{768} << 20;
constexpr uint64_t kLeastForeign = uint64_t{512} << 20;

Found FindOtherProcesses(const Scene& scene) {
  const OutOfMemoryFacts& failure = scene.failure();
  if (failure.free_from == FreeKnownFrom::kNothing || scene.is_limited()) return std::nullopt;
  for (const DeviceFacts& device : scene.facts().devices) {
    if (device.device != failure.device || !device.total_bytes.has_value()) continue;
    const uint64_t own = scene.room();
    const uint64_t outside = *device.total_bytes - std::min(*device.total_bytes, own);
    Cause cause;
    cause.bytes = outside - std::min(outside, kContextBytes);
    if (cause.bytes < kLeastForeign || !scene.IsLarge(cause.bytes)) return std::nullopt;
    cause.is_estimate = true;
    cause.title = "Other processes hold much of the card";
    cause.place = "another process";
    cause.evidence = "Of the " + AdviceText(*device.total_bytes) + " of the card " +
                     AdviceText(outside) +
                     " are neither free nor this program's blocks. A context with its modules "
                     "takes at most " +
                     AdviceText(kContextBytes) + " of that; the rest is another process's.";
    cause.cost = "None for this program.";
    cause.action =
        "nvidia-smi lists the processes of the card: end the other one, or wait for it, or choose "
        "another card with CUDA_VISIBLE_DEVICES.";
    return cause;
  }
  return std::nullopt;
}

}  // namespace

constinit const Rule kOtherProcesses = {
    .rank = Rank::kMistake,
    .meaning = "other processes hold much of the card",
    .help =
        "Much of the card is neither free nor this program's: more than a context takes. Another "
        "process has it. nvidia-smi lists the processes of a card.",
    .cause = FindOtherProcesses,
};

}  // namespace vramstow
