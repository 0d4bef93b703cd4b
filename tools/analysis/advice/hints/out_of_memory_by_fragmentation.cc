// Advice about an out-of-memory while enough memory was free, in pieces that were too small.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/other_allocator.h"
#include "tools/analysis/advice/places.h"
#include "tools/analysis/advice/rule.h"
#include "tools/analysis/explain/holders.h"
#include "tools/analysis/facts/library_failure.h"

namespace vramstow {
namespace {

constexpr uint64_t kLeastPiece = uint64_t{1} << 20;

// Free pieces between live blocks, each too small for the request, and the blocks beside them.
struct Pieces {
  uint64_t bytes = 0;
  std::map<uint32_t, uint64_t> beside;  // by the site of the block, the bytes of the pieces
  std::vector<const Life*> blocks;
};

std::vector<const Life*> InOrder(const std::vector<Life>& lives, const OutOfMemoryFacts& failure) {
  std::vector<const Life*> sorted;
  for (const Life& life : lives) {
    if (life.device == failure.device && life.LivesAt(failure.event)) sorted.push_back(&life);
  }
  std::ranges::sort(sorted, {}, &Life::address);
  return sorted;
}

Pieces PiecesAt(const Evidence& evidence, const OutOfMemoryFacts& failure) {
  Pieces pieces;
  if (!evidence.detail().has_all_lives()) return pieces;
  const std::vector<const Life*> blocks = InOrder(evidence.detail().lives, failure);
  auto next = blocks.begin();
  for (const Life* segment : InOrder(evidence.detail().segments, failure)) {
    const uint64_t end = segment->address + segment->size;
    next = std::lower_bound(next, blocks.end(), segment->address,
                            [](const Life* life, uint64_t at) { return life->address < at; });
    uint64_t at = segment->address;
    const Life* before = nullptr;
    const auto add = [&](uint64_t to, const Life* after) {
      if (to < at + kLeastPiece || to - at >= failure.requested_bytes) return;
      pieces.bytes += to - at;
      for (const Life* block : {before, after}) {
        if (block == nullptr || !block->tensor) continue;
        pieces.beside[block->site] += to - at;
        pieces.blocks.push_back(block);
      }
    };
    for (; next != blocks.end() && (*next)->address < end; ++next) {
      if (!(*next)->tensor) continue;
      add((*next)->address, *next);
      before = *next;
      at = std::max(at, before->address + before->size);
    }
    add(end, nullptr);
  }
  return pieces;
}

// Adds the source line, and the owner, of the blocks that separate the free pieces.
void NameFences(const Evidence& evidence, const OutOfMemoryFacts& failure, AdviceFacts* advice) {
  Pieces pieces = PiecesAt(evidence, failure);
  if (pieces.beside.empty()) return;
  const uint32_t site = std::ranges::max_element(pieces.beside, {}, [](const auto& one) {
                          return one.second;
                        })->first;
  // Memory of vramstow's pool that was mapped elsewhere leaves gaps between blocks, which are not
  // free memory.
  advice->bytes = std::min(pieces.bytes, failure.pool_free_bytes);
  advice->place = PlaceOf(evidence.detail(), site);
  std::erase_if(pieces.blocks, [&](const Life* block) { return block->site != site; });
  std::ranges::sort(pieces.blocks);
  pieces.blocks.erase(std::unique(pieces.blocks.begin(), pieces.blocks.end()), pieces.blocks.end());
  advice->evidence += " " + AdviceText(std::min(pieces.beside.at(site), failure.pool_free_bytes)) +
                      " of that are next to blocks of " + advice->place + ".";
  const Holders holders(evidence.detail(), evidence.facts(), failure);
  const std::vector<HolderFacts> found = holders.OfAll(pieces.blocks);
  if (!found.empty()) advice->holder = found.front().holder;
}

// Returns the device memory that the process may still take, besides the memory that it holds.
uint64_t BytesOfDevice(const OutOfMemoryFacts& failure) {
  const uint64_t held = failure.demand.live_bytes + failure.pool_free_bytes;
  return failure.has_story ? failure.demand.room_bytes - std::min(failure.demand.room_bytes, held)
                           : 0;
}

std::string EvidenceOf(const OutOfMemoryFacts& failure) {
  const bool is_one = failure.pool_free_ranges == 1;
  std::string text = AdviceText(failure.requested_bytes) + " were requested while the pool had " +
                     AdviceText(failure.pool_free_bytes) + " free in ";
  text += is_one ? "one piece"
                 : std::to_string(failure.pool_free_ranges) + " pieces, the largest " +
                       AdviceText(failure.largest_free_range_bytes.value_or(0));
  const uint64_t of_device = BytesOfDevice(failure);
  if (failure.pool_free_bytes < failure.requested_bytes) {
    text += ", and the device had " + AdviceText(of_device) + " free";
  }
  return text + ".";
}

Hint FindOutOfMemoryByFragmentation(const Evidence& evidence) {
  for (const OutOfMemoryFacts& failure : evidence.facts().out_of_memory) {
    // The free memory of the device counts too, because a pool that combines free pieces combines
    // them with that memory.
    const uint64_t free_bytes = failure.pool_free_bytes + BytesOfDevice(failure);
    if (!failure.has_pool || failure.pool_free_bytes == 0) continue;
    if (free_bytes < failure.requested_bytes) continue;
    // A library other than PyTorch can use the free memory only if vramstow's pool holds it.
    if (IsLibraryFailure(failure) && !evidence.IsOurPool()) continue;
    const uint64_t usable = std::max(failure.largest_free_range_bytes.value_or(0),
                                     failure.pool_movable_bytes.value_or(0));
    if (usable >= failure.requested_bytes) continue;
    AdviceFacts advice{.title = "Memory ran out because of fragmentation",
                       .bytes = failure.requested_bytes,
                       .evidence = EvidenceOf(failure),
                       .cost = CostOfOtherAllocator(evidence),
                       .action = OtherAllocator(evidence)};
    NameFences(evidence, failure, &advice);
    return advice;
  }
  return std::nullopt;
}

}  // namespace

constinit const Rule kOutOfMemoryByFragmentation = {
    .rank = Rank::kUrgent,
    .meaning = "memory ran out although enough was free, in pieces that were too small",
    .help =
        "When the request failed, the pool and the device had enough free memory together, but no "
        "piece of it was large enough, and no free chunks could be combined. Expandable segments, "
        "or vramstow's pool, combine such pieces.",
    .needs = {kNeedsFailure},
    .advice = FindOutOfMemoryByFragmentation,
    .change = UseOtherAllocator,
    // Free memory of a private pool cannot serve other requests, fragmented or not.
    .said_by = {AdviceId::kGraphPools, AdviceId::kMemPool, AdviceId::kLibraryShortage},
};

}  // namespace vramstow
