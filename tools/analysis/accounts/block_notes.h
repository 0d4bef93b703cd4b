// BlockNotes: which blocks came and went at which addresses since somebody last looked.
//
// Idea: a table with linear probing, half full at the most and small enough for a processor's
// cache, into a list. It is emptied by counting up: slots of an earlier round are free ones.
//
// Ownership: copies. Threads: one at a time. Errors: none. Units: bytes, addresses.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_BLOCK_NOTES_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_BLOCK_NOTES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace vramstow {

// At one address. Both are 0 where all is as it was.
struct BlockNote {
  uint64_t address = 0;
  uint64_t taken = 0;  // the size of the block that was there and went; 0: none did
  uint64_t size = 0;   // of the block that came; 0: none did
};

class BlockNotes {
 public:
  static constexpr size_t kMost = 16384;

  // The note of an address; there is one from now on. Not to be called when they are full. Valid
  // until the next call.
  BlockNote& At(uint64_t address);
  bool full() const { return notes_.size() == kMost; }
  bool empty() const { return notes_.empty(); }
  // Those that say something, in order of address; there is none any more. Valid until the next
  // TakeAll.
  const std::vector<BlockNote>& TakeAll();

 private:
  struct Slot {
    uint32_t round = 0;
    uint32_t note = 0;
  };

  std::vector<Slot> slots_;
  std::vector<BlockNote> notes_;
  std::vector<BlockNote> taken_;
  uint64_t seed_ = 0;
  uint32_t round_ = 1;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_BLOCK_NOTES_H_
