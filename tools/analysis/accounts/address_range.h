// AddressRange: a range of addresses, and the look-ups in maps whose keys are the beginnings of
// ranges.
//
// Ownership: plain values. Threads: plain values without synchronisation. Errors: none. Units:
// addresses, bytes.
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

// True if [address, address + size) is neither empty nor beyond the address space. The trace is
// untrusted, so this has to be checked.
inline bool IsRange(uint64_t address, uint64_t size) {
  return size != 0 && address + size > address;
}

// Returns the first element of `tree` that ends after `address`. The keys are addresses, and
// `size_of` returns the size of an element.
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
