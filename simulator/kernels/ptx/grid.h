// Runs one launch of a kernel: all threads of all blocks, one after the other.
//
// Idea: blocks run in order. The threads of a block run in order, too, each until it ends or waits
// for other threads (at a barrier or an exchange within the warp). When all threads of a block have
// ended or wait, the threads whose wait is over continue. The order is one of those that a GPU
// allows, and always the same.
//
// Ownership: borrows everything for the duration of Run. Threads: runs on the caller's thread.
// Errors: returns an Ending. Units: bytes; steps, one per instruction that a thread executes.
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
  kTooLarge,  // its threads need too much memory of this machine
  kStuck,     // threads wait for an event that never happens
  kRefused,   // the Memory refused access
};

struct GridLaunch {
  const Routine* entry = nullptr;
  unsigned grid[3] = {1, 1, 1};
  unsigned block[3] = {1, 1, 1};
  uint64_t static_shared = 0;
  uint64_t dynamic_shared = 0;
  std::vector<char> parameters;     // with the layout of the entry's parameters
  std::vector<uint64_t> variables;  // addresses, by number; 0 for variables that it does not use
  uint64_t steps = 0;               // limit of steps
};

// Sets *steps to the number of executed steps.
Ending Run(const GridLaunch& launch, Memory* memory, uint64_t* steps);

// Runs only the blocks at the corners of the grid. Each has an equal share of the steps, and runs
// even if another block fails. The writes of these blocks show which memory the whole launch would
// write.
void RunCorners(const GridLaunch& launch, Memory* memory);

}  // namespace vramstow::simulator::ptx

#endif  // VRAMSTOW_SIMULATOR_KERNELS_PTX_GRID_H_
