// AddressTable: a hash table from addresses to small values, for callbacks that must be quick.
//
// Idea: open addressing with linear probing in one array; removal moves later entries back, so
// there are no tombstones. Address 0 marks an empty place.
//
// Ownership: values. Threads: one at a time. Errors: none; growth allocates host memory. Units:
// none.
#ifndef VRAMSTOW_ADAPTERS_TORCH_OBSERVER_ADDRESS_TABLE_H_
#define VRAMSTOW_ADAPTERS_TORCH_OBSERVER_ADDRESS_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace vramstow::torch_observer {

template <typename Value>
class AddressTable {
 public:
  AddressTable() : places_(kFirstPlaces) {}

  size_t size() const { return count_; }

  // Null: not there. The pointer is valid until the next Set or Erase.
  Value* Find(uint64_t address) {
    Place& place = places_[IndexOf(address)];
    return place.address == address && address != 0 ? &place.value : nullptr;
  }

  void Set(uint64_t address, const Value& value) {
    if (address == 0) return;
    if ((count_ + 1) * 2 > places_.size()) Grow();
    Place& place = places_[IndexOf(address)];
    if (place.address == 0) ++count_;
    place = {address, value};
  }

  void Erase(uint64_t address) {
    size_t hole = IndexOf(address);
    if (address == 0 || places_[hole].address != address) return;
    --count_;
    // An entry behind the hole moves into it, unless its own place lies between them.
    for (size_t next = Next(hole); places_[next].address != 0; next = Next(next)) {
      const size_t wanted = HashOf(places_[next].address);
      const size_t mask = places_.size() - 1;
      if (((next - wanted) & mask) < ((next - hole) & mask)) continue;
      places_[hole] = places_[next];
      hole = next;
    }
    places_[hole] = {};
  }

 private:
  struct Place {
    uint64_t address = 0;
    Value value{};
  };
  static constexpr size_t kFirstPlaces = 1024;  // a power of two, as all sizes

  size_t HashOf(uint64_t address) const {
    return static_cast<size_t>(((address >> 9) * 0x9e3779b97f4a7c15U) >> 20) & (places_.size() - 1);
  }
  size_t Next(size_t index) const { return (index + 1) & (places_.size() - 1); }
  // Where the address is, or the empty place where it would be.
  size_t IndexOf(uint64_t address) const {
    size_t index = HashOf(address);
    while (places_[index].address != 0 && places_[index].address != address) index = Next(index);
    return index;
  }
  void Grow() {
    std::vector<Place> before(places_.size() * 2);
    before.swap(places_);
    for (const Place& place : before) {
      if (place.address != 0) places_[IndexOf(place.address)] = place;
    }
  }

  std::vector<Place> places_;
  size_t count_ = 0;
};

}  // namespace vramstow::torch_observer

#endif  // VRAMSTOW_ADAPTERS_TORCH_OBSERVER_ADDRESS_TABLE_H_
