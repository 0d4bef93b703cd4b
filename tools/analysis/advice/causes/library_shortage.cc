// A cause of an out-of-memory: PyTorch keeps free memory in its cache, so that another library
// finds none.
#include <string>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/places.h"
#include "tools/analysis/advice/rule.h"
#include "tools/analysis/facts/library_failure.h"
#include "tools/analysis/facts/named_facts.h"

namespace vramstow {
namespace {

// True if the request came from a thread of autograd's, which has library handles of its own.
bool IsInBackwardThread(const FailureMoment& moment) {
  const auto process = FactNumber<uint64_t>(moment.facts().trace_metadata, "process.pid");
  return moment.request_site().in_backward ||
         (process.has_value() && *process != moment.failure().thread &&
          moment.passes().HasCalledBackward(moment.event()));
}

// Describes a request for a library handle on autograd's own thread. Releasing the cache before
// backward() does not help, because PyTorch allocates the memory again before this request is made.
void DescribeBackwardThread(const std::string& request, Cause* cause) {
  cause->proof.is_untried = true;
  cause->action =
      "At the start of the program, while the GPU is empty, run a small forward and backward pass "
      "with the same kind of operation: it creates the handle of the thread in which autograd runs "
      "backward passes. Each thread has its own handle, so torch.cuda.current_blas_handle() or a "
      "forward pass alone creates a different one.";
  cause->cost = "The handle keeps " + request +
                " from the start on, in addition to those of other threads: the job needs this "
                "much more memory until this line.";
}

// Fills in the action. `can_empty` says that empty_cache() releases enough.
void DescribeAction(const FailureMoment& moment, bool can_empty, Cause* cause) {
  const std::string request = AdviceText(moment.requested());
  const bool is_math = IsMathLibrary(moment.failure().library);
  if (is_math && IsInBackwardThread(moment)) return DescribeBackwardThread(request, cause);
  const std::string first =
      is_math ? "et the library create the handle of this thread at the start, while the GPU is "
                "empty: run one small operation of the same kind."
              : "et the library allocate its memory before PyTorch fills the GPU.";
  cause->proof.is_untried = !can_empty;
  cause->cost = is_math ? "The handle of each thread keeps the " + request + " that it requested."
                        : "PyTorch cannot use that memory any more.";
  if (!can_empty) {
    cause->action = "L" + first +
                    " torch.cuda.empty_cache() returns too little here, because tensors are in the "
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
  cause.title = "PyTorch's cache holds free memory that " + failure.library + " cannot use";
  cause.place = PlaceOfRequest(moment);
  cause.evidence = failure.library + " requested " + AdviceText(moment.requested()) +
                   " from the driver, which had " + AdviceText(failure.free_bytes) +
                   " free: " + AdviceText(moment.lacking()) + " too little. PyTorch held " +
                   AdviceText(cause.bytes) +
                   " free in its cache. A library requests its memory from the driver, and cannot "
                   "use that cache.";
  DescribeAction(moment, can_empty, &cause);
  return cause;
}

bool IsAskedByLibrary(const FailureMoment& moment) { return moment.is_of_library(); }

constexpr Precondition kNeedsLibrary = {
    .words = "a library other than PyTorch made the request, and vramstow's pool does not serve it",
    .in_failure = IsAskedByLibrary};

}  // namespace

constinit const Rule kLibraryShortage = {
    .rank = Rank::kMistake,
    .meaning = "PyTorch holds free memory in its cache, and another library finds none",
    .help =
        "A library other than PyTorch (cuBLAS, cuDNN, cuSOLVER, or any other that calls "
        "cudaMalloc) requested memory from the driver and got none, while PyTorch held enough free "
        "memory in its cache, which only PyTorch can use. Call torch.cuda.empty_cache() before. A "
        "handle of an NVIDIA library is created for each thread, and autograd runs backward passes "
        "in its own thread: if such a handle does not fit, run a small forward and backward pass "
        "while the GPU is empty.",
    .needs = {kNeedsLibrary},
    .cause = FindLibraryShortage,
};

}  // namespace vramstow
