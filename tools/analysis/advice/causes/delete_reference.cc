// A cause: the result of the last iteration is there while the next one is made.
#include <vector>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/changes.h"
#include "tools/analysis/advice/places.h"
#include "tools/analysis/advice/rule.h"

namespace vramstow {
namespace {

// x = f(x): the old block goes when the new one is there, which was too late.
Found FindDeleteReference(const FailureMoment& moment) {
  if (moment.pass() < 1) return std::nullopt;
  std::vector<const Life*> same;
  for (const Life* life : moment.live()) {
    const bool is_same = life->site == moment.failure().site_number ||
                         SameWork(moment.site_of(*life), moment.request_site());
    if (!is_same || !life->tensor) continue;
    if (life->size + (1 << 20) < moment.requested()) continue;
    same.push_back(life);
  }
  if (same.size() != 1 || moment.PassOf(*same.front()) >= moment.pass()) return std::nullopt;
  if (!moment.IsLarge(same.front()->size)) return std::nullopt;
  Cause cause;
  cause.change = FreedBefore(moment.detail(), same, moment.pass_begin());
  cause.title = "The last iteration's result is still there while the next one is made";
  cause.bytes = same.front()->size;
  cause.held = same;
  cause.place = PlaceOfRequest(moment);
  cause.evidence =
      "The same line had made " + AdviceText(cause.bytes) +
      " in the iteration before, and the variable keeps it until the new value is there.";
  cause.cost = "None, if nothing reads it any more.";
  cause.action = "Delete the variable (del) before " + cause.place + " runs again.";
  return cause;
}

}  // namespace

constinit const Rule kDeleteReference = {
    .rank = Rank::kMistake,
    .meaning = "the result of the last iteration is there while the next one is made",
    .help =
        "One block that the same line made in the iteration before is live while this line asks "
        "for "
        "the next one. A variable keeps the old value until the new one is there. Delete the "
        "variable before the line runs again.",
    .cause = FindDeleteReference,
};

}  // namespace vramstow
