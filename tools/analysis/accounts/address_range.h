// AddressRange: from one address to another, and what is asked of maps that have such by where they
// begin.
//
// Ownership: plain values. Threads: values. Errors: none. Units: addresses, bytes.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_ADDRESS_RANGE_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_ADDRESS_RANGE_H_

#include <cstdint>
#include <iterator>

namespace vramstow {

struct AddressRange {
  uint64_t from = 0;
  uint64_t to = 0;
  uint64_t size() const { return to - from; }
};

// Whether [address, address + size) is a range at all. The trace may come from a stranger.
inline bool IsRange(uint64_t address, uint64_t size) {
  return size != 0 && address + size > address;
}

// The first element of a map from address to whatever has a size that ends after `address`.
template <typename Tree, typename SizeOf>
auto FirstEndingAfter(Tree* tree, uint64_t address, SizeOf size_of) {
  auto place = tree->upper_bound(address);
  if (place != tree->begin()) {
    auto before = std::prev(place);
    if (before->first + size_of(*before) > address) return before;
  }
  return place;
}

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_ADDRESS_RANGE_H_
