// Packing: the two bounds of a replay: the highest number of live bytes, and the best static
// packing that was found.
//
// Idea: an allocator that knows all lives in advance can give each block a fixed address. The least
// memory for this is a hard problem, which is approached in two ways. Greedy orders give a packing
// of any number of blocks. For up to some hundreds of blocks, a search (packing_search.h) fills the
// time-space plane from the bottom: blocks are placed in the order of their offsets, each on top of
// earlier ones, and a branch is abandoned if at some moment the remaining blocks cannot fit any
// more, or if another block would fit entirely below the current one.
//
// Ownership: plain values. Threads: pure functions, callable from any thread. Errors: none. Units:
// bytes; moments as the caller counts them. Source: M. Moffitt, "MiniMalloc: A Lightweight Memory
// Allocator for Hardware-Accelerated Machine Learning" (2023), for the canonical order and the two
// cuts.
#ifndef VRAMSTOW_TOOLS_REPLAY_PACKING_H_
#define VRAMSTOW_TOOLS_REPLAY_PACKING_H_

#include <cstdint>
#include <span>
#include <vector>

namespace vramstow {

// A block that is live in [begin, end).
struct LifeSpan {
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t size = 0;
};

// Returns the highest number of bytes that are live at one moment. No packing can be smaller.
uint64_t MaximumLoad(std::span<const LifeSpan> lives);

struct PackingBudget {
  // The limit for how often the search may examine a block. Each time takes about a tenth of a
  // microsecond.
  uint64_t search_work = 40'000'000;
  uint64_t most_searched = 1'000;  // blocks; more are only packed greedily
  uint64_t most_greedy = 20'000;   // blocks; more are placed in the order of their births
  // A height in bytes. Until a packing of this height is found, half of the attempts search for
  // one.
  uint64_t wanted = 0;
};

struct Packing {
  uint64_t bytes = 0;
  std::vector<uint64_t> offsets;  // by block
};

// Returns the best packing that was found within the budget. Blocks that are live at the same time
// do not overlap.
Packing PackStatically(std::span<const LifeSpan> lives, const PackingBudget& budget);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_REPLAY_PACKING_H_
