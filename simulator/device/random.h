// A small deterministic generator (splitmix64, Steele, Lea and Flood 2014): the seed chooses among
// legal orders, and the same seed chooses the same.
//
// Ownership: a value. Threads: the owner's lock. Errors: none.
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

  // A number in [0, bound); 0 if bound is 0. The bias of the remainder is far below what a
  // simulation can see.
  uint64_t Below(uint64_t bound) { return bound == 0 ? 0 : Next() % bound; }

 private:
  uint64_t state_;
};

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DEVICE_RANDOM_H_
