#include "allocator/heap/address_map.h"

#include <bit>

namespace vramstow {

void AddressMap::Close() {
  if (places_ != nullptr) FreeHostMemory(places_, bytes());
  *this = AddressMap();
}

void AddressMap::Remove(uint64_t address, uint32_t index) {
  uint32_t hole = Home(KeyOf(address));
  while (places_[hole].index != index) hole = (hole + 1) & mask_;
  // Moves later members back into the empty slot, except for members whose home slot lies behind
  // it.
  for (uint32_t next = (hole + 1) & mask_; places_[next].index != 0; next = (next + 1) & mask_) {
    const uint32_t home = Home(places_[next].key);
    if (((next - home) & mask_) >= ((next - hole) & mask_)) {
      places_[hole] = places_[next];
      hole = next;
    }
  }
  places_[hole] = {0, 0};
  --count_;
}

bool AddressMap::Grow(uint32_t count) {
  const uint64_t wanted = (uint64_t{count_} + count) * 3 / 2 + 1;
  const uint64_t size = std::bit_ceil(wanted < 1024 ? uint64_t{1024} : wanted);
  if (size > uint64_t{1} << 31) return false;
  auto* fresh = static_cast<Slot*>(AllocateHostMemory(size * sizeof(Slot)));
  if (fresh == nullptr) return false;
  const Slot* old = places_;
  const uint64_t old_size = old == nullptr ? 0 : uint64_t{mask_} + 1;
  places_ = fresh;
  mask_ = static_cast<uint32_t>(size - 1);
  shift_ = static_cast<uint32_t>(32 - std::countr_zero(size / kLine));
  limit_ = static_cast<uint32_t>(size / 3 * 2);
  for (uint64_t i = 0; i < old_size; ++i) {
    if (old[i].index == 0) continue;
    uint32_t place = Home(old[i].key);
    while (places_[place].index != 0) place = (place + 1) & mask_;
    places_[place] = old[i];
  }
  if (old != nullptr) FreeHostMemory(const_cast<Slot*>(old), old_size * sizeof(Slot));
  return true;
}

}  // namespace vramstow
