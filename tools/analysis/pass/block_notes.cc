#include "tools/analysis/pass/block_notes.h"

#include <algorithm>

#include "tools/analysis/pass/address_hash.h"

namespace vramstow {

BlockNote& BlockNotes::At(uint64_t address) {
  constexpr size_t kPlaces = 2 * kMost;
  if (places_.empty()) [[unlikely]] {
    places_.resize(kPlaces);
    notes_.reserve(kMost);
    seed_ = AddressHashSeed();
  }
  size_t at = HashOfAddress(address, seed_) % kPlaces;
  while (places_[at].round == round_) {
    BlockNote& note = notes_[places_[at].note];
    if (note.address == address) return note;
    at = (at + 1) % kPlaces;
  }
  places_[at] = {round_, static_cast<uint32_t>(notes_.size())};
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
    std::fill(places_.begin(), places_.end(), Place());
    round_ = 1;
  }
  return taken_;
}

}  // namespace vramstow
