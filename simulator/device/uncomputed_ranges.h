// Tracks uncomputed ranges: device memory whose bytes a kernel should have computed, and did not.
//
// Idea: a simulated GPU computes what is cheap enough. A value derived from an uncomputed result
// need not be computed either, and a message can name the missing kernel if a program reads that
// value. An entry of the table, called a mark, stays at an address until a new value is written
// there. Memory that a kernel should have changed in place still has its old values: if an update
// of weights was left out, the memory has the weights of an earlier step. Results of such values
// are not right either, but closer to right than results of zeros, and therefore worth computing.
//
// Ownership: kernel names belong to the caller and live as long as the process. Threads: the caller
// holds the driver's lock. Errors: none. Units: bytes.
#ifndef VRAMSTOW_SIMULATOR_DEVICE_UNCOMPUTED_RANGES_H_
#define VRAMSTOW_SIMULATOR_DEVICE_UNCOMPUTED_RANGES_H_

#include <cstdint>
#include <map>
#include <utility>

namespace vramstow::simulator {

class UncomputedRanges {
 public:
  bool empty() const { return ranges_.empty(); }

  // Marks [address, address + bytes) as wrong because kernel `by` was not computed. With `is_old`
  // the memory has old values, or values derived from old ones.
  void Mark(uint64_t address, uint64_t bytes, const char* by, bool is_old = false);
  // Removes the marks (of uncomputed bytes) from the range.
  void Clear(uint64_t address, uint64_t bytes);
  // Returns the kernel that should have computed the lowest uncomputed byte in the range, or null
  // if the range has no such byte.
  const char* Find(uint64_t address, uint64_t bytes) const;
  // Returns the kernel that should have computed the lowest uncomputed byte in the range, and
  // ignores bytes that have old values. Returns null if there is none.
  const char* FindLost(uint64_t address, uint64_t bytes) const;
  // Copies the marks of uncomputed bytes from the range at `from` to the range at `to`. The ranges
  // may overlap.
  void Copy(uint64_t to, uint64_t from, uint64_t bytes) { CopyOf(*this, to, from, bytes); }
  // Copies the marks of uncomputed bytes from the range at `from` in table `other` to the range at
  // `to` in this table.
  void CopyOf(const UncomputedRanges& other, uint64_t to, uint64_t from, uint64_t bytes);

  // Records that the host has read bytes that kernel `by` did not compute; reads are counted by
  // kernel.
  void NoteRead(const char* by) {
    ++reads_[by];
    last_read_ = by;
  }
  const std::map<const char*, uint64_t>& reads() const { return reads_; }
  // Returns the kernel whose missing result was read last, or null if none was read since the
  // previous call of this function.
  const char* PopLastRead() { return std::exchange(last_read_, nullptr); }

 private:
  struct Range {
    uint64_t end = 0;
    const char* by = nullptr;
    bool is_old = false;

    bool IsLike(const Range& other) const { return by == other.by && is_old == other.is_old; }
  };
  std::map<uint64_t, Range> ranges_;  // by first byte; they do not overlap
  std::map<const char*, uint64_t> reads_;
  const char* last_read_ = nullptr;
};

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DEVICE_UNCOMPUTED_RANGES_H_
