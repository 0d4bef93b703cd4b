// A cause: PyTorch keeps free memory in its cache, and a library beside it finds none.
#include <string>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/places.h"
#include "tools/analysis/advice/rule.h"
#include "tools/analysis/facts/library_failure.h"

namespace vramstow {
namespace {

Found FindLibraryShortage(const FailureMoment& moment) {
  const OutOfMemoryFacts& failure = moment.failure();
  if (!IsLibraryFailure(failure) || failure.pool_free_bytes < moment.lacking()) return std::nullopt;
  Cause cause;
  cause.bytes = failure.pool_free_bytes;
  cause.title = "PyTorch keeps free memory that a library cannot have";
  cause.place = PlaceOfRequest(moment);
  cause.evidence = failure.library + " asked the driver for " + AdviceText(moment.requested()) +
                   " while PyTorch kept " + AdviceText(failure.pool_free_bytes) +
                   " free in its cache. A library takes its memory from the driver, and cannot use "
                   "that cache.";
  cause.cost = "None.";
  cause.action =
      "Let the library take its memory before the card is full: call "
      "torch.cuda.current_blas_handle() at the start for cuBLAS, or run one small operation. "
      "Otherwise call torch.cuda.empty_cache() before this line.";
  return cause;
}

bool IsAskedByLibrary(const FailureMoment& moment) { return IsLibraryFailure(moment.failure()); }

constexpr Precondition kNeedsLibrary = {.words = "a library beside PyTorch made the request",
                                        .in_failure = IsAskedByLibrary};

}  // namespace

constinit const Rule kLibraryShortage = {
    .rank = Rank::kMistake,
    .meaning = "PyTorch keeps free memory in its cache, and a library beside it finds none",
    .help =
        "A library of NVIDIA's (cuBLAS, cuDNN, cuSOLVER) asked the driver for memory and got none, "
        "while PyTorch kept enough of it free in its cache. PyTorch then reports an error of that "
        "library, for example CUBLAS_STATUS_ALLOC_FAILED. Let the library take its memory before "
        "the card is full, or call torch.cuda.empty_cache() before.",
    .needs = {kNeedsLibrary},
    .cause = FindLibraryShortage,
};

}  // namespace vramstow
