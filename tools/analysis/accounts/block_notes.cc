#include "tools/analysis/accounts/block_notes.h"

#include <algorithm>

#include "tools/analysis/accounts/address_hash.h"

namespace vramstow {

BlockNote& BlockNotes::At(uint64_t address) {
  constexpr size_t kSlots = 2 * kMost;
  if (slots_.empty()) [[unlikely]] {
    slots_.resize(kSlots);
    notes_.reserve(kMost);
    seed_ = AddressHashSeed();
  }
  size_t at = HashOfAddress(address, seed_) % kSlots;
  while (slots_[at].round == round_) {
    BlockNote& note = notes_[slots_[at].note];
    if (note.address == address) return note;
    at = (at + 1) % kSlots;
  }
  slots_[at] = {round_, static_cast<uint32_t>(notes_.size())};
  return notes_.emplace_back(BlockNote{.address = address});
}

const std::vector<BlockNote>& BlockNotes::TakeAll() {
  taken_.clear();
  for (const BlockNote& note : notes_) {
    if ((note.taken | note.size) != 0) taken_.push_back(note);
  }
  std::sort(taken_.begin(), taken_.end(),
            [](const BlockNote& a, const BlockNote& b) { return a.address < b.address; });
  notes_.clear();
  if (++round_ == 0) {
    std::fill(slots_.begin(), slots_.end(), Slot());
    round_ = 1;
  }
  return taken_;
}

}  // namespace vramstow
