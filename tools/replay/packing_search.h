// PackingSearch: searches for a placement of blocks below a given height (packing.h has the idea).
//
// Every packing can be pushed down until each block rests on the ground or on another block, so
// only such packings are examined. Each step selects the block with the lowest possible offset. One
// branch places the block there. The other branch marks it as blocked: it must rest on a block that
// is not placed yet, and its offset is unknown until then. So no packing is examined twice.
//
// Ownership: copies the blocks. Threads: used by one thread at a time. Errors: none. Units: as in
// packing.h.
#ifndef VRAMSTOW_TOOLS_REPLAY_PACKING_SEARCH_H_
#define VRAMSTOW_TOOLS_REPLAY_PACKING_SEARCH_H_

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "tools/replay/packing.h"

namespace vramstow {

// The keys that decide which of several blocks with the same lowest offset is tried first. Keys are
// compared one after the other, and the block with the larger value comes first.
enum class PackingKey : uint8_t { kLoad, kOverlaps, kArea, kLength };
inline constexpr std::array<std::array<PackingKey, 3>, 4> kPackingOrders = {{
    {PackingKey::kLoad, PackingKey::kOverlaps, PackingKey::kArea},
    {PackingKey::kLoad, PackingKey::kLength, PackingKey::kArea},
    {PackingKey::kLength, PackingKey::kArea, PackingKey::kLoad},
    {PackingKey::kArea, PackingKey::kLength, PackingKey::kLoad},
}};

class PackingSearch {
 public:
  explicit PackingSearch(std::span<const LifeSpan> lives);

  // Returns offsets below `height`, or nullopt if none were found within *steps. Subtracts the used
  // steps from *steps; if it returns nullopt and steps are left, there is no solution. `order` is
  // an index of kPackingOrders. A seed other than 0 multiplies all keys but the load by a
  // pseudo-random factor of up to nearly 2.
  std::optional<std::vector<uint64_t>> Fit(uint64_t height, size_t order, uint64_t seed,
                                           uint64_t* steps);
  // The number of times a block was examined, in all searches.
  uint64_t work() const { return work_; }

 private:
  struct Item {
    uint64_t size = 0;
    uint64_t length = 0;
    uint64_t load = 0;   // the most of its sections
    uint32_t first = 0;  // sections
    uint32_t last = 0;   // one past
    size_t rank = 0;
  };
  using Items = std::vector<uint32_t>;
  // An entry of the undo list. It has the previous state of an item or, with kPlacement, an item
  // that was placed.
  struct Change {
    uint32_t item;
    bool blocked;
    uint64_t floor;
  };

  // Divides the items into parts that are never live together, and solves each part separately. So
  // the failure of one part is not repeated for each solution of another part.
  bool SolveParts(const Items& items);
  bool SolvePart(const Items& items);
  // Returns false if the remaining items cannot fit. Also sets lowest_.
  bool CanStillFit(const Items& items);
  // Sets the lowest offset of each blocked item. A blocked item must rest on another remaining
  // item, so its offset is at least the lowest end of these.
  void RaiseBlocked(const Items& items);
  void Place(uint32_t item);
  void Block(uint32_t item);
  void Undo(size_t mark);
  void Rank(size_t order, uint64_t seed);

  std::vector<Item> items_;
  std::vector<Items> overlaps_;
  size_t sections_ = 0;
  uint64_t work_ = 0;
  // The state of the search. Vectors are indexed by the number of the item, unless noted otherwise.
  uint64_t height_ = 0;
  uint64_t steps_left_ = 0;
  std::vector<uint8_t> placed_;
  std::vector<uint8_t> blocked_;   // it does not lie at its floor
  std::vector<uint64_t> floor_;    // the top of what is placed below it
  std::vector<uint64_t> lowest_;   // the least offset it can still have
  std::vector<uint64_t> offsets_;  // of placed ones
  std::vector<Change> trail_;
  std::vector<uint64_t> tops_;                        // of sections
  std::vector<std::pair<uint64_t, uint32_t>> order_;  // scratch
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_REPLAY_PACKING_SEARCH_H_
