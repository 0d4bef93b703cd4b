// Reads the state of PyTorch's generator of random numbers, as kernels get it.
//
// Source: PhiloxCudaState in ATen/cuda of PyTorch 2.15. Ownership: values. Threads: no state.
// Errors: returns false if the state is in a graph and its addresses are not memory of the device.
// Units: bytes.
#ifndef VRAMSTOW_SIMULATOR_KERNELS_NAMED_GENERATOR_H_
#define VRAMSTOW_SIMULATOR_KERNELS_NAMED_GENERATOR_H_

#include <cstring>

#include "simulator/kernels/named/emulation.h"

namespace vramstow::simulator {

// The argument holds a seed, an offset, an offset within a graph, and a flag. If the flag is set,
// the kernel was captured into a graph, and the seed and the first offset are addresses of the
// values.
inline bool ReadGenerator(const KernelLaunch& launch, KernelMemory* memory, size_t argument,
                          uint64_t* seed, uint64_t* offset) {
  *seed = launch.Get<uint64_t>(argument, 0);
  *offset = launch.Get<uint64_t>(argument, 8);
  if (launch.Get<uint8_t>(argument, 24) == 0) return true;
  const char* seed_at = memory->At(*seed, 8, false);
  const char* offset_at = memory->At(*offset, 8, false);
  if (seed_at == nullptr || offset_at == nullptr) return false;
  memcpy(seed, seed_at, 8);
  memcpy(offset, offset_at, 8);
  *offset += launch.Get<uint64_t>(argument, 16);
  return true;
}

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_KERNELS_NAMED_GENERATOR_H_
