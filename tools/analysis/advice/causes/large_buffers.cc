// A cause of an out-of-memory: buffers of modules or of the program, for example caches, masks and
// tables.
#include <vector>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/changes.h"
#include "tools/analysis/advice/first_step.h"
#include "tools/analysis/advice/parameter_sites.h"
#include "tools/analysis/advice/places.h"
#include "tools/analysis/advice/rule.h"
#include "tools/analysis/advice/rule_table.h"
#include "tools/analysis/explain/census_summary.h"

namespace vramstow {
namespace {

// True if the program itself made the tensor before the first step, empty or with one number
// everywhere, and a variable references it.
bool IsMadeInAdvance(const FailureMoment& moment, const Life& life, uint64_t first_step) {
  const HeldBlock* block = moment.holders().Of(life);
  const SiteDetail& site = moment.site_of(life);
  return block != nullptr && block->role == "other" && !IsGarbage(*block) &&
         life.birth < first_step && life.tensor && life.size >= kLeastParameter && IsBlank(site) &&
         MayBeParameter(site);
}

// Finds buffers that modules or the program have allocated in advance: caches, masks and tables.
Found FindLargeBuffers(const FailureMoment& moment) {
  const bool is_told = IsFound(moment, {AdviceId::kKvCache});
  const uint64_t first_step = is_told ? 0 : FirstStepOf(moment);
  std::vector<const Life*> buffers;
  uint64_t of_modules = 0;
  for (const Life* life : moment.live()) {
    const HeldBlock* block = moment.holders().Of(*life);
    const bool is_of_module = block != nullptr && block->role == "buffer";
    if (!is_of_module && !IsMadeInAdvance(moment, *life, first_step)) continue;
    buffers.push_back(life);
    of_modules += is_of_module ? life->size : 0;
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
  const bool are_of_modules = of_modules * 2 > bytes;
  cause.title = (are_of_modules ? "Buffers of modules, " : "Buffers allocated in advance, ") +
                AdviceText(bytes) + ", take most of the GPU's memory; half of them";
  cause.place = PlaceInProgram(moment, buffers);
  cause.evidence = AdviceText(bytes) + " of " + AdviceText(moment.room()) +
                   " that the job can use are buffers, which " +
                   (are_of_modules ? "stay as long as the modules: "
                                   : "were allocated before the first step and stay: ") +
                   LargestPlaces(moment.detail(), buffers) + ".";
  cause.cost = "A copy, if they have to grow later.";
  cause.action =
      are_of_modules
          ? "Make them only as large as the job needs (the real longest sequence and batch), or in "
            "bfloat16; create masks and tables once for all layers, or in forward()."
          : "Make them only as large as the job needs (fewer sequences or entries at a time, "
            "shorter ones), or in a smaller type. What a step does not read can stay on the host.";
  return cause;
}

}  // namespace

constinit const Rule kLargeBuffers = {
    .rank = Rank::kTrade,
    .meaning = "buffers of modules or of the program: preallocated caches, masks and tables",
    .help =
        "Half of the live memory are buffers of modules, or tensors that the program made before "
        "the first step, empty or with one number everywhere. Make them only as large as the job "
        "needs, or in bfloat16; create masks and tables once for all layers.",
    .needs = {kNeedsCensus},
    .cause = FindLargeBuffers,
};

}  // namespace vramstow
