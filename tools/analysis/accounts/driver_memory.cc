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
  // Imports are looked up last, because one function closes imported memory and also frees memory
  // of the own process, which is more likely.
  for (BlockPlace place : {PlaceOf(memory), BlockPlace::kImports}) {
    if (At(place).table().Take(address, block)) return place;
  }
  return BlockPlace::kNowhere;
}

}  // namespace vramstow
