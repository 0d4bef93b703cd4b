// PhysicalMemory: the physical memory that a process created with cuMemCreate or imported, by
// handle.
//
// Idea: memory lives while something refers to it: its creator, who has one reference and may
// acquire more (cuMemRetainAllocationHandle), or a mapping. A handle without references may stay
// mapped, and the driver may reuse its value for new memory; hence this class gives each memory a
// number of its own.
//
// Ownership: keeps its own copies. Threads: used by one thread at a time. Errors: unknown memory
// gives kUnknownMemory and has no effect. Units: bytes.
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

// The effect of a change: the memory that changed, and its state before the change if the change
// ended its life.
struct PhysicalChange {
  uint64_t memory = kUnknownMemory;
  bool died = false;
  LiveBlock block;
};

class PhysicalMemory {
 public:
  // Adds new memory under the handle block.address, with one reference. If the handle is in use,
  // the release of its earlier memory was not seen. If that release ends the life of the earlier
  // memory, the result names that memory.
  PhysicalChange Create(const LiveBlock& block);
  // Adds a reference. `memory` is the number of the memory that is mapped at the queried address.
  // If it is kUnknownMemory, the handle identifies the memory. Returns false if the memory cannot
  // be identified.
  bool Retain(uint64_t handle, uint64_t memory);
  // Removes a reference of the handle.
  PhysicalChange Release(uint64_t handle);
  // Map adds a mapping, Unmap removes one.
  uint64_t Map(uint64_t handle);
  PhysicalChange Unmap(uint64_t memory);

  // UndoRelease undoes Release, and UndoUnmap undoes Unmap. They return true if the memory had died
  // and is live again, with the state that is in the change.
  bool UndoRelease(const PhysicalChange& change, uint64_t handle);
  bool UndoUnmap(const PhysicalChange& change);
  // Returns the block of the memory with this number, or null. The pointer is valid until the next
  // change.
  LiveBlock* Find(uint64_t memory);
  // Replaces the block that is stored for the memory with this number.
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
