#include "tools/analysis/accounts/address_ranges.h"

#include <algorithm>

namespace vramstow {
namespace {

uint64_t SizeOfRange(const std::pair<const uint64_t, uint64_t>& range) { return range.second; }
uint64_t SizeOfMapping(const std::pair<const uint64_t, Mapping>& mapping) {
  return mapping.second.size;
}

}  // namespace

bool AddressRanges::Reserve(uint64_t address, uint64_t size) {
  if (!IsRange(address, size)) return false;
  const uint64_t end = address + size;
  // If existing ranges overlap, their release was not seen: the driver would have refused this
  // reservation otherwise.
  for (auto range = FirstEndingAfter(&ranges_, address, SizeOfRange);
       range != ranges_.end() && range->first < end;
       range = FirstEndingAfter(&ranges_, address, SizeOfRange)) {
    Unreserve(range->first);
  }
  ranges_[address] = size;
  ever_reserved_ = true;
  reserved_bytes_ += size;
  highest_reserved_bytes_ = std::max(highest_reserved_bytes_, reserved_bytes_);
  holes_.Add(address, end, address, end);
  for (auto mapping = FirstEndingAfter(&mappings_, address, SizeOfMapping);
       mapping != mappings_.end() && mapping->first < end; ++mapping) {
    holes_.Cut(mapping->first, mapping->first + mapping->second.size);
  }
  return true;
}

uint64_t AddressRanges::Unreserve(uint64_t address) {
  auto range = ranges_.find(address);
  if (range == ranges_.end()) return 0;
  const uint64_t size = range->second;
  ranges_.erase(range);
  reserved_bytes_ -= size;
  holes_.Cut(address, address + size);
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
  // Joins the holes at the edges of the new range with the neighbouring holes.
  for (const AddressRange& hole : holes_.Inside(address, address + size)) {
    holes_.Cut(hole.from, hole.to);
    holes_.Add(hole.from, hole.to, from, to);
  }
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
  holes_.Cut(address, end);
}

std::vector<AddressRange> AddressRanges::Used(uint64_t address, uint64_t size) const {
  std::vector<AddressRange> used;
  const uint64_t end = address + size;
  for (auto range = FirstEndingAfter(&ranges_, address, SizeOfRange);
       range != ranges_.end() && range->first < end; ++range) {
    const uint64_t from = std::max(address, range->first);
    const uint64_t to = std::min(end, range->first + range->second);
    const std::vector<AddressRange> in_range = holes_.Outside(from, to);
    used.insert(used.end(), in_range.begin(), in_range.end());
  }
  return used;
}

std::vector<AddressRange> AddressRanges::Unknown(uint64_t address, uint64_t size) const {
  std::vector<AddressRange> unknown;
  const uint64_t end = address + size;
  uint64_t known_to = address;
  for (auto range = FirstEndingAfter(&ranges_, address, SizeOfRange);
       range != ranges_.end() && range->first < end; ++range) {
    if (range->first > known_to) unknown.push_back({known_to, range->first});
    known_to = range->first + range->second;
  }
  if (known_to < end) unknown.push_back({known_to, end});
  return unknown;
}

bool AddressRanges::Map(const Mapping& mapping) {
  if (!IsRange(mapping.address, mapping.size)) return false;
  mappings_[mapping.address] = mapping;
  mapped_bytes_ += mapping.size;
  highest_mapped_bytes_ = std::max(highest_mapped_bytes_, mapped_bytes_);
  holes_.Cut(mapping.address, mapping.address + mapping.size);
  return true;
}

Mapping AddressRanges::RemoveMapping(absl::btree_map<uint64_t, Mapping>::iterator* mapping) {
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
    removed.push_back(RemoveMapping(&mapping));
  }
  return removed;
}

std::vector<Mapping> AddressRanges::Displace(uint64_t address, uint64_t size) {
  std::vector<Mapping> removed;
  if (!IsRange(address, size)) return removed;
  auto mapping = FirstEndingAfter(&mappings_, address, SizeOfMapping);
  while (mapping != mappings_.end() && mapping->first < address + size) {
    removed.push_back(RemoveMapping(&mapping));
  }
  return removed;
}

uint64_t AddressRanges::MemoryAt(uint64_t address) const {
  auto after = mappings_.upper_bound(address);
  if (after == mappings_.begin()) return 0;
  const Mapping& mapping = std::prev(after)->second;
  return address - mapping.address < mapping.size ? mapping.memory : 0;
}

void AddressRanges::OpenHoles(uint64_t address, uint64_t end) {
  for (auto range = FirstEndingAfter(&ranges_, address, SizeOfRange);
       range != ranges_.end() && range->first < end; ++range) {
    const uint64_t range_to = range->first + range->second;
    holes_.Add(std::max(address, range->first), std::min(end, range_to), range->first, range_to);
  }
}

}  // namespace vramstow
