// One launch of a kernel: all threads of all blocks, one after the other.
//
// Idea: blocks run in order. The threads of a block run in order, too, each up to its end or to a
// place where it waits for others (a barrier, an exchange within the warp); when all have got
// there, those that wait for nobody more go on. The order is one of those that a card allows, and
// always the same.
//
// Ownership: borrows everything for the length of Run. Threads: the caller's one. Errors: Ending.
// Units: bytes; steps, one per instruction that a thread executes.
#ifndef VRAMSTOW_SIMULATOR_KERNELS_PTX_GRID_H_
#define VRAMSTOW_SIMULATOR_KERNELS_PTX_GRID_H_

#include <cstdint>
#include <vector>

#include "simulator/kernels/ptx/code.h"
#include "simulator/kernels/ptx/memory.h"

namespace vramstow::simulator::ptx {

enum class Ending : uint8_t {
  kDone,
  kIllegalAddress,
  kMisalignedAddress,
  kTrap,
  kAssertion,
  kTooLong,   // more steps than allowed
  kTooLarge,  // its threads need more memory here than is set aside
  kStuck,     // threads wait for what never comes
  kRefused,   // by its Memory
};

struct GridLaunch {
  const Routine* entry = nullptr;
  unsigned grid[3] = {1, 1, 1};
  unsigned block[3] = {1, 1, 1};
  uint64_t static_shared = 0;
  uint64_t dynamic_shared = 0;
  std::vector<char> parameters;     // as the entry lays them out
  std::vector<uint64_t> variables;  // addresses, by number; 0: not one that it names
  uint64_t steps = 0;               // allowed
};

// *steps: how many were taken.
Ending Run(const GridLaunch& launch, Memory* memory, uint64_t* steps);

// Runs only the blocks at the corners of the grid, each with its share of the steps and whatever
// becomes of the others: what they write shows how far the whole launch would write.
void RunCorners(const GridLaunch& launch, Memory* memory);

}  // namespace vramstow::simulator::ptx

#endif  // VRAMSTOW_SIMULATOR_KERNELS_PTX_GRID_H_
