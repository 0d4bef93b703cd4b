#include "tools/analysis/accounts/range_set.h"

#include <algorithm>

namespace vramstow {

void RangeSet::Add(uint64_t from, uint64_t to, uint64_t low, uint64_t high) {
  auto next = by_end_.upper_bound(from);  // the first range that ends after `from`
  if (next != by_end_.end() && next->second < to) [[unlikely]] {
    // A part of the range is in the set already.
    Cut(from, to);
    next = by_end_.upper_bound(from);
  }
  auto before = by_end_.end();
  if (from > low && next != by_end_.begin()) {
    before = std::prev(next);
    if (before->first != from || before->second < low) before = by_end_.end();
  }
  const bool joins_next = to < high && next != by_end_.end() && next->second == to;
  const uint64_t begin = before != by_end_.end() ? before->second : from;
  if (before != by_end_.end()) Forget(begin, from);
  if (joins_next) {
    Forget(to, next->first);
    Count(begin, next->first);
    next->second = begin;
    if (before != by_end_.end()) by_end_.erase(before);
    return;
  }
  Count(begin, to);
  if (before != by_end_.end()) next = by_end_.erase(before);
  by_end_.insert(next, {to, begin});
}

uint64_t RangeSet::Cut(uint64_t from, uint64_t to) {
  uint64_t cut = 0;
  auto range = by_end_.upper_bound(from);
  while (range != by_end_.end() && range->second < to) {
    const uint64_t begin = range->second;
    const uint64_t end = range->first;
    cut += std::min(end, to) - std::max(begin, from);
    Forget(begin, end);
    if (end > to) {
      Count(to, end);
      range->second = to;
    } else {
      range = by_end_.erase(range);
    }
    if (begin < from) {
      Count(begin, from);
      range = std::next(by_end_.insert(range, {from, begin}));
    }
    if (end > to) break;
  }
  return cut;
}

std::vector<AddressRange> RangeSet::Inside(uint64_t from, uint64_t to) const {
  std::vector<AddressRange> inside;
  for (auto range = by_end_.upper_bound(from); range != by_end_.end() && range->second < to;
       ++range) {
    inside.push_back({std::max(from, range->second), std::min(to, range->first)});
  }
  return inside;
}

std::vector<AddressRange> RangeSet::Outside(uint64_t from, uint64_t to) const {
  std::vector<AddressRange> outside;
  for (const AddressRange& inside : Inside(from, to)) {
    if (inside.from > from) outside.push_back({from, inside.from});
    from = inside.to;
  }
  if (from < to) outside.push_back({from, to});
  return outside;
}

AddressRange RangeSet::Largest() const {
  const uint64_t size = LargestSize();
  for (const auto& [to, from] : by_end_) {
    if (to - from == size) return {from, to};
  }
  return {};
}

uint64_t RangeSet::LargestSize() const {
  if (!sizes_.empty() && std::prev(sizes_.end())->first >= kStep * kSteps) {
    return std::prev(sizes_.end())->first;
  }
  const uint64_t largest = sizes_.empty() ? 0 : std::prev(sizes_.end())->first;
  while (small_end_ > 0 && small_[small_end_ - 1].count == 0) --small_end_;
  return small_end_ > 0 ? std::max(largest, (small_end_ - 1) * kStep) : largest;
}

void RangeSet::MovesUnits(uint64_t unit, uint64_t origin) {
  for (const auto& [to, from] : by_end_) Forget(from, to);
  unit_ = unit;
  origin_ = origin % unit;
  for (const auto& [to, from] : by_end_) Count(from, to);
}

FreeMemory RangeSet::Free(uint64_t request, uint64_t elsewhere) const {
  FreeMemory free;
  free.free_bytes = bytes_ + elsewhere;
  free.movable_bytes = whole_bytes_ + elsewhere;
  free.largest_bytes = LargestSize();
  uint64_t usable = 0;
  uint64_t whole_bytes = 0;  // those in ranges that are large enough
  for (uint64_t i = request / kStep + (request % kStep != 0); i < small_end_; ++i) {
    usable += i * kStep * small_[i].count;
    whole_bytes += small_[i].whole_bytes;
  }
  for (auto size = sizes_.lower_bound(request); size != sizes_.end(); ++size) {
    usable += size->first * size->second.count;
    whole_bytes += size->second.whole_bytes;
  }
  // Ranges that are smaller than the request contribute only their whole units. The rest of the
  // request must come from the device.
  usable += free.movable_bytes - whole_bytes;
  free.unusable_bytes = free.free_bytes - usable;
  return free;
}

uint64_t RangeSet::WholeIn(uint64_t from, uint64_t to) const {
  const uint64_t size = to - from;
  if (size < unit_ || unit_ == 0) return 0;
  const uint64_t into = (from - origin_) % unit_;
  const uint64_t skipped = into == 0 ? 0 : unit_ - into;
  return skipped >= size ? 0 : (size - skipped) / unit_ * unit_;
}

void RangeSet::Count(uint64_t from, uint64_t to) {
  const uint64_t size = to - from;
  if (small_.empty()) small_.resize(kSteps);
  const bool is_small = IsSmall(size);
  if (is_small) small_end_ = std::max<size_t>(small_end_, size / kStep + 1);
  Alike& alike = is_small ? small_[size / kStep] : sizes_[size];
  const uint64_t whole = WholeIn(from, to);
  ++alike.count;
  alike.whole_bytes += whole;
  bytes_ += size;
  whole_bytes_ += whole;
}

void RangeSet::Forget(uint64_t from, uint64_t to) {
  const uint64_t size = to - from;
  const uint64_t whole = WholeIn(from, to);
  bytes_ -= size;
  whole_bytes_ -= whole;
  if (IsSmall(size)) {
    --small_[size / kStep].count;
    small_[size / kStep].whole_bytes -= whole;
    return;
  }
  const auto alike = sizes_.find(size);
  alike->second.whole_bytes -= whole;
  if (--alike->second.count == 0) sizes_.erase(alike);
}

}  // namespace vramstow
