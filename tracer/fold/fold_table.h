// FoldTable stores the blocks that are live while events are folded (replaced by sums), by their
// address.
//
// Idea: open addressing, with a power of two of slots; when an entry is removed, the entries behind
// it move up. Addresses of different FoldSpaces are different keys.
//
// Ownership: its memory, from Start to Stop. Threads: one at a time. Errors: Insert returns false
// if there is no room. No heap. Units: bytes; events by their number within the fold.
#ifndef VRAMSTOW_TRACER_FOLD_FOLD_TABLE_H_
#define VRAMSTOW_TRACER_FOLD_FOLD_TABLE_H_

#include <cstddef>
#include <cstdint>

#include "base/event.h"

namespace vramstow {

// The kind of address by which memory is identified; addresses of different kinds are never
// compared.
enum class FoldSpace : uint8_t {
  kAddresses = 0,  // addresses of the driver
  kArrays = 1,
  kTensors = 2,
  kSegments = 3,  // a pool's segments
  kHandles = 4,   // a pool's physical memory, by handle
  kMappings = 5,  // mappings of a pool's chunks
  kRegistered = 6,
};

struct FoldBlock {
  uint64_t key = 0;  // 0 if empty
  uint64_t size = 0;
  uint64_t requested = 0;
  uint32_t birth = 0;  // the number of the event that made it
  uint32_t site = 0;   // FoldSums::SiteNumber
  uint16_t library = kUnknownName;
  uint16_t call = kUnknownName;
  int16_t device = kNoDevice;
  MemoryKind memory = MemoryKind::kNone;
  bool is_pooled : 1 = false;  // the same as LiveBlock::pooled in the analysis
  bool is_kept : 1 = false;    // all its events are retained
  bool holds : 1 = false;      // contains a framework's blocks
  bool counts : 1 = false;     // counts as a pool's reserved memory
};
static_assert(sizeof(FoldBlock) <= 40);

class FoldTable {
 public:
  static constexpr size_t kMaxSlots = size_t{1} << 19;  // 20 MiB

  // True if the address leaves the top bits of a key free, in which the space is stored. This holds
  // for every address that a device returns.
  static bool CanBeKey(uint64_t address) { return address >> kSpaceShift == 0; }
  static uint64_t KeyOf(FoldSpace space, uint64_t address) {
    return (uint64_t{static_cast<uint8_t>(space)} + 1) << kSpaceShift | address;
  }
  static FoldSpace SpaceOf(const FoldBlock& block) {
    return static_cast<FoldSpace>((block.key >> kSpaceShift) - 1);
  }
  static uint64_t AddressOf(const FoldBlock& block) {
    return block.key & ((uint64_t{1} << kSpaceShift) - 1);
  }

  // Makes the table empty, with room for a few blocks. Returns false if there is no memory.
  bool Start();
  void Stop();

  FoldBlock* Find(uint64_t key);
  // Adds a block whose key is not in the table. Returns false if there is no room.
  bool Insert(const FoldBlock& block);
  // Removes `block`, which must be an entry of the table.
  void Erase(FoldBlock* block);

  size_t slots() const { return slots_; }
  // Returns the block in a slot; its key is 0 if the slot is empty.
  FoldBlock& at(size_t slot) { return blocks_[slot]; }

 private:
  static constexpr unsigned kSpaceShift = 58;
  static constexpr size_t kFirstSlots = 4096;

  static FoldBlock* NewBlocks(size_t slots);
  size_t Home(uint64_t key) const {
    return static_cast<size_t>((key * 0x9E3779B97F4A7C15u) >> shift_);
  }
  bool Grow();

  FoldBlock* blocks_ = nullptr;
  size_t slots_ = 0;
  size_t count_ = 0;
  unsigned shift_ = 0;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_FOLD_FOLD_TABLE_H_
