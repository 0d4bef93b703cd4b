#include "tools/formats/mapped_ranges.h"

#include <algorithm>
#include <iterator>

namespace vramstow {
namespace {

uint64_t EndOf(uint64_t address, uint64_t size) {
  return size > ~uint64_t{0} - address ? ~uint64_t{0} : address + size;
}

}  // namespace

void MappedRanges::Add(uint64_t address, uint64_t size) {
  if (size == 0) return;
  uint64_t end = EndOf(address, size);
  auto place = ranges_.upper_bound(address);
  if (place != ranges_.begin() && std::prev(place)->second >= address) --place;
  while (place != ranges_.end() && place->first <= end) {
    address = std::min(address, place->first);
    end = std::max(end, place->second);
    place = ranges_.erase(place);
  }
  ranges_.emplace(address, end);
}

bool MappedRanges::Remove(uint64_t address, uint64_t size) {
  const uint64_t end = EndOf(address, size);
  uint64_t removed = 0;
  auto place = ranges_.upper_bound(address);
  if (place != ranges_.begin() && std::prev(place)->second > address) --place;
  while (place != ranges_.end() && place->first < end) {
    const auto [from, to] = *place;
    place = ranges_.erase(place);
    removed += std::min(to, end) - std::max(from, address);
    if (from < address) ranges_.emplace(from, address);
    if (to > end) ranges_.emplace(end, to);
  }
  return removed == end - address;
}

}  // namespace vramstow
