// A cause of an out-of-memory: the GPU was full when a graph was captured, and --offload moves no
// memory during a capture.
#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/memory_in_place.h"
#include "tools/analysis/advice/places.h"
#include "tools/analysis/advice/rule.h"

namespace vramstow {
namespace {

bool IsInCapture(const FailureMoment& moment) {
  return IsLastWithOffload(moment) && WasCapturing(moment) &&
         MovableBytes(moment) >= moment.lacking();
}

Found FindCaptureWhenFull(const FailureMoment& moment) {
  Cause cause;
  cause.bytes = MovableBytes(moment);
  cause.is_estimate = true;
  cause.place = PlaceOfRequest(moment);
  cause.title = "The GPU was full when a graph was captured, and nothing can move meanwhile";
  cause.evidence =
      "The request for " + AdviceText(moment.requested()) +
      " came while a stream was being captured. --offload moves no memory during a capture, "
      "although " +
      AdviceText(cause.bytes) + " of live memory on the GPU could have moved. " +
      (moment.away_bytes() == 0
           ? ""
           : AdviceText(moment.away_bytes()) +
                 " had been moved to the host before; since then the GPU has been full.");
  cause.cost = "None.";
  cause.action =
      "Capture all graphs before the GPU is full: at the start, before caches are filled, each "
      "shape once. Or make room before a later capture: free memory, or call vramstow.offload(), "
      "which raises OffloadError if only a part could move.";
  return cause;
}

constexpr Precondition kNeedsCapture = {
    .words =
        "vramstow's pool refused the request while a stream was being captured, with "
        "--offload=auto",
    .in_failure = IsInCapture};

}  // namespace

constinit const Rule kCaptureWhenFull = {
    .rank = Rank::kMistake,
    .meaning = "a graph was captured when the GPU was full, so --offload could move nothing",
    .help =
        "With --offload, no memory moves while a stream is being captured, because waiting and "
        "copying would invalidate the capture. If the GPU is full by then, each request of the "
        "capture fails. Capture graphs before the GPU is full, or make room before the capture.",
    .needs = {kNeedsCapture},
    .cause = FindCaptureWhenFull,
};

}  // namespace vramstow
