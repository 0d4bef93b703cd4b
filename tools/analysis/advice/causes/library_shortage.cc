// A cause of an out-of-memory: PyTorch keeps free memory in its cache, so that another library
// finds none.
#include <string>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/places.h"
#include "tools/analysis/advice/rule.h"
#include "tools/analysis/facts/fact_numbers.h"
#include "tools/analysis/facts/library_failure.h"

namespace vramstow {
namespace {

// True if the request came from a thread of autograd's, which has library handles of its own.
bool IsInBackwardThread(const FailureMoment& moment) {
  const auto process = FactNumber<uint64_t>(moment.facts().facts, "process.pid");
  return moment.request_site().in_backward ||
         (process.has_value() && *process != moment.failure().thread &&
          moment.passes().HasCalledBackward(moment.event()));
}

// Describes a request for a library handle on autograd's own thread. Releasing the cache before
// backward() does not help, because PyTorch allocates the memory again before this request is made.
void TellOfBackwardThread(const std::string& request, Cause* cause) {
  cause->is_tried = false;
  cause->action =
      "At the start of the program, while the card is empty, run a small forward and backward pass "
      "with the same kind of operation: it makes the handle of the thread in which autograd runs "
      "backward passes. Each thread has a handle of its own, so that "
      "torch.cuda.current_blas_handle() or a forward pass alone makes another one.";
  cause->cost = "The handle keeps " + request +
                " from the start on, beside those of other threads: the job needs that much more "
                "until this line.";
}

// Fills in the action. `can_empty` says that empty_cache() releases enough.
void TellWhatToDo(const FailureMoment& moment, bool can_empty, Cause* cause) {
  const std::string request = AdviceText(moment.requested());
  const bool is_math = IsMathLibrary(moment.failure().library);
  if (is_math && IsInBackwardThread(moment)) return TellOfBackwardThread(request, cause);
  const std::string first =
      is_math ? "et the library make the handle of this thread at the start, while the card is "
                "empty: run one small operation of the same kind."
              : "et the library take its memory before PyTorch fills the card.";
  cause->is_tried = can_empty;
  cause->cost = is_math ? "The handle of each thread keeps the " + request + " that it asked for."
                        : "PyTorch has that memory no more.";
  if (!can_empty) {
    cause->action =
        "L" + first +
        " torch.cuda.empty_cache() gives back too little here, because tensors lie in the "
        "same segments.";
    return;
  }
  cause->action =
      "Call torch.cuda.empty_cache() before this line, so that the driver has the "
      "memory again. Or l" +
      first;
}

Found FindLibraryShortage(const FailureMoment& moment) {
  const OutOfMemoryFacts& failure = moment.failure();
  // The bytes that torch.cuda.empty_cache() would release.
  const uint64_t returnable = BytesOf(moment.free_segments());
  const bool can_empty = returnable >= moment.lacking();
  Cause cause;
  cause.bytes = can_empty ? returnable : failure.pool_free_bytes;
  if (cause.bytes == 0 || cause.bytes < moment.lacking()) return std::nullopt;
  cause.title = "PyTorch's cache keeps free memory that " + failure.library + " cannot use";
  cause.place = PlaceOfRequest(moment);
  cause.evidence = failure.library + " asked the driver for " + AdviceText(moment.requested()) +
                   ", and the driver had " + AdviceText(failure.free_bytes) + ": " +
                   AdviceText(moment.lacking()) + " lack. PyTorch kept " + AdviceText(cause.bytes) +
                   " free in its cache. A library takes its memory from the driver, and cannot use "
                   "that cache.";
  TellWhatToDo(moment, can_empty, &cause);
  return cause;
}

bool IsAskedByLibrary(const FailureMoment& moment) { return moment.is_of_library(); }

constexpr Precondition kNeedsLibrary = {
    .words = "a library beside PyTorch made the request, and vramstow's pool does not serve it",
    .in_failure = IsAskedByLibrary};

}  // namespace

constinit const Rule kLibraryShortage = {
    .rank = Rank::kMistake,
    .meaning = "PyTorch keeps free memory in its cache, and a library beside it finds none",
    .help =
        "A library beside PyTorch (cuBLAS, cuDNN, cuSOLVER, or any other that calls cudaMalloc) "
        "asked the driver for memory and got none, while PyTorch kept enough of it free in its "
        "cache, which only PyTorch can use. Call torch.cuda.empty_cache() before. A handle of a "
        "library of NVIDIA's is made for each thread, and autograd runs backward passes in a "
        "thread of its own: where such a handle does not fit, run a small forward and backward "
        "pass while the card is empty.",
    .needs = {kNeedsLibrary},
    .cause = FindLibraryShortage,
};

}  // namespace vramstow
