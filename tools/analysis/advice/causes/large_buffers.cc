// A cause of an out-of-memory: buffers of modules, for example caches, masks and tables.
#include <vector>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/changes.h"
#include "tools/analysis/advice/places.h"
#include "tools/analysis/advice/rule.h"

namespace vramstow {
namespace {

// Finds buffers that modules have allocated in advance: caches, masks and tables.
Found FindLargeBuffers(const FailureMoment& moment) {
  std::vector<const Life*> buffers;
  for (const Life* life : moment.live()) {
    const HeldBlock* block = moment.holders().Of(*life);
    if (block != nullptr && block->role == "buffer") buffers.push_back(life);
  }
  const uint64_t bytes = BytesOf(buffers);
  if (buffers.empty() || bytes * 2 < moment.live_bytes()) return std::nullopt;
  const bool is_one_more = SameWork(moment.site_of(*buffers.back()), moment.request_site());
  Cause cause;
  cause.bytes = (bytes + (is_one_more ? moment.requested() : 0)) / 2;
  cause.is_estimate = true;
  cause.held = buffers;
  if (!moment.IsLarge(cause.bytes)) return std::nullopt;
  cause.change = InParts(moment.detail(), buffers, 2);
  if (is_one_more) cause.change.requested = moment.requested() / 2;
  cause.title = "Buffers of modules take most of the GPU's memory";
  cause.place = PlaceInProgram(moment, buffers);
  cause.evidence = AdviceText(bytes) + " of " + AdviceText(moment.room()) +
                   " that the job can use are buffers, which stay as long as the modules: " +
                   LargestPlaces(moment.detail(), buffers) + ".";
  cause.cost = "A copy, if they have to grow later.";
  cause.action =
      "Make them only as large as the job needs (the real longest sequence and batch), or in "
      "bfloat16; create masks and tables once for all layers, or in forward().";
  return cause;
}

}  // namespace

constinit const Rule kLargeBuffers = {
    .rank = Rank::kTrade,
    .meaning = "buffers of modules: preallocated caches, masks and tables",
    .help =
        "Half of the live memory are buffers, which stay as long as their modules. Make them only "
        "as large as the job needs, or in bfloat16; create masks and tables once for all layers.",
    .needs = {kNeedsCensus},
    .cause = FindLargeBuffers,
};

}  // namespace vramstow
