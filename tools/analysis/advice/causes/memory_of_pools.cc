// A cause of an out-of-memory: the memory on the GPU belongs to a MemPool, so --offload cannot move
// it.
#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/memory_in_place.h"
#include "tools/analysis/advice/private_pools.h"
#include "tools/analysis/advice/rule.h"

namespace vramstow {
namespace {

Found FindMemoryOfPools(const FailureMoment& moment) {
  Cause cause = OfMemoryInPlace(moment);
  cause.title = "A MemPool keeps memory on the GPU that --offload cannot move";
  cause.evidence += AdviceText(cause.bytes) +
                    " stayed on the GPU: they belong to a private pool, whose memory does not "
                    "move, because captured graphs might use it.";
  cause.cost = "None, if the tensors do not need a pool of their own.";
  cause.action =
      "Allocate these tensors outside of the MemPool (torch.cuda.use_mem_pool), or delete the pool "
      "and its tensors before this request.";
  return cause;
}

bool IsHeldByPool(const FailureMoment& moment) {
  return HasCaptured(moment.facts()) != Captured::kYes && FailedByMemoryInPlace(moment);
}

constexpr Precondition kNeedsMemoryOfPool = {
    .words =
        "no CUDA graph was captured, all other memory that the request needed had moved with "
        "--offload=auto, and the memory of private pools would have been enough",
    .in_failure = IsHeldByPool};

}  // namespace

constinit const Rule kMemoryOfPools = {
    .rank = Rank::kMistake,
    .meaning = "a MemPool keeps memory on the GPU, which --offload cannot move",
    .help =
        "--offload never moves the memory of private pools, because captured graphs might use it, "
        "and torch.cuda.MemPool is a private pool. Allocate outside of it what may move.",
    .needs = {kNeedsMemoryOfPool},
    .cause = FindMemoryOfPools,
};

}  // namespace vramstow
