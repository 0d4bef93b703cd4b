// DriverMemory: live memory that the driver gave. It has one table for each way to find a block: by
// address (with separate tables for arrays, registered host memory and imports), or by handle.
//
// Ownership: keeps its own copies. Threads: used by one thread at a time. Errors: returns kNowhere
// for unknown memory. Units: bytes.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_DRIVER_MEMORY_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_DRIVER_MEMORY_H_

#include <cstdint>

#include "tools/analysis/accounts/live_blocks.h"
#include "tools/analysis/accounts/physical_memory.h"

namespace vramstow {

// The table that holds a block.
enum class BlockPlace : uint8_t {
  kNowhere,
  kAddresses,
  kArrays,
  kRegistered,
  kImports,
  kPhysical,
};

class DriverMemory {
 public:
  DriverMemory(Accounts* accounts, FreeSpace* space)
      : addresses_(accounts, space),
        arrays_(accounts, space),
        registered_(accounts, space),
        imports_(accounts, space) {}

  // Returns the table for memory of this kind that has no handle and was not imported.
  static BlockPlace PlaceOf(MemoryKind memory);
  // Returns the table; `place` must be neither kNowhere nor kPhysical.
  LiveBlocks& At(BlockPlace place);
  // Removes the block from its table and stores it in *block. Returns which table held it; kNowhere
  // if no table did.
  BlockPlace Take(uint64_t address, MemoryKind memory, LiveBlock* block);

  const BlockTable& addresses() const { return addresses_.table(); }
  PhysicalMemory& physical() { return physical_; }

  // Visits all blocks but those that were imported from other processes.
  template <typename Visit>  // void(const LiveBlock&)
  void ForEach(Visit visit) const {
    for (const LiveBlocks* blocks : {&addresses_, &arrays_, &registered_}) {
      blocks->table().ForEach(visit);
    }
  }
  template <typename Visit>
  void ForEachPhysical(Visit visit) const {
    physical_.ForEach([&visit](const LiveBlock& block) {
      if (!block.imported) visit(block);
    });
  }

 private:
  LiveBlocks addresses_;
  LiveBlocks arrays_;
  LiveBlocks registered_;
  LiveBlocks imports_;
  PhysicalMemory physical_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_DRIVER_MEMORY_H_
