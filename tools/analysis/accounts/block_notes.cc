#include "tools/analysis/accounts/block_notes.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "absl/container/flat_hash_map.h"

namespace vramstow {

// Adds `entry`, an allocation or a free, to the note of its address. Returns false, and has no
// effect, if the entry contradicts the note.
bool BlockNotes::Apply(const Entry& entry, BlockNote* note) {
  const uint64_t size = entry.size_and_came >> 1;
  if ((entry.size_and_came & 1) != 0) {
    if (note->size != 0) return false;
    if (note->taken == size) {
      note->taken = 0;  // the block is live again
    } else {
      note->size = size;
    }
    return true;
  }
  if (note->size == size) {
    note->size = 0;
    return true;
  }
  if ((note->size | note->taken) != 0) return false;
  note->taken = size;
  return true;
}

// Sorts the entries by address, and the entries of one address in their original order. A radix
// sort, last digit first, needs three traversals for blocks of 512 bytes in 4 TiB; a sort by
// comparison would need 17.
const std::vector<BlockNotes::Entry>& BlockNotes::Sorted() {
  constexpr size_t kFew = 1024;
  constexpr int kBits = 11;
  constexpr size_t kDigits = size_t{1} << kBits;
  sorted_ = entries_;
  if (sorted_.size() <= kFew) {
    std::stable_sort(sorted_.begin(), sorted_.end(),
                     [](const Entry& a, const Entry& b) { return a.address < b.address; });
    return sorted_;
  }
  uint64_t lowest = ~uint64_t{0};
  for (const Entry& entry : sorted_) lowest = std::min(lowest, entry.address);
  uint64_t used_bits = 0;
  for (const Entry& entry : sorted_) used_bits |= entry.address - lowest;
  other_.resize(sorted_.size());
  const int bits = 64 - std::countl_zero(used_bits);
  for (int shift = std::countr_zero(used_bits); shift < bits; shift += kBits) {
    const auto digit_of = [&](const Entry& entry) {
      return (entry.address - lowest) >> shift & (kDigits - 1);
    };
    std::array<uint32_t, kDigits> begins = {};
    for (const Entry& entry : sorted_) ++begins[digit_of(entry)];
    uint32_t before = 0;
    for (uint32_t& begin : begins) before += std::exchange(begin, before);
    for (const Entry& entry : sorted_) other_[begins[digit_of(entry)]++] = entry;
    sorted_.swap(other_);
  }
  return sorted_;
}

// Makes notes_ from entries that are sorted by address. Returns false if some of them contradict
// each other.
bool BlockNotes::Join(const std::vector<Entry>& sorted) {
  notes_.clear();
  for (auto entry = sorted.begin(); entry != sorted.end();) {
    BlockNote note{.address = entry->address};
    for (; entry != sorted.end() && entry->address == note.address; ++entry) {
      if (!Apply(*entry, &note)) return false;
    }
    if ((note.taken | note.size) != 0) notes_.push_back(note);
  }
  return true;
}

void BlockNotes::DeliverAll(const Place& place) {
  if (Join(Sorted())) {
    place(notes_);
  } else {
    DeliverInOrder(place);
  }
  entries_.clear();
}

void BlockNotes::DeliverInOrder(const Place& place) {
  absl::flat_hash_map<uint64_t, BlockNote> known;
  const auto place_known = [&] {
    notes_.clear();
    for (const auto& [address, note] : known) {
      if ((note.taken | note.size) != 0) notes_.push_back(note);
    }
    known.clear();
    std::sort(notes_.begin(), notes_.end(),
              [](const BlockNote& a, const BlockNote& b) { return a.address < b.address; });
    place(notes_);
  };
  for (const Entry& entry : entries_) {
    BlockNote& note = known[entry.address];
    note.address = entry.address;
    if (Apply(entry, &note)) continue;
    place_known();
    BlockNote alone{.address = entry.address};
    static_cast<void>(Apply(entry, &alone));
    place({alone});
  }
  place_known();
}

}  // namespace vramstow
