// HashOfAddress: for tables of addresses. They come from files of strangers, so the hash has a seed
// of the process's.
//
// Ownership: none. Threads: any. Errors: none. Units: addresses.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_ADDRESS_HASH_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_ADDRESS_HASH_H_

#include <cstdint>
#include <random>

namespace vramstow {

// The same for the whole life of the process.
inline uint64_t AddressHashSeed() {
  static const uint64_t seed = [] {
    std::random_device random;
    return uint64_t{random()} << 32 | random();
  }();
  return seed;
}

// All bits are good ones. The halves of a long product, as in wyhash (Wang Yi, 2019): each bit
// reaches all of the low ones.
inline uint64_t HashOfAddress(uint64_t address, uint64_t seed) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = Wide{address ^ seed} * 0xA0761D6478BD642Fu;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_ADDRESS_HASH_H_
