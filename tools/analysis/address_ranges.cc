#include "tools/analysis/address_ranges.h"

#include <algorithm>

namespace vramstow {
namespace {

uint64_t SizeOfRange(const std::pair<const uint64_t, uint64_t>& range) { return range.second; }
uint64_t SizeOfMapping(const std::pair<const uint64_t, Mapping>& mapping) {
  return mapping.second.size;
}

// Whether [address, address + size) is a range at all. The trace may come from a stranger.
bool IsRange(uint64_t address, uint64_t size) { return size != 0 && address + size > address; }

}  // namespace

template <typename Tree, typename SizeOf>
typename Tree::iterator AddressRanges::FirstEndingAfter(Tree* tree, uint64_t address,
                                                        SizeOf size_of) {
  auto place = tree->upper_bound(address);
  if (place != tree->begin()) {
    auto before = std::prev(place);
    if (before->first + size_of(*before) > address) return before;
  }
  return place;
}

bool AddressRanges::Reserve(uint64_t address, uint64_t size) {
  if (!IsRange(address, size)) return false;
  const uint64_t end = address + size;
  // Ranges that overlap were given back, or this could not be: it was not seen.
  for (auto range = FirstEndingAfter(&ranges_, address, SizeOfRange);
       range != ranges_.end() && range->first < end;
       range = FirstEndingAfter(&ranges_, address, SizeOfRange)) {
    Unreserve(range->first);
  }
  ranges_[address] = size;
  ever_reserved_ = true;
  reserved_bytes_ += size;
  highest_reserved_bytes_ = std::max(highest_reserved_bytes_, reserved_bytes_);
  AddHole(address, size);
  for (auto mapping = FirstEndingAfter(&mappings_, address, SizeOfMapping);
       mapping != mappings_.end() && mapping->first < end; ++mapping) {
    CutHoles(mapping->first, mapping->first + mapping->second.size);
  }
  return true;
}

uint64_t AddressRanges::Unreserve(uint64_t address) {
  auto range = ranges_.find(address);
  if (range == ranges_.end()) return 0;
  const uint64_t size = range->second;
  ranges_.erase(range);
  reserved_bytes_ -= size;
  // Holes lie whole in one range.
  for (auto hole = holes_.lower_bound(address);
       hole != holes_.end() && hole->first < address + size; hole = holes_.lower_bound(address)) {
    RemoveHole(hole);
  }
  return size;
}

bool AddressRanges::Grow(uint64_t address, uint64_t size) {
  if (!Reserve(address, size)) return false;
  uint64_t from = address;
  uint64_t to = address + size;
  auto range = ranges_.find(address);
  if (range != ranges_.begin()) {
    const auto before = std::prev(range);
    if (before->first + before->second == address) {
      from = before->first;
      ranges_.erase(address);
      ranges_[from] = to - from;
    }
  }
  const auto after = ranges_.find(to);
  if (after != ranges_.end()) {
    to += after->second;
    ranges_.erase(after);
    ranges_[from] = to - from;
  }
  if (from == address && to == address + size) return true;
  const auto hole = holes_.find(address);
  if (hole == holes_.end()) return true;
  const uint64_t hole_size = hole->second;
  RemoveHole(hole);
  JoinHole(address, address + hole_size, from, to);
  return true;
}

void AddressRanges::Shrink(uint64_t address, uint64_t size) {
  if (!IsRange(address, size)) return;
  const uint64_t end = address + size;
  for (auto range = FirstEndingAfter(&ranges_, address, SizeOfRange);
       range != ranges_.end() && range->first < end;
       range = FirstEndingAfter(&ranges_, address, SizeOfRange)) {
    const uint64_t from = range->first;
    const uint64_t to = from + range->second;
    ranges_.erase(range);
    reserved_bytes_ -= std::min(end, to) - std::max(address, from);
    if (from < address) ranges_[from] = address - from;
    if (to > end) ranges_[end] = to - end;
  }
  CutHoles(address, end);
}

std::vector<AddressRanges::Hole> AddressRanges::LargestHoles(size_t most) const {
  std::vector<Hole> largest;
  uint64_t smallest = 0;
  size_t left = most;
  for (auto size = hole_sizes_.rbegin(); size != hole_sizes_.rend() && left > 0; ++size) {
    smallest = size->first;
    left -= std::min<uint64_t>(left, size->second.count);
  }
  for (const auto& [address, size] : holes_) {
    if (size < smallest) continue;
    Hole hole = {.address = address, .size = size, .before = {}, .after = {}};
    auto next = mappings_.lower_bound(address);
    if (next != mappings_.end() && next->first == address + size) hole.after = next->second;
    if (next != mappings_.begin()) {
      const Mapping& before = std::prev(next)->second;
      if (before.address + before.size == address) hole.before = before;
    }
    largest.push_back(hole);
  }
  std::stable_sort(largest.begin(), largest.end(),
                   [](const Hole& a, const Hole& b) { return a.size > b.size; });
  if (largest.size() > most) largest.resize(most);
  return largest;
}

bool AddressRanges::Map(const Mapping& mapping) {
  if (!IsRange(mapping.address, mapping.size)) return false;
  mappings_[mapping.address] = mapping;
  mapped_bytes_ += mapping.size;
  highest_mapped_bytes_ = std::max(highest_mapped_bytes_, mapped_bytes_);
  CutHoles(mapping.address, mapping.address + mapping.size);
  return true;
}

Mapping AddressRanges::TakeMapping(absl::btree_map<uint64_t, Mapping>::iterator* mapping) {
  const Mapping taken = (*mapping)->second;
  *mapping = mappings_.erase(*mapping);
  mapped_bytes_ -= taken.size;
  OpenHoles(taken.address, taken.address + taken.size);
  return taken;
}

std::vector<Mapping> AddressRanges::Unmap(uint64_t address, uint64_t size) {
  std::vector<Mapping> removed;
  if (!IsRange(address, size)) return removed;
  auto mapping = mappings_.lower_bound(address);
  while (mapping != mappings_.end() && mapping->first < address + size) {
    if (mapping->first + mapping->second.size > address + size) break;
    removed.push_back(TakeMapping(&mapping));
  }
  return removed;
}

std::vector<Mapping> AddressRanges::Displace(uint64_t address, uint64_t size) {
  std::vector<Mapping> removed;
  if (!IsRange(address, size)) return removed;
  auto mapping = FirstEndingAfter(&mappings_, address, SizeOfMapping);
  while (mapping != mappings_.end() && mapping->first < address + size) {
    removed.push_back(TakeMapping(&mapping));
  }
  return removed;
}

uint64_t AddressRanges::MemoryAt(uint64_t address) const {
  auto after = mappings_.upper_bound(address);
  if (after == mappings_.begin()) return 0;
  const Mapping& mapping = std::prev(after)->second;
  return address - mapping.address < mapping.size ? mapping.memory : 0;
}

bool AddressRanges::AnyMapped(uint64_t address, uint64_t size) const {
  auto after = mappings_.lower_bound(address);
  if (after != mappings_.end() && after->first - address < size) return true;
  if (after == mappings_.begin()) return false;
  const Mapping& before = std::prev(after)->second;
  return address - before.address < before.size;
}

FreeMemory AddressRanges::Free(uint64_t request, uint64_t elsewhere) const {
  FreeMemory free;
  free.free_bytes = hole_bytes_ + elsewhere;
  free.movable_bytes = whole_bytes_ + elsewhere;
  if (!hole_sizes_.empty()) free.largest_bytes = std::prev(hole_sizes_.end())->first;
  uint64_t usable = 0;
  uint64_t whole_bytes = 0;  // in holes that are large enough
  for (auto size = hole_sizes_.lower_bound(request); size != hole_sizes_.end(); ++size) {
    usable += size->first * size->second.count;
    whole_bytes += size->second.whole_bytes;
  }
  // Smaller holes give their whole units: what they lack together, the device has to give.
  usable += free.movable_bytes - whole_bytes;
  free.unusable_bytes = free.free_bytes - usable;
  return free;
}

void AddressRanges::MovesUnits(uint64_t unit, uint64_t origin) {
  unit_ = unit;
  origin_ = origin % unit;
  whole_bytes_ = 0;
  for (auto& [size, alike] : hole_sizes_) alike.whole_bytes = 0;
  for (const auto& [address, size] : holes_) {
    const uint64_t whole = WholeIn(address, size);
    whole_bytes_ += whole;
    hole_sizes_[size].whole_bytes += whole;
  }
}

uint64_t AddressRanges::WholeIn(uint64_t address, uint64_t size) const {
  if (size < unit_ || unit_ == 0) return 0;
  const uint64_t into = (address - origin_) % unit_;
  const uint64_t skipped = into == 0 ? 0 : unit_ - into;
  return skipped >= size ? 0 : (size - skipped) / unit_ * unit_;
}

void AddressRanges::AddHole(uint64_t address, uint64_t size) {
  const uint64_t whole = WholeIn(address, size);
  holes_[address] = size;
  Alike& alike = hole_sizes_[size];
  ++alike.count;
  alike.whole_bytes += whole;
  hole_bytes_ += size;
  whole_bytes_ += whole;
}

void AddressRanges::RemoveHole(absl::btree_map<uint64_t, uint64_t>::iterator hole) {
  const uint64_t whole = WholeIn(hole->first, hole->second);
  hole_bytes_ -= hole->second;
  whole_bytes_ -= whole;
  auto alike = hole_sizes_.find(hole->second);
  alike->second.whole_bytes -= whole;
  if (--alike->second.count == 0) hole_sizes_.erase(alike);
  holes_.erase(hole);
}

void AddressRanges::CutHoles(uint64_t address, uint64_t end) {
  auto hole = FirstEndingAfter(&holes_, address, SizeOfRange);
  while (hole != holes_.end() && hole->first < end) {
    const uint64_t hole_from = hole->first;
    const uint64_t hole_to = hole_from + hole->second;
    RemoveHole(hole);
    if (hole_from < address) AddHole(hole_from, address - hole_from);
    if (hole_to > end) AddHole(end, hole_to - end);
    hole = FirstEndingAfter(&holes_, address, SizeOfRange);
  }
}

void AddressRanges::OpenHoles(uint64_t address, uint64_t end) {
  for (auto range = FirstEndingAfter(&ranges_, address, SizeOfRange);
       range != ranges_.end() && range->first < end; ++range) {
    const uint64_t range_to = range->first + range->second;
    JoinHole(std::max(address, range->first), std::min(end, range_to), range->first, range_to);
  }
}

void AddressRanges::JoinHole(uint64_t from, uint64_t to, uint64_t range_from, uint64_t range_to) {
  if (from > range_from) {
    auto after = holes_.lower_bound(from);
    if (after != holes_.begin()) {
      auto before = std::prev(after);
      if (before->first >= range_from && before->first + before->second == from) {
        from = before->first;
        RemoveHole(before);
      }
    }
  }
  if (to < range_to) {
    auto after = holes_.find(to);
    if (after != holes_.end()) {
      to += after->second;
      RemoveHole(after);
    }
  }
  AddHole(from, to - from);
}

}  // namespace vramstow
