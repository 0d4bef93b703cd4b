#include "tools/analysis/advice/switches.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/facts/advice_id.h"

namespace vramstow {
namespace {

struct Switch {
  std::string_view function;  // a part of a holder, of what made it, or of a frame's function
  std::string_view action;
};

constexpr std::array kSwitches = {
    Switch{"jacrev",
           "Pass a chunk_size to jacrev(), so that it computes some rows at a time, or compute one "
           "row after the other (torch.func.vjp()) and store only what is needed of each."},
    Switch{"jacfwd",
           "Pass a chunk_size to torch.func.vmap() and compute some columns at a time "
           "(torch.func.jvp()), and store only what is needed of each."},
    Switch{"vmap_impl", "Pass a chunk_size to vmap(), so that it computes a part at a time."},
    Switch{"made by GatherBackward",
           "DataParallel gathers all results on its first GPU. Compute the loss in forward() of "
           "the module that it wraps, so that only numbers are gathered, or use "
           "DistributedDataParallel."}};

bool IsAboutLargeResults(AdviceId id) {
  return id == AdviceId::kBroadcast || id == AdviceId::kLargeRequest ||
         id == AdviceId::kActivations;
}

bool HasFrame(const Detail& detail, const SiteDetail& site, std::string_view function) {
  return std::ranges::any_of(
      site.frames, [&](uint32_t frame) { return Mentions(detail.frames[frame], function); });
}

bool IsOf(const FailureMoment& moment, const Cause& cause, std::string_view function) {
  if (HasFrame(moment.detail(), moment.request_site(), function)) return true;
  uint64_t bytes = 0;
  uint64_t all = 0;
  // A request in a backward pass has no Python frames of its own, so the frames of the blocks that
  // the cause holds are searched.
  for (const Life* life : cause.held.empty() ? moment.live() : cause.held) {
    const HeldBlock* block = moment.holders().Of(*life);
    const bool is_held =
        block != nullptr && (Mentions(block->holder, function) || Mentions(block->about, function));
    all += life->size;
    if (is_held || HasFrame(moment.detail(), moment.site_of(*life), function)) bytes += life->size;
  }
  constexpr uint64_t kMuch = 4;
  return bytes > 0 && bytes * kMuch >= all;
}

}  // namespace

void DescribeSwitch(const FailureMoment& moment, Cause* cause) {
  if (!IsAboutLargeResults(cause->id)) return;
  const auto found = std::ranges::find_if(
      kSwitches, [&](const Switch& one) { return IsOf(moment, *cause, one.function); });
  if (found == kSwitches.end()) return;
  cause->action = found->action;
}

}  // namespace vramstow
