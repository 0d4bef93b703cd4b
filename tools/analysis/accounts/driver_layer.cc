#include "tools/analysis/accounts/driver_layer.h"

#include "base/typed_event.h"

namespace vramstow {
namespace {

bool IsHandleMemory(MemoryKind memory) {
  return memory == MemoryKind::kPhysical || memory == MemoryKind::kHostPhysical ||
         memory == MemoryKind::kMulticast;
}

// False for bindings to multicast objects and tiles of sparse arrays, which are mappings without an
// address.
bool IsAddressRange(MemoryKind memory) {
  return memory == MemoryKind::kAddressRange || memory == MemoryKind::kNone;
}

// True for memory that is freed when its context is destroyed. Physical memory and memory of pools
// belong to no context.
bool GoesWithContext(MemoryKind memory) {
  switch (memory) {
    case MemoryKind::kDevice:
    case MemoryKind::kDevicePitched:
    case MemoryKind::kArray:
    case MemoryKind::kMipmappedArray:
    case MemoryKind::kManaged:
    case MemoryKind::kHostPinned:
    case MemoryKind::kHostRegistered:
      return true;
    default:
      return false;
  }
}

// True if vramstow's pool served the block from memory that it holds.
bool LiesInPool(const Event& event) {
  if (event.layer != Layer::kDriver || event.memory != MemoryKind::kDevice) return false;
  const Served served = ServedOf(event);
  return served != Served::kUnknown && served != Served::kPlain;
}

}  // namespace

void DriverLayer::Add(const Event& event) {
  if (event.kind == EventKind::kRefused) return refusals_.Add(event);
  if (event.kind == EventKind::kLaunch) return;  // LaunchTally counts it, by its text
  any_ = true;
  accounts_.CountCall(event);
  if (event.result != 0) {
    failures_.Add(event);
  } else {
    Apply(event);
  }
}

void DriverLayer::Apply(const Event& event) {
  switch (event.kind) {
    case EventKind::kAllocate:
      return AddAllocate(event);
    case EventKind::kFree:
    case EventKind::kUnregister:
    case EventKind::kCloseImport:
      return AddFree(event);
    case EventKind::kReserve:
      space_.KeepPeak();
      space_.addresses().Reserve(event.address, event.size);
      return;
    case EventKind::kUnreserve:
      return AddUnreserve(event);
    case EventKind::kMap:
      if (IsAddressRange(event.memory)) AddMap(event);
      return;
    case EventKind::kUnmap:
      if (IsAddressRange(event.memory)) AddUnmap(event);
      return;
    case EventKind::kRetain:
      memory_.physical().Retain(event.object, space_.addresses().MemoryAt(event.address));
      return;
    case EventKind::kRegister:
      return AddRegister(event);
    case EventKind::kImport:
      return AddImport(event);
    case EventKind::kMemoryInfo:
      return looks_.Add(event);
    case EventKind::kContextCreate:
      ++contexts_[event.device];
      // The device is reported even if it is unused.
      if (event.device >= 0) accounts_.levels().Device(event.device);
      return;
    case EventKind::kContextDestroy:
    case EventKind::kDeviceReset:
      return AddContextEnd(event);
    default:
      return;  // only counted; it does not change what is live
  }
}

void DriverLayer::AddAllocate(const Event& event) {
  failures_.NoteServed(event);
  LiveBlock block = accounts_.BlockOf(event);
  block.pooled = LiesInPool(event);
  accounts_.CountAllocation(block);
  if (IsHandleMemory(event.memory)) return AddHandle(event, block);
  memory_.At(DriverMemory::PlaceOf(event.memory)).Add(block, accounts_.Now(event));
  if (block.pooled) segments_.Place(event, block);
  holding_.NoteBlock(event, block);
}

// `block` is physical memory; its address field holds the handle.
void DriverLayer::AddHandle(const Event& event, const LiveBlock& block) {
  const PhysicalChange displaced = memory_.physical().Create(block);
  if (displaced.memory != kUnknownMemory) ++accounts_.counts().frees_missed;
  if (displaced.died) accounts_.End(displaced.block);
  accounts_.levels().Born(block, accounts_.Now(event));
}

void DriverLayer::AddFree(const Event& event) {
  ProvisionalFree* free = frees_.Begin(event, accounts_.events());
  if (IsHandleMemory(event.memory)) {
    ReleaseHandle(event, free);
  } else {
    RemoveBlock(event, free);
  }
  if (event.kind != EventKind::kFree) return;
  // Memory in which a framework's blocks lie does not count as an allocation, so its end does not
  // count as a free.
  if (free->Held()) return;
  accounts_.CountFree(event, free->memory);
  // A free of a null pointer is legal and changes nothing.
  if (free->place == BlockPlace::kNowhere && event.address != 0) {
    ++accounts_.counts().frees_of_unseen;
  }
}

void DriverLayer::ReleaseHandle(const Event& event, ProvisionalFree* free) {
  free->physical = memory_.physical().Release(event.address);
  const bool known = free->physical.memory != kUnknownMemory;
  free->place = known ? BlockPlace::kPhysical : BlockPlace::kNowhere;
  if (free->physical.died) accounts_.End(free->physical.block);
}

void DriverLayer::RemoveBlock(const Event& event, ProvisionalFree* free) {
  const MemoryKind memory =
      event.kind == EventKind::kUnregister ? MemoryKind::kHostRegistered : event.memory;
  free->place = memory_.Take(event.address, memory, &free->block);
  if (free->place == BlockPlace::kNowhere) return;
  accounts_.End(free->block);
  if (free->block.pooled) space_.Clear(free->block);
  free->memory = free->block.memory;
}

void DriverLayer::Lose(uint64_t address, MemoryKind memory) {
  LiveBlock block;
  if (!memory_.At(DriverMemory::PlaceOf(memory)).table().Take(address, &block)) return;
  accounts_.End(block);
  if (block.pooled) space_.Clear(block);
}

void DriverLayer::AddRegister(const Event& event) {
  LiveBlock block = accounts_.BlockOf(event);
  block.memory = MemoryKind::kHostRegistered;
  memory_.At(BlockPlace::kRegistered).Add(block, accounts_.Now(event));
}

void DriverLayer::AddImport(const Event& event) {
  LiveBlock block = accounts_.BlockOf(event);
  block.imported = true;
  if (IsHandleMemory(event.memory)) {
    block.address = event.object != 0 ? event.object : event.address;
    return AddHandle(event, block);
  }
  // An imported memory pool has no address, because no memory is allocated from it yet.
  if (event.address == 0) return;
  memory_.At(BlockPlace::kImports).Add(block, accounts_.Now(event));
}

void DriverLayer::ForgetMapping(const Mapping& mapping, RemovedMapping* removed) {
  removed->mapping = mapping;
  removed->change = memory_.physical().Unmap(mapping.memory);
  if (removed->change.died) accounts_.End(removed->change.block);
}

void DriverLayer::AddMap(const Event& event) {
  space_.KeepPeak();
  RemovedMapping displaced;
  for (const Mapping& mapping : space_.addresses().Displace(event.address, event.size)) {
    ++accounts_.counts().frees_missed;
    ForgetMapping(mapping, &displaced);
  }
  const Mapping mapping = {event.address, event.size, memory_.physical().Map(event.object)};
  if (!space_.addresses().Map(mapping)) return ForgetMapping(mapping, &displaced);
  holding_.NoteMapping(event, mapping.memory);
}

void DriverLayer::AddUnmap(const Event& event) {
  space_.KeepPeak();
  ProvisionalFree* free = frees_.Begin(event, accounts_.events());
  for (const Mapping& mapping : space_.addresses().Unmap(event.address, event.size)) {
    ForgetMapping(mapping, &free->mappings.emplace_back());
  }
}

void DriverLayer::AddUnreserve(const Event& event) {
  space_.KeepPeak();
  ProvisionalFree* free = frees_.Begin(event, accounts_.events());
  free->range_size = space_.addresses().Unreserve(event.address);
}

void DriverLayer::AddContextEnd(const Event& event) {
  if (event.device == kNoDevice) return;
  int64_t& contexts = contexts_[event.device];
  // If the device has several contexts, it is not known to which context each block belongs. It is
  // also not known whether a context that was created before the trace still exists. But a reset
  // destroys the primary context, which is the only context in nearly every process.
  const bool is_reset = event.kind == EventKind::kDeviceReset;
  if (contexts == 0 ? !is_reset : --contexts > 0) return;
  DropContext(event.device);
}

void DriverLayer::DropContext(int16_t device) {
  for (BlockPlace place : {BlockPlace::kAddresses, BlockPlace::kArrays, BlockPlace::kRegistered}) {
    memory_.At(place).table().RemoveIf([this, device](const LiveBlock& block) {
      if (block.device != device || !GoesWithContext(block.memory)) return false;
      accounts_.End(block);
      ++accounts_.counts().freed_with_context;
      return true;
    });
  }
}

}  // namespace vramstow
