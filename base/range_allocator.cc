#include "base/range_allocator.h"

#include <iterator>

#include "base/rounding.h"

namespace vramstow {

void RangeAllocator::Add(uint64_t start, uint64_t size) {
  auto next = free_.lower_bound(start);
  if (next != free_.begin()) {
    const auto previous = std::prev(next);
    if (previous->first + previous->second == start) {
      previous->second += size;
      if (next != free_.end() && next->first == start + size) {
        previous->second += next->second;
        free_.erase(next);
      }
      return;
    }
  }
  if (next != free_.end() && next->first == start + size) {
    const uint64_t joined = size + next->second;
    next = free_.erase(next);
    free_.emplace_hint(next, start, joined);
    return;
  }
  free_.emplace_hint(next, start, size);
}

uint64_t RangeAllocator::Take(uint64_t size, uint64_t alignment) {
  for (auto run = free_.begin(); run != free_.end(); ++run) {
    const uint64_t start = AlignUp(run->first, alignment);
    const uint64_t lost = start - run->first;
    if (run->second < lost || run->second - lost < size) continue;
    Carve(run, start, size);
    return start;
  }
  return 0;
}

bool RangeAllocator::AllocateAt(uint64_t start, uint64_t size) {
  auto run = free_.upper_bound(start);
  if (run == free_.begin()) return false;
  --run;
  if (start - run->first > run->second || run->second - (start - run->first) < size) return false;
  Carve(run, start, size);
  return true;
}

void RangeAllocator::Carve(FreeMap::iterator run, uint64_t start, uint64_t size) {
  const uint64_t run_start = run->first;
  const uint64_t run_end = run->first + run->second;
  if (start > run_start) {
    run->second = start - run_start;
    ++run;
  } else {
    run = free_.erase(run);
  }
  if (start + size < run_end) free_.emplace_hint(run, start + size, run_end - start - size);
}

}  // namespace vramstow
