// PackingSearch: whether blocks fit below a given height (packing.h has the idea).
//
// Ownership: copies the blocks. Threads: one at a time. Errors: none. Units: as packing.h.
#ifndef VRAMSTOW_TOOLS_REPLAY_PACKING_SEARCH_H_
#define VRAMSTOW_TOOLS_REPLAY_PACKING_SEARCH_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tools/replay/packing.h"

namespace vramstow {

// In which order candidates are tried.
enum class PackingOrder : uint8_t { kArea, kSize, kLength, kLoad };
inline constexpr int kPackingOrders = 4;

class PackingSearch {
 public:
  explicit PackingSearch(std::span<const LifeSpan> lives);

  // Offsets below `height`; nothing: none were found in `steps` steps, which are taken off.
  std::optional<std::vector<uint64_t>> Fit(uint64_t height, PackingOrder order, uint64_t seed,
                                           uint64_t* steps);

 private:
  struct Item {
    uint64_t size = 0;
    uint32_t first = 0;  // sections
    uint32_t last = 0;   // one past
    uint64_t rank = 0;
  };
  using Items = std::vector<uint32_t>;
  // To be undone: a floor as it was, or (kPlacement) an item that was placed.
  struct Change {
    uint32_t item;
    uint64_t floor;
  };

  // Items that no moment connects with others that are not placed are solved on their own: what
  // one part fails at is not tried again for every solution of another.
  bool SolveParts(Items items, uint64_t lowest);
  bool SolvePart(const Items& items, uint64_t lowest);
  // No moment has more to come than room. `lowest`: nothing is placed below it any more.
  bool CanStillFit(const Items& items, uint64_t lowest);
  void Place(uint32_t item, uint64_t offset);
  void Undo(size_t mark);
  void Rank(PackingOrder order, uint64_t seed);

  std::vector<Item> items_;
  std::vector<std::vector<uint32_t>> overlaps_;
  std::vector<uint64_t> load_;  // of sections, all blocks
  // The state of the search.
  uint64_t height_ = 0;
  uint64_t steps_left_ = 0;
  std::vector<uint8_t> placed_;
  std::vector<uint64_t> floor_;      // the lowest offset of each item, by those placed
  std::vector<uint64_t> remaining_;  // bytes to come in each section
  std::vector<uint64_t> section_floor_;
  std::vector<uint64_t> offsets_;
  std::vector<Change> trail_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_REPLAY_PACKING_SEARCH_H_
