#include "allocator/placement/interference_map.h"

#include <bit>

#include "allocator/core/host_memory.h"
#include "base/rounding.h"

namespace vramstow {

uint32_t SlotMask::Common(const SlotMask& other) const {
  int common = 0;
  for (uint64_t i = 0; i < kSlots / 64; ++i) common += std::popcount(words[i] & other.words[i]);
  return static_cast<uint32_t>(common);
}

void SlotMask::AddRequests(uint64_t from, uint64_t to, uint64_t round) {
  if (to - from >= round) {
    for (uint64_t& word : words) word = ~uint64_t{0};
    return;
  }
  const uint64_t first = from * kSlots / round;
  const uint64_t last = DivideUp(to * kSlots, round);
  for (uint64_t slot = first; slot < last;) {
    const uint64_t bit = slot % 64;
    const uint64_t count = last - slot < 64 - bit ? last - slot : 64 - bit;
    words[slot % kSlots / 64] |= (~uint64_t{0} >> (64 - count)) << bit;
    slot += count;
  }
}

bool InterferenceMap::Begin(AddressSpace* space) {
  if (masks_ == nullptr) {
    void* memory = AllocateHostMemory(kMaxPages * (sizeof(SlotMask) + sizeof(uint64_t)));
    if (memory == nullptr) return false;
    masks_ = static_cast<SlotMask*>(memory);
    pages_ = reinterpret_cast<uint64_t*>(masks_ + kMaxPages);
  }
  space_ = space;
  count_ = 0;
  return true;
}

bool InterferenceMap::Note(uint64_t address, const SlotMask& slots) {
  Page& page = space_->PageAt(address);
  if (page.interference == 0) {
    if (count_ + 1 == kMaxPages) return false;
    page.interference = ++count_;
    masks_[count_] = SlotMask();
    pages_[count_] = address;
  }
  masks_[page.interference].Add(slots);
  return true;
}

void InterferenceMap::End() {
  for (; count_ != 0; --count_) space_->PageAt(pages_[count_]).interference = 0;
}

void InterferenceMap::Close() {
  if (masks_ != nullptr) {
    FreeHostMemory(masks_, kMaxPages * (sizeof(SlotMask) + sizeof(uint64_t)));
  }
  masks_ = nullptr;
}

}  // namespace vramstow
