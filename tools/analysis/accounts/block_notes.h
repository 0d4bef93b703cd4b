// BlockNotes: which blocks came and went at which addresses since somebody last looked.
//
// Idea: to write at the end of a list waits for no memory, where a table among millions of blocks
// does. A caller gets the list in order of address, and of each address only what is different from
// before.
//
// Ownership: copies. Threads: one at a time. Errors: none. Units: bytes, addresses.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_BLOCK_NOTES_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_BLOCK_NOTES_H_

#include <cstddef>
#include <cstdint>
#include <functional>
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
  static constexpr size_t kMax = size_t{1} << 17;
  // Larger ones have no note.
  static constexpr uint64_t kMaxBytes = ~uint64_t{0} >> 1;

  // A block of `size` bytes, at least one, came to an address, or went from there. Not to be called
  // when the notes are full.
  void Came(uint64_t address, uint64_t size) { entries_.push_back({address, size << 1 | 1}); }
  void Went(uint64_t address, uint64_t size) { entries_.push_back({address, size << 1}); }
  bool full() const { return entries_.size() >= kMax; }
  bool empty() const { return entries_.empty(); }

  // Hands all notes over, in order of address; there is none any more. Where one contradicts those
  // before it (two blocks came to one address, or another block went than had come), it is handed
  // over by itself, after those before it.
  using Place = std::function<void(const std::vector<BlockNote>&)>;
  void TakeAll(const Place& place);

 private:
  struct Entry {
    uint64_t address = 0;
    uint64_t size_and_came = 0;
  };

  static bool Apply(const Entry& entry, BlockNote* note);
  const std::vector<Entry>& Sorted();
  bool Join(const std::vector<Entry>& sorted);
  void TakeInOrder(const Place& place);

  std::vector<Entry> entries_;  // in the order in which they came
  std::vector<Entry> sorted_;
  std::vector<Entry> other_;  // for the sort
  std::vector<BlockNote> notes_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_BLOCK_NOTES_H_
