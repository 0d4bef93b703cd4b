// Advice about cached memory of streams that are no longer used.
#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/rule.h"

namespace vramstow {
namespace {

// The cache of one stream; a cached block serves only the stream on which it was allocated.
struct StreamCache {
  uint64_t bytes = 0;
  uint64_t last_use = 0;  // the event of its last allocation
  bool is_in_use = false;
};

using Caches = std::map<std::pair<int, uint64_t>, StreamCache>;  // by device and stream

// A segment that exists at the end, and the blocks that lay in it. The call that allocated the
// segment has no stream, but the blocks in it have.
struct Cached {
  const Life* segment = nullptr;
  uint64_t stream = kUnknownStream;
  uint64_t last_use = 0;
  bool is_in_use = false;
};

std::vector<Cached> SegmentsAtEnd(const Detail& detail) {
  std::vector<Cached> cached;
  for (const Life& segment : detail.segments) {
    if (segment.death == kStillLive) cached.push_back({&segment, segment.stream});
  }
  const auto address = [](const Cached& one) { return one.segment->address; };
  std::ranges::sort(cached, {}, address);
  for (const Life& life : detail.lives) {
    if (!life.tensor) continue;
    const auto after = std::ranges::upper_bound(cached, life.address, {}, address);
    if (after == cached.begin()) continue;
    Cached& one = *std::prev(after);
    const bool lies_there = life.address - one.segment->address < one.segment->size &&
                            life.device == one.segment->device && life.birth >= one.segment->birth;
    if (!lies_there) continue;
    if (one.stream == kUnknownStream) one.stream = life.stream;
    one.last_use = std::max(one.last_use, life.birth);
    one.is_in_use |= life.death == kStillLive;
  }
  return cached;
}

Caches CachesOf(const Detail& detail) {
  Caches caches;
  for (const Cached& one : SegmentsAtEnd(detail)) {
    if (one.stream == kUnknownStream) continue;
    StreamCache& cache = caches[{one.segment->device, one.stream}];
    cache.bytes += one.segment->size;
    cache.last_use = std::max(cache.last_use, one.last_use);
    cache.is_in_use |= one.is_in_use;
  }
  return caches;
}

Hint FindIdleStreams(const Evidence& evidence) {
  constexpr size_t kLeastStreams = 3;
  constexpr uint64_t kIdlePart = 10;  // the last tenth of the events
  const Detail& detail = evidence.detail();
  if (evidence.IsOurPool()) return std::nullopt;
  uint64_t bytes = 0;
  size_t idle = 0;
  const Caches caches = CachesOf(detail);
  for (const auto& [stream, cache] : caches) {
    const bool is_idle =
        !cache.is_in_use && cache.last_use + detail.events / kIdlePart < detail.events;
    if (!is_idle) continue;
    bytes += cache.bytes;
    ++idle;
  }
  // At the end of a program all streams are idle.
  if (idle < kLeastStreams || idle == caches.size() || !evidence.IsWorthIt(bytes)) {
    return std::nullopt;
  }
  return AdviceFacts{
      .title = "Memory of streams that are not used any more stays cached",
      .bytes = bytes,
      .evidence =
          "The cache holds " + AdviceText(bytes) + " for " + std::to_string(idle) + " of " +
          std::to_string(caches.size()) +
          " streams, on which nothing was allocated any more. A cached block serves only the "
          "stream on which it was allocated.",
      .cost = "None.",
      .action =
          "Create a stream once and use it again (in __init__(), not for each epoch or each "
          "loader). Otherwise call torch.cuda.empty_cache() when a stream is not needed any more."};
}

bool HasCachePerStream(const Evidence& evidence) { return !evidence.IsOurPool(); }

constexpr Precondition kNeedsCachePerStream = {
    .words = "the allocator has a cache for each stream, which vramstow's pool does not",
    .in_job = HasCachePerStream};

}  // namespace

constinit const Rule kIdleStreams = {
    .rank = Rank::kUrgent,
    .meaning = "the cache holds memory of streams that are not used any more",
    .help =
        "PyTorch's allocator has a cache for each stream, and a stream cannot use blocks of "
        "another. A program that creates a new stream for each epoch leaves the cache of the last "
        "one behind. Create the stream once.",
    .needs = {kNeedsCachePerStream},
    .advice = FindIdleStreams,
};

}  // namespace vramstow
