// Packing: the two bounds of a replay: what was live at most, and the best static packing found.
//
// Idea: whoever knows all lives beforehand can give each block an address once and for all. How
// little memory that takes is a hard problem; here it is looked for in two ways. Greedy orders give
// a packing of any number of blocks. For up to some hundreds a search (packing_search.h) fills the
// time-space plane from the bottom: blocks are placed in the order of their offsets, each on top of
// others, and a branch is left where at some moment what is still to come cannot fit any more, or
// where another block would fit wholly below the one at hand.
//
// Ownership: values. Threads: pure functions. Errors: none. Units: bytes; moments as the caller
// counts them. Source: M. Moffitt, "MiniMalloc: A Lightweight Memory Allocator for Hardware-
// Accelerated Machine Learning" (2023), for the canonical order and the two cuts.
#ifndef VRAMSTOW_TOOLS_REPLAY_PACKING_H_
#define VRAMSTOW_TOOLS_REPLAY_PACKING_H_

#include <cstdint>
#include <span>
#include <vector>

namespace vramstow {

// Lives in [begin, end).
struct LifeSpan {
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t size = 0;
};

// The most bytes that are live at a moment: nothing can need less.
uint64_t MaximumLoad(std::span<const LifeSpan> lives);

struct PackingBudget {
  // How often the search may look at a block, all in all: about a tenth of a microsecond each.
  uint64_t search_work = 40'000'000;
  uint64_t most_searched = 1'000;  // blocks; more are only packed greedily
  uint64_t most_greedy = 20'000;   // blocks; more are placed in the order of their births
  uint64_t wanted = 0;             // bytes: until this is reached half of the tries go for it
};

struct Packing {
  uint64_t bytes = 0;
  std::vector<uint64_t> offsets;  // by block
};

// The best that was found within the budget. Two blocks that live at the same time do not overlap.
Packing PackStatically(std::span<const LifeSpan> lives, const PackingBudget& budget);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_REPLAY_PACKING_H_
