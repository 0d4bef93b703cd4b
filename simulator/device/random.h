// Generates deterministic random numbers (splitmix64, Steele, Lea and Flood 2014): the seed chooses
// among legal orders, and the same seed makes the same choices.
//
// Ownership: a value. Threads: the caller holds the driver's lock. Errors: none.
#ifndef VRAMSTOW_SIMULATOR_DEVICE_RANDOM_H_
#define VRAMSTOW_SIMULATOR_DEVICE_RANDOM_H_

#include <cstdint>

namespace vramstow::simulator {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    state_ += 0x9e3779b97f4a7c15ull;
    uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9ull;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebull;
    return mixed ^ (mixed >> 31);
  }

  // Returns a number in [0, bound), or 0 if bound is 0. The bias of the remainder is far too small
  // to affect a simulation.
  uint64_t Below(uint64_t bound) { return bound == 0 ? 0 : Next() % bound; }

 private:
  uint64_t state_;
};

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DEVICE_RANDOM_H_
