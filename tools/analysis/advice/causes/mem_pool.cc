// A cause of an out-of-memory: a MemPool holds free memory, which serves no other request.
#include <set>
#include <string>
#include <vector>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/places.h"
#include "tools/analysis/advice/private_pools.h"
#include "tools/analysis/advice/rule.h"

namespace vramstow {
namespace {

// Returns the newest tensor of each segment that has no live block now.
std::vector<const Life*> LastIn(const FailureMoment& moment) {
  std::vector<const Life*> last;
  for (const Life* segment : moment.free_segments()) {
    const Life* latest = nullptr;
    for (const Life& life : moment.detail().lives) {
      if (life.birth >= moment.event()) break;
      const bool lies_there = life.tensor && !life.pending && life.device == segment->device &&
                              life.birth >= segment->birth &&
                              life.address - segment->address < segment->size;
      if (lies_there) latest = &life;
    }
    if (latest != nullptr) last.push_back(latest);
  }
  return last;
}

// True if the tensors belong to several streams. A segment serves one stream only, so a segment of
// another stream may be free, too.
bool AreSeveralStreams(const FailureMoment& moment) {
  std::set<uint64_t> streams;
  for (const Life* life : moment.live()) {
    if (life->tensor) streams.insert(life->stream);
  }
  return streams.size() > 1;
}

// Finds segments in which no block is live but which are still allocated. PyTorch releases such
// segments of its common pool before a request fails, so these belong to a MemPool.
Found FindMemPool(const FailureMoment& moment) {
  const Captured captured = HasCaptured(moment.facts());
  const OutOfMemoryFacts& failure = moment.failure();
  const uint64_t in_segments = BytesOf(moment.free_segments());
  if (in_segments == 0 && !failure.pool_movable_bytes.has_value() && AreSeveralStreams(moment)) {
    return std::nullopt;
  }
  Cause cause;
  const bool is_by_segments = in_segments > 0 && !failure.pool_movable_bytes.has_value();
  cause.bytes = is_by_segments ? in_segments : failure.pool_free_bytes;
  if (!moment.IsLarge(cause.bytes)) return std::nullopt;
  cause.change.shares_pool = true;
  const std::vector<const Life*> last = LastIn(moment);
  cause.place = last.empty() ? PlaceOfRequest(moment) : PlaceInProgram(moment, last);
  const std::string pool =
      captured == Captured::kNo ? "a MemPool" : "a private pool (a MemPool, or a captured graph's)";
  cause.title = AdviceText(cause.bytes) + " are free in " + pool + ", and serve no other requests";
  cause.evidence = AdviceText(cause.bytes) + " of " + AdviceText(failure.reserved_bytes) +
                   " that PyTorch holds are free and belong to " + pool +
                   ". A private pool keeps its memory as long as it exists, and serves no requests "
                   "outside of it.";
  cause.cost = "None, if the pool is not needed any more.";
  cause.action =
      "Delete the pool (del) when its tensors have been freed, or allocate inside it "
      "(torch.cuda.use_mem_pool), or create it with torch.cuda.MemPool(use_on_oom=True): then, "
      "when memory runs out, other requests can use pieces of it that are large enough.";
  if (captured == Captured::kNotKnown) {
    cause.action += " If captured graphs own it, use one pool for all captures.";
  }
  return cause;
}

bool IsBoundWithoutGraphs(const FailureMoment& moment) {
  return moment.is_bound() && HasCaptured(moment.facts()) != Captured::kYes;
}

constexpr Precondition kNeedsMemPool = {
    .words =
        "no CUDA graph was captured, as far as is known, and free memory of a private pool could "
        "not serve the request",
    .in_failure = IsBoundWithoutGraphs};

}  // namespace

constinit const Rule kMemPool = {
    .rank = Rank::kMistake,
    .meaning = "a MemPool that holds free memory",
    .help =
        "torch.cuda.MemPool keeps the memory that was allocated inside it, even when all of it is "
        "free, and serves no other requests. Delete the pool, allocate inside it, or create it "
        "with use_on_oom=True.",
    .needs = {kNeedsMemPool},
    .cause = FindMemPool,
};

}  // namespace vramstow
