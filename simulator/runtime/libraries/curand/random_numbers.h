// The random numbers of the cuRAND stand-in.
//
// Idea: Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3;
// 2011) for every kind of generator: number i of a sequence depends on seed and i only, so that
// runs repeat. The sequences are not NVIDIA's. Normal numbers come from pairs of uniform ones (Box,
// Muller, 1958).
//
// Threads: pure functions. Errors: none. Units: numbers; `first` counts from the start of the
// sequence.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CURAND_RANDOM_NUMBERS_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CURAND_RANDOM_NUMBERS_H_

#include <cstddef>
#include <cstdint>

namespace vramstow::simulator {

enum class Numbers : uint64_t {
  kBits32,
  kBits64,
  kUniformFloat,   // in (0, 1]
  kUniformDouble,  // in (0, 1]
  kNormalFloat,
  kNormalDouble,
  kLogNormalFloat,
  kLogNormalDouble,
};

struct Sequence {
  uint64_t seed = 0;
  uint64_t first = 0;
  double mean = 0;
  double deviation = 1;
};

size_t BytesOf(Numbers numbers);
void Generate(Numbers numbers, const Sequence& sequence, size_t count, void* output);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CURAND_RANDOM_NUMBERS_H_
