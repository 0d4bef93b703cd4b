// MappedRanges tracks which addresses are mapped while events are applied forwards or backwards.
//
// Ownership: a value. Threads: one at a time. Errors: Remove returns false if some addresses were
// not mapped. Units: bytes.
#ifndef VRAMSTOW_TOOLS_FORMATS_MAPPED_RANGES_H_
#define VRAMSTOW_TOOLS_FORMATS_MAPPED_RANGES_H_

#include <cstdint>
#include <map>

namespace vramstow {

class MappedRanges {
 public:
  // Adds a range. Addresses that are mapped already stay mapped, and adjacent ranges are merged.
  void Add(uint64_t address, uint64_t size);
  // Removes a range. Returns false if some of it was not mapped (the rest is removed anyway).
  bool Remove(uint64_t address, uint64_t size);

  // Maps the start of each range to its end, in order of address. There are unmapped addresses
  // between any two ranges.
  const std::map<uint64_t, uint64_t>& ranges() const { return ranges_; }

 private:
  std::map<uint64_t, uint64_t> ranges_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_FORMATS_MAPPED_RANGES_H_
