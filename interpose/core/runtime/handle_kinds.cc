#include "interpose/core/runtime/handle_kinds.h"

namespace vramstow {
namespace {

uint64_t Number(const void* handle) { return reinterpret_cast<uint64_t>(handle); }

}  // namespace

uint64_t HandleKinds::PlaceOf(const void* handle) {
  return (Number(handle) * 0x9E3779B97F4A7C15U) >> (64 - kPlaceBits);
}

const HandleKinds::Entry* HandleKinds::Find(const void* handle) const {
  if (handle == nullptr) return nullptr;
  uint64_t place = PlaceOf(handle);
  for (uint32_t look = 0; look < kLooks; ++look, place = (place + 1) % kPlaces) {
    const uint64_t word = entries_[place].word.load(std::memory_order_acquire);
    if (word == 0) return nullptr;
    if (word >> kKindBits == Number(handle)) return &entries_[place];
  }
  return nullptr;
}

HandleKind HandleKinds::KindOf(const void* handle) const {
  const Entry* entry = Find(handle);
  if (entry == nullptr) return HandleKind::kUnknown;
  const uint64_t word = entry->word.load(std::memory_order_acquire);
  constexpr uint64_t kKindMask = (1U << kKindBits) - 1;
  // Another handle may have been stored in this slot meanwhile.
  return word >> kKindBits == Number(handle) ? static_cast<HandleKind>(word & kKindMask)
                                             : HandleKind::kUnknown;
}

// Returns the module or library that `from` belongs to, or null if it is unknown.
const void* HandleKinds::OwnerOf(const void* from) const {
  const Entry* entry = Find(from);
  return entry == nullptr ? from : entry->owner.load(std::memory_order_relaxed);
}

void HandleKinds::Note(const void* handle, HandleKind kind, const void* from) {
  const uint64_t number = Number(handle);
  if (number == 0 || number >> (64 - kKindBits) != 0) return;
  const uint64_t wanted = number << kKindBits | static_cast<uint64_t>(kind);
  const void* const owner = OwnerOf(from);
  // The first iteration looks for a slot that holds this handle already, the second one for any
  // free slot.
  for (const bool known : {true, false}) {
    uint64_t place = PlaceOf(handle);
    for (uint32_t look = 0; look < kLooks; ++look, place = (place + 1) % kPlaces) {
      Entry& entry = entries_[place];
      uint64_t word = entry.word.load(std::memory_order_acquire);
      if (known && word == 0) break;
      if (known ? word >> kKindBits != number : word != 0 && word != kForgotten) continue;
      if (word != wanted && !entry.word.compare_exchange_strong(word, kBeingWritten)) continue;
      entry.owner.store(owner, std::memory_order_relaxed);
      entry.word.store(wanted, std::memory_order_release);
      return;
    }
  }
}

template <typename Gone>
void HandleKinds::Forget(Gone gone) {
  for (Entry& entry : entries_) {
    uint64_t word = entry.word.load(std::memory_order_acquire);
    if (word >> kKindBits == 0 || !gone(entry)) continue;
    entry.word.compare_exchange_strong(word, kForgotten, std::memory_order_acq_rel);
  }
}

void HandleKinds::ForgetOf(const void* owner) {
  Forget([owner](const Entry& entry) {
    const void* const known = entry.owner.load(std::memory_order_relaxed);
    return known == owner || known == nullptr;
  });
}

void HandleKinds::ForgetFunctions() {
  Forget([](const Entry& entry) {
    const uint64_t word = entry.word.load(std::memory_order_relaxed);
    return static_cast<HandleKind>(static_cast<uint16_t>(word)) == HandleKind::kFunction;
  });
}

}  // namespace vramstow
