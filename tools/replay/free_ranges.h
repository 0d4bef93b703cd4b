// FreeRanges: free ranges of addresses, joined with their neighbours, found by size or by address.
//
// Ownership: stores numbers only. Threads: used by one thread at a time. Errors: nullopt if nothing
// fits. Units: bytes.
#ifndef VRAMSTOW_TOOLS_REPLAY_FREE_RANGES_H_
#define VRAMSTOW_TOOLS_REPLAY_FREE_RANGES_H_

#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace vramstow {

class FreeRanges {
 public:
  struct Range {
    uint64_t address = 0;
    uint64_t size = 0;
  };

  // Adds a range and joins it with its free neighbours. Returns the joined range. Ranges are not
  // joined at the addresses in `edges`.
  Range Add(uint64_t address, uint64_t size, const std::set<uint64_t>* edges = nullptr) {
    const auto is_edge = [edges](uint64_t at) { return edges != nullptr && edges->contains(at); };
    auto next = by_address_.lower_bound(address);
    if (next != by_address_.end() && address + size == next->first && !is_edge(next->first)) {
      size += next->second;
      next = Erase(next);
    }
    if (next != by_address_.begin()) {
      const auto before = std::prev(next);
      if (before->first + before->second == address && !is_edge(address)) {
        address = before->first;
        size += before->second;
        Erase(before);
      }
    }
    by_address_[address] = size;
    by_size_.insert({size, address});
    return {address, size};
  }

  // Returns the smallest range of at least `size` bytes. Among ranges of equal size it is the one
  // with the lowest address.
  std::optional<Range> BestFit(uint64_t size) const {
    const auto found = by_size_.lower_bound({size, 0});
    if (found == by_size_.end()) return std::nullopt;
    return Range{found->second, found->first};
  }
  // Returns the range with the lowest address among those of at least `size` bytes.
  std::optional<Range> FirstFit(uint64_t size) const {
    if (by_size_.empty() || by_size_.rbegin()->first < size) return std::nullopt;
    for (const auto& [address, length] : by_address_) {
      if (length >= size) return Range{address, length};
    }
    return std::nullopt;
  }

  // Removes the first `size` bytes of a range.
  void Take(const Range& run, uint64_t size) {
    Erase(by_address_.find(run.address));
    if (size == run.size) return;
    by_address_[run.address + size] = run.size - size;
    by_size_.insert({run.size - size, run.address + size});
  }

  const std::map<uint64_t, uint64_t>& runs() const { return by_address_; }
  void Clear() {
    by_address_.clear();
    by_size_.clear();
  }

 private:
  using Place = std::map<uint64_t, uint64_t>::iterator;
  Place Erase(Place place) {
    by_size_.erase({place->second, place->first});
    return by_address_.erase(place);
  }

  std::map<uint64_t, uint64_t> by_address_;          // address → size
  std::set<std::pair<uint64_t, uint64_t>> by_size_;  // size, address
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_REPLAY_FREE_RANGES_H_
