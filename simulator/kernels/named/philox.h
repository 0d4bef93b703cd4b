// Philox4x32-10, the counter-based generator of random numbers that CUDA's cuRAND and PyTorch use.
//
// Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
// State as cuRAND's documentation lays it out: the seed is the key, the offset the low half of the
// counter, the subsequence its high half. Ownership: a value. Threads: no state. Errors: none.
#ifndef VRAMSTOW_SIMULATOR_KERNELS_NAMED_PHILOX_H_
#define VRAMSTOW_SIMULATOR_KERNELS_NAMED_PHILOX_H_

#include <array>
#include <cstdint>

namespace vramstow::simulator {

inline std::array<uint32_t, 4> Philox(uint64_t seed, uint64_t subsequence, uint64_t offset) {
  constexpr uint64_t kMultiplier0 = 0xD2511F53;
  constexpr uint64_t kMultiplier1 = 0xCD9E8D57;
  constexpr uint32_t kWeyl0 = 0x9E3779B9;
  constexpr uint32_t kWeyl1 = 0xBB67AE85;
  constexpr int kRounds = 10;
  std::array<uint32_t, 4> counter = {
      static_cast<uint32_t>(offset), static_cast<uint32_t>(offset >> 32),
      static_cast<uint32_t>(subsequence), static_cast<uint32_t>(subsequence >> 32)};
  auto key0 = static_cast<uint32_t>(seed);
  auto key1 = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t product0 = kMultiplier0 * counter[0];
    const uint64_t product1 = kMultiplier1 * counter[2];
    counter = {
        static_cast<uint32_t>(product1 >> 32) ^ counter[1] ^ key0, static_cast<uint32_t>(product1),
        static_cast<uint32_t>(product0 >> 32) ^ counter[3] ^ key1, static_cast<uint32_t>(product0)};
    key0 += kWeyl0;
    key1 += kWeyl1;
  }
  return counter;
}

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_KERNELS_NAMED_PHILOX_H_
