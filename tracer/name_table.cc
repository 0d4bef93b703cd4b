#include "tracer/name_table.h"

#include <cstring>

namespace vramstow {
namespace {

// Returns the 64-bit FNV-1a hash of a text, folded to 32 bits.
uint32_t Hash(std::string_view text) {
  uint64_t hash = 0xCBF29CE484222325u;
  for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001B3u;
  return static_cast<uint32_t>(hash ^ hash >> 32);
}

}  // namespace

NameTable::Result NameTable::Intern(std::string_view text) {
  const uint32_t hash = Hash(text);
  size_t place = hash % kPlaces;
  while (places_[place].number != 0) {
    const Slot& found = places_[place];
    if (found.hash == hash && found.length == text.size() &&
        std::memcmp(arena_ + found.begin, text.data(), text.size()) == 0) {
      return {static_cast<uint16_t>(found.number), false};
    }
    place = (place + 1) % kPlaces;
  }
  if (names_ == kMaxNames || text.size() > kArenaBytes - used_bytes_) return {0, false};
  if (!text.empty()) std::memcpy(arena_ + used_bytes_, text.data(), text.size());
  places_[place] = {used_bytes_, static_cast<uint32_t>(text.size()), hash, ++names_};
  used_bytes_ += static_cast<uint32_t>(text.size());
  last_place_ = static_cast<uint32_t>(place);
  return {static_cast<uint16_t>(names_), true};
}

void NameTable::ForgetLast() {
  used_bytes_ = places_[last_place_].begin;
  places_[last_place_].number = 0;
  --names_;
}

}  // namespace vramstow
