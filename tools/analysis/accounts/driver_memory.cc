#include "tools/analysis/accounts/driver_memory.h"

namespace vramstow {

BlockPlace DriverMemory::PlaceOf(MemoryKind memory) {
  switch (memory) {
    case MemoryKind::kArray:
    case MemoryKind::kMipmappedArray:
      return BlockPlace::kArrays;
    case MemoryKind::kHostRegistered:
      return BlockPlace::kRegistered;
    default:
      return BlockPlace::kAddresses;
  }
}

LiveBlocks& DriverMemory::At(BlockPlace place) {
  switch (place) {
    case BlockPlace::kArrays:
      return arrays_;
    case BlockPlace::kRegistered:
      return registered_;
    case BlockPlace::kImports:
      return imports_;
    default:
      return addresses_;
  }
}

BlockPlace DriverMemory::Take(uint64_t address, MemoryKind memory, LiveBlock* block) {
  // The call that frees memory of this process also ends an import by cuMemPoolImportPointer, so
  // both tables are searched.
  for (BlockPlace place : {PlaceOf(memory), BlockPlace::kImports}) {
    if (At(place).table().Take(address, block)) return place;
  }
  return BlockPlace::kNowhere;
}

}  // namespace vramstow
