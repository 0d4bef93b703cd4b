// PackingSearch: whether blocks fit below a given height (packing.h has the idea).
//
// Every packing can be pushed down until each block rests on the ground or on another block, so
// only such packings are looked at. Each step takes the block with the lowest place that it could
// have now. Either it lies there, or it is blocked: it will have to rest on something that is still
// to come, and its place is unknown until that comes. So no packing is looked at twice.
//
// Ownership: copies the blocks. Threads: one at a time. Errors: none. Units: as packing.h.
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

// Which of several blocks with the same lowest place is tried first: by these, one after the other,
// the larger value first.
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

  // Offsets below `height`; nothing: none were found in `steps` steps, which are taken off. Where
  // steps are left, there are none. `order` is a place in kPackingOrders; with a seed other than 0
  // all but loads count for up to nearly twice as much, by chance.
  std::optional<std::vector<uint64_t>> Fit(uint64_t height, size_t order, uint64_t seed,
                                           uint64_t* steps);
  // How often a block was looked at, in all searches.
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
  // To be undone: a place as it was, or (kPlacement) an item that was placed.
  struct Change {
    uint32_t item;
    bool blocked;
    uint64_t floor;
  };

  // Items that no moment connects with others that are not placed are solved on their own: what
  // one part fails at is not tried again for every solution of another.
  bool SolveParts(const Items& items);
  bool SolvePart(const Items& items);
  // What is to come may fit. Sets lowest_.
  bool CanStillFit(const Items& items);
  // The least offset that a blocked item can have: on top of what lies lowest of what is to come.
  void RaiseBlocked(const Items& items);
  void Place(uint32_t item);
  void Block(uint32_t item);
  void Undo(size_t mark);
  void Rank(size_t order, uint64_t seed);

  std::vector<Item> items_;
  std::vector<Items> overlaps_;
  size_t sections_ = 0;
  uint64_t work_ = 0;
  // The state of the search, by item if nothing else is said.
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
