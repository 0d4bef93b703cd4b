#include "tools/analysis/accounts/physical_memory.h"

namespace vramstow {

PhysicalChange PhysicalMemory::Create(const LiveBlock& block) {
  PhysicalChange displaced;
  auto known = handles_.find(block.address);
  if (known != handles_.end()) {
    const uint64_t old = known->second;
    objects_[old].references = 0;
    handles_.erase(known);
    displaced = DropIfUnheld(old);
    displaced.memory = old;
  }
  const uint64_t memory = ++last_memory_;
  objects_[memory] = {block, 1, 0};
  handles_[block.address] = memory;
  return displaced;
}

bool PhysicalMemory::Retain(uint64_t handle, uint64_t memory) {
  auto object = objects_.find(memory);
  if (object == objects_.end()) {
    auto known = handles_.find(handle);
    if (known == handles_.end()) return false;
    object = objects_.find(known->second);
  }
  ++object->second.references;
  // Until now the memory had no handle and was live only because it was mapped. Now it has a handle
  // again.
  handles_[handle] = object->first;
  return true;
}

PhysicalChange PhysicalMemory::Release(uint64_t handle) {
  auto known = handles_.find(handle);
  if (known == handles_.end()) return {};
  const uint64_t memory = known->second;
  PhysicalObject& object = objects_[memory];
  if (--object.references > 0) return {memory, false, {}};
  handles_.erase(known);
  return DropIfUnheld(memory);
}

uint64_t PhysicalMemory::Map(uint64_t handle) {
  auto known = handles_.find(handle);
  if (known == handles_.end()) return kUnknownMemory;
  ++objects_[known->second].mappings;
  return known->second;
}

PhysicalChange PhysicalMemory::Unmap(uint64_t memory) {
  auto object = objects_.find(memory);
  if (object == objects_.end() || object->second.mappings == 0) return {};
  --object->second.mappings;
  return DropIfUnheld(memory);
}

PhysicalChange PhysicalMemory::DropIfUnheld(uint64_t memory) {
  auto object = objects_.find(memory);
  if (object->second.references > 0 || object->second.mappings > 0) return {memory, false, {}};
  PhysicalChange change = {memory, true, object->second.block};
  objects_.erase(object);
  return change;
}

bool PhysicalMemory::Revive(const PhysicalChange& change) {
  if (!change.died || objects_.contains(change.memory)) return false;
  objects_[change.memory] = {change.block, 0, 0};
  return true;
}

bool PhysicalMemory::UndoRelease(const PhysicalChange& change, uint64_t handle) {
  if (change.memory == kUnknownMemory) return false;
  const bool revived = Revive(change);
  auto object = objects_.find(change.memory);
  if (object == objects_.end()) return false;
  ++object->second.references;
  handles_[handle] = change.memory;
  return revived;
}

bool PhysicalMemory::UndoUnmap(const PhysicalChange& change) {
  if (change.memory == kUnknownMemory) return false;
  const bool revived = Revive(change);
  auto object = objects_.find(change.memory);
  if (object == objects_.end()) return false;
  ++object->second.mappings;
  return revived;
}

LiveBlock* PhysicalMemory::Find(uint64_t memory) {
  const auto object = objects_.find(memory);
  return object == objects_.end() ? nullptr : &object->second.block;
}

void PhysicalMemory::Replace(uint64_t memory, const LiveBlock& block) {
  auto object = objects_.find(memory);
  if (object != objects_.end()) object->second.block = block;
}

}  // namespace vramstow
