// The state of PyTorch's generator of random numbers, as kernels get it.
//
// Source: PhiloxCudaState in ATen/cuda of PyTorch 2.15. Ownership: values. Threads: no state.
// Errors: false: a captured state does not lie in memory of the device. Units: bytes.
#ifndef VRAMSTOW_SIMULATOR_KERNELS_NAMED_GENERATOR_H_
#define VRAMSTOW_SIMULATOR_KERNELS_NAMED_GENERATOR_H_

#include <cstring>

#include "simulator/kernels/named/emulation.h"

namespace vramstow::simulator {

// The argument is {seed, offset, offset within a graph, captured}: in a graph, seed and offset are
// addresses.
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
