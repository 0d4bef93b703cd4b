// AddressTable is a hash table from addresses to small values, for callbacks that must be fast.
//
// Idea: open addressing with linear probing in one array; removal moves later entries back, so
// there are no tombstones. Address 0 marks an empty slot. The array is mapped memory, because a
// callback that runs under an allocator's lock must not use the heap: a thread that holds a lock of
// the heap may wait for that allocator.
//
// Ownership: its array. Threads: one at a time. Errors: an entry for which no memory can be mapped
// is left out, and is then not found. Units: none.
#ifndef VRAMSTOW_ADAPTERS_TORCH_OBSERVER_ADDRESS_TABLE_H_
#define VRAMSTOW_ADAPTERS_TORCH_OBSERVER_ADDRESS_TABLE_H_

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

namespace vramstow::torch_observer {

template <typename Value>
class AddressTable {
 public:
  AddressTable() = default;
  ~AddressTable() { Unmap(places_, capacity_); }
  AddressTable(const AddressTable&) = delete;
  AddressTable& operator=(const AddressTable&) = delete;

  size_t size() const { return count_; }

  void Clear() {
    Unmap(places_, capacity_);
    places_ = nullptr;
    capacity_ = count_ = 0;
  }

  // Returns null if there is no entry. The pointer is valid until the next FindOrInsert or Erase.
  Value* Find(uint64_t address) {
    if (address == 0 || capacity_ == 0) return nullptr;
    Place& place = places_[IndexOf(address)];
    return place.address == address ? &place.value : nullptr;
  }

  // Returns the value for this address and makes it first if needed. Returns null if there is no
  // room.
  Value* FindOrInsert(uint64_t address) {
    if (address == 0 || !HasRoom()) return nullptr;
    Place& place = places_[IndexOf(address)];
    if (place.address == 0) {
      ++count_;
      place.address = address;
    }
    return &place.value;
  }

  void Erase(uint64_t address) {
    Value value;
    Take(address, &value);
  }

  // Removes an entry and stores its value. Returns false if there is no such entry.
  bool Take(uint64_t address, Value* value) {
    if (address == 0 || capacity_ == 0) return false;
    size_t hole = IndexOf(address);
    if (places_[hole].address != address) return false;
    *value = places_[hole].value;
    --count_;
    // Moves a later entry into the empty slot, unless the entry's home slot lies between the empty
    // slot and the entry.
    for (size_t next = Next(hole); places_[next].address != 0; next = Next(next)) {
      const size_t wanted = HashOf(places_[next].address);
      const size_t mask = capacity_ - 1;
      if (((next - wanted) & mask) < ((next - hole) & mask)) continue;
      places_[hole] = places_[next];
      hole = next;
    }
    places_[hole] = {};
    return true;
  }

 private:
  struct Place {
    uint64_t address = 0;
    Value value{};
  };
  static constexpr size_t kFirstPlaces = 4096;  // all sizes are powers of two

  size_t HashOf(uint64_t address) const {
    return static_cast<size_t>(((address >> 9) * 0x9e3779b97f4a7c15U) >> 20) & (capacity_ - 1);
  }
  size_t Next(size_t index) const { return (index + 1) & (capacity_ - 1); }
  // Returns the slot of the address, or the empty slot where it would be.
  size_t IndexOf(uint64_t address) const {
    size_t index = HashOf(address);
    while (places_[index].address != 0 && places_[index].address != address) index = Next(index);
    return index;
  }
  // One slot is always empty, because the search for a missing address ends at an empty slot.
  bool HasRoom() { return (count_ + 1) * 2 <= capacity_ || Grow() || count_ + 2 <= capacity_; }

  bool Grow() {
    const size_t capacity = capacity_ == 0 ? kFirstPlaces : capacity_ * 2;
    // New pages contain zeros, and a slot of zeros is an empty slot.
    void* const memory = mmap(nullptr, capacity * sizeof(Place), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return false;
    Place* const before = places_;
    const size_t before_capacity = capacity_;
    places_ = static_cast<Place*>(memory);
    capacity_ = capacity;
    for (size_t i = 0; i < before_capacity; ++i) {
      if (before[i].address != 0) places_[IndexOf(before[i].address)] = before[i];
    }
    Unmap(before, before_capacity);
    return true;
  }
  static void Unmap(Place* places, size_t capacity) {
    if (places != nullptr) munmap(places, capacity * sizeof(Place));
  }

  Place* places_ = nullptr;
  size_t capacity_ = 0;
  size_t count_ = 0;
};

}  // namespace vramstow::torch_observer

#endif  // VRAMSTOW_ADAPTERS_TORCH_OBSERVER_ADDRESS_TABLE_H_
