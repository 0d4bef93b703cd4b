// DriverMemory: live memory that the driver gave, by where it is found: by address, among arrays,
// registered host memory and imports, or by handle.
//
// Ownership: copies. Threads: one at a time. Errors: kNowhere for what is not known. Units: bytes.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_DRIVER_MEMORY_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_DRIVER_MEMORY_H_

#include <cstdint>

#include "tools/analysis/accounts/live_blocks.h"
#include "tools/analysis/accounts/physical_memory.h"

namespace vramstow {

// Where a block is kept.
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

  // Where memory of this kind is kept, if it has no handle and was not imported.
  static BlockPlace PlaceOf(MemoryKind memory);
  // For all places but kNowhere and kPhysical.
  LiveBlocks& At(BlockPlace place);
  // Takes the block away from where it is.
  BlockPlace Take(uint64_t address, MemoryKind memory, LiveBlock* block);

  const BlockTable& addresses() const { return addresses_.table(); }
  PhysicalMemory& physical() { return physical_; }

  // Visits the blocks that the process itself made.
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
