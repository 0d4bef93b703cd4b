// HashOfAddress: a hash for tables of addresses. Its seed differs in each process, because the
// addresses come from untrusted files.
//
// Ownership: none. Threads: callable from any thread. Errors: none. Units: addresses.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_ADDRESS_HASH_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_ADDRESS_HASH_H_

#include <cstdint>
#include <random>

namespace vramstow {

// Returns the seed, which stays the same for the whole life of the process.
inline uint64_t AddressHashSeed() {
  static const uint64_t seed = [] {
    std::random_device random;
    return uint64_t{random()} << 32 | random();
  }();
  return seed;
}

// Combines the halves of a 128-bit product, as wyhash does (Wang Yi, 2019), so that each bit of the
// address affects all of the low bits.
inline uint64_t HashOfAddress(uint64_t address, uint64_t seed) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = Wide{address ^ seed} * 0xA0761D6478BD642Fu;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_ADDRESS_HASH_H_
