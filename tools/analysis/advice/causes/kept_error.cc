// A cause of an out-of-memory: an exception that is over is still referenced, and its frames hold
// their variables.
#include <string>
#include <string_view>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/changes.h"
#include "tools/analysis/advice/places.h"
#include "tools/analysis/advice/rule.h"
#include "tools/analysis/explain/census_summary.h"

namespace vramstow {
namespace {

Found FindKeptError(const FailureMoment& moment) {
  Cause cause;
  bool is_last = false;  // the exception that Python stores for a debugger
  for (const Life* life : moment.live()) {
    const HeldBlock* block = moment.holders().Of(*life);
    // An exception that is being handled may still be needed. If its handler tries the work again,
    // another cause (retry_in_handler) reports it.
    if (block == nullptr || !IsHeldByError(*block) || block->holder.starts_with(kHandledNow))
      continue;
    cause.held.push_back(life);
    is_last |= block->holder.find("sys.last_") != std::string::npos;
  }
  cause.bytes = BytesOf(cause.held);
  if (!moment.IsLarge(cause.bytes)) return std::nullopt;
  cause.change = Without(moment.detail(), cause.held);
  cause.title =
      "An exception that was already handled is still referenced, with the variables of its frames";
  cause.place = PlaceInProgram(moment, cause.held);
  cause.evidence =
      "The traceback of a stored exception references the frames that it passed through, and their "
      "variables hold " +
      AdviceText(cause.bytes) + ": " + LargestPlaces(moment.detail(), cause.held) + ".";
  cause.cost = "None.";
  cause.action = is_last ? "Clear the error before the next try: sys.last_value = "
                           "sys.last_traceback = sys.last_exc = None, then gc.collect()."
                         : "Store the text of the error (str(error)), or "
                           "error.with_traceback(None), instead of the error.";
  return cause;
}

}  // namespace

constinit const Rule kKeptError = {
    .rank = Rank::kMistake,
    .meaning =
        "an exception that was already handled and is still referenced, with the variables of its "
        "frames",
    .help =
        "The census found tensors that only the traceback of an exception references: it "
        "references the frames that the exception passed through, and frames reference their "
        "variables. A notebook stores the last error in sys.last_value; a list of errors or a "
        "future also stores errors. Store the text of an error, or set sys.last_value and "
        "sys.last_traceback to None.",
    .needs = {kNeedsCensus},
    .cause = FindKeptError,
};

}  // namespace vramstow
