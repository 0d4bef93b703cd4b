// PhysicalMemory: the physical memory that a process made with cuMemCreate (or imported), by
// handle.
//
// Idea: memory lives while somebody holds it: its creator, who has one reference and may take more
// (cuMemRetainAllocationHandle), or a mapping. A handle whose references are gone may stay mapped,
// and its number may then mean new memory; hence each memory has a number of its own here.
//
// Ownership: copies. Threads: one at a time. Errors: what is not known gives kUnknownMemory and has
// no effect. Units: bytes.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_PHYSICAL_MEMORY_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_PHYSICAL_MEMORY_H_

#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "tools/analysis/accounts/live_block.h"

namespace vramstow {

inline constexpr uint64_t kUnknownMemory = 0;

struct PhysicalObject {
  LiveBlock block;  // address: the handle
  uint64_t references = 0;
  uint64_t mappings = 0;
};

// The effect of a change: which memory, and its state before if it died of the change.
struct PhysicalChange {
  uint64_t memory = kUnknownMemory;
  bool died = false;
  LiveBlock block;
};

class PhysicalMemory {
 public:
  // New memory under the handle block.address, with one reference. Where the handle was known, the
  // release of what it meant before was not seen; the result says what died of that.
  PhysicalChange Create(const LiveBlock& block);
  // One more reference. `memory` is what the address that was asked about maps, kUnknownMemory
  // where that is not known: then the handle says which. False: neither is known.
  bool Retain(uint64_t handle, uint64_t memory);
  // One reference less.
  PhysicalChange Release(uint64_t handle);
  // One mapping more, or less.
  uint64_t Map(uint64_t handle);
  PhysicalChange Unmap(uint64_t memory);

  // Undo Release and Unmap. True: `block` had died and lives again; it is kept as given.
  bool UndoRelease(const PhysicalChange& change, uint64_t handle);
  bool UndoUnmap(const PhysicalChange& change);
  // The memory of this number, or null. Valid until the next change.
  LiveBlock* Find(uint64_t memory);
  // Keeps `block` in place of what is known of the memory.
  void Replace(uint64_t memory, const LiveBlock& block);

  template <typename Visit>  // void(const LiveBlock&)
  void ForEach(Visit visit) const {
    for (const auto& [memory, object] : objects_) visit(object.block);
  }

 private:
  PhysicalChange DropIfUnheld(uint64_t memory);
  bool Revive(const PhysicalChange& change);

  absl::flat_hash_map<uint64_t, uint64_t> handles_;  // → memory; only those with references
  absl::flat_hash_map<uint64_t, PhysicalObject> objects_;
  uint64_t last_memory_ = kUnknownMemory;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_PHYSICAL_MEMORY_H_
