// MappedRanges: which addresses are mapped, played backwards or forwards.
//
// Ownership: a value. Threads: one at a time. Errors: Remove says what was not there. Units: bytes.
#ifndef VRAMSTOW_TOOLS_FORMATS_MAPPED_RANGES_H_
#define VRAMSTOW_TOOLS_FORMATS_MAPPED_RANGES_H_

#include <cstdint>
#include <map>

namespace vramstow {

class MappedRanges {
 public:
  // Addresses that are mapped already stay mapped; neighbours join.
  void Add(uint64_t address, uint64_t size);
  // False: some of it was not mapped (the rest is removed all the same).
  bool Remove(uint64_t address, uint64_t size);

  // Start → end, in order, with unmapped addresses between them.
  const std::map<uint64_t, uint64_t>& ranges() const { return ranges_; }

 private:
  std::map<uint64_t, uint64_t> ranges_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_FORMATS_MAPPED_RANGES_H_
