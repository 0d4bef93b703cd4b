// BlockNotes: a list of blocks, by address, that were allocated and freed since the list was last
// emptied.
// Idea: appending to a list does not wait for memory, while updating a table of millions of blocks
// does. The caller gets the list in order of address. For each address the list has only the
// difference between the current state and the state when the list was last emptied.
// Ownership: keeps its own copies. Threads: used by one thread at a time. Errors: none. Units:
// bytes, addresses.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_BLOCK_NOTES_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_BLOCK_NOTES_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace vramstow {

// The change at one address. Both sizes are 0 if there was no change.
struct BlockNote {
  uint64_t address = 0;
  uint64_t taken = 0;  // the size of the block that was freed; 0 if none was
  uint64_t size = 0;   // the size of the block that was allocated; 0 if none was
};

class BlockNotes {
 public:
  static constexpr size_t kMax = size_t{1} << 17;
  // The largest size of a block that can have a note.
  static constexpr uint64_t kMaxBytes = ~uint64_t{0} >> 1;

  // The function Came records that a block of `size` bytes (at least one) was allocated at an
  // address. The function Went records that it was freed. Neither may be called when the list is
  // full.
  void Came(uint64_t address, uint64_t size) { entries_.push_back({address, size << 1 | 1}); }
  void Went(uint64_t address, uint64_t size) { entries_.push_back({address, size << 1}); }
  bool full() const { return entries_.size() >= kMax; }
  bool empty() const { return entries_.empty(); }

  // Passes all notes to `place` in order of address, and empties the list. An entry that
  // contradicts the earlier ones (two allocations at one address, or a free of another size than
  // was allocated) is passed in a later call of `place`.
  using Place = std::function<void(const std::vector<BlockNote>&)>;
  void DeliverAll(const Place& place);

 private:
  struct Entry {
    uint64_t address = 0;
    uint64_t size_and_came = 0;
  };

  static bool Apply(const Entry& entry, BlockNote* note);
  const std::vector<Entry>& Sorted();
  bool Join(const std::vector<Entry>& sorted);
  void DeliverInOrder(const Place& place);

  std::vector<Entry> entries_;  // in order of arrival
  std::vector<Entry> sorted_;
  std::vector<Entry> other_;  // a buffer for sorting
  std::vector<BlockNote> notes_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_BLOCK_NOTES_H_
