// Uncomputed ranges: device memory whose bytes a kernel should have computed, and did not.
//
// Idea: a simulated card computes what is cheap enough. What is derived from a result that is not
// computed need not be computed either, and a program that reads it can be told which kernel is
// missing.
// Marks stay at an address until something is written there. Memory that a kernel should have
// changed in place still has its old values: weights whose step was left out are those of an
// earlier step. Results of such values are not right either, but more like it than those of zeros,
// and therefore worth computing.
//
// Ownership: names belong to the caller and live as long as the process. Threads: the owner's lock.
// Errors: none. Units: bytes.
#ifndef VRAMSTOW_SIMULATOR_DEVICE_UNCOMPUTED_RANGES_H_
#define VRAMSTOW_SIMULATOR_DEVICE_UNCOMPUTED_RANGES_H_

#include <cstdint>
#include <map>
#include <utility>

namespace vramstow::simulator {

class UncomputedRanges {
 public:
  bool empty() const { return ranges_.empty(); }

  // [address, address + bytes) is not what it should be, because of `by`. `is_old`: it has old
  // values, or what follows from them.
  void Mark(uint64_t address, uint64_t bytes, const char* by, bool is_old = false);
  // It is what it should be.
  void Clear(uint64_t address, uint64_t bytes);
  // The kernel that did not compute a byte of it, the lowest; null: all of it is as it should be.
  const char* Find(uint64_t address, uint64_t bytes) const;
  // The same of bytes that have no old values either.
  const char* FindLost(uint64_t address, uint64_t bytes) const;
  // The bytes at `from` are at `to` as well now. The ranges may overlap.
  void Copy(uint64_t to, uint64_t from, uint64_t bytes) { CopyOf(*this, to, from, bytes); }
  // The same of bytes that another table knows.
  void CopyOf(const UncomputedRanges& other, uint64_t to, uint64_t from, uint64_t bytes);

  // The host has read what `by` did not compute; how often that happened, by name.
  void NoteRead(const char* by) {
    ++reads_[by];
    last_read_ = by;
  }
  const std::map<const char*, uint64_t>& reads() const { return reads_; }
  // Who did not compute what was read last, since this was asked before; null: nothing was read.
  const char* TakeLastRead() { return std::exchange(last_read_, nullptr); }

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
