#include "adapters/torch/census/garbage.h"

#include <sys/mman.h>

#include "adapters/torch/census/generations.h"

namespace vramstow::torch_census {
namespace {

constexpr uint64_t kMaxObjects = 3'000'000;  // 64 MiB for each 2.8 million

}  // namespace

Garbage::Garbage(int generations, const Deadline& deadline) : deadline_(deadline) {
  if (!Generations::Look() || !Gather(generations)) return;
  SubtractOwnReferences();
  if (!is_late_) FindHeld();
  if (is_late_) return;
  Generations::ForEach(generations, [this](Object* object) {
    const Count* count = Find(object);
    if (count != nullptr && count->references != kIsHeld) dead_.push_back(object);
    return true;
  });
  is_complete_ = true;
}

Garbage::~Garbage() {
  if (counts_ != nullptr) munmap(counts_, capacity_ * sizeof(Count));
}

bool Garbage::IsLate() {
  if (++steps_ % kStepsBetweenLooks == 0 && deadline_.is_over()) is_late_ = true;
  return is_late_;
}

// Returns the slot of the object, or the empty slot where it would be.
Garbage::Count* Garbage::Find(Object* object) const {
  const uint64_t mask = capacity_ - 1;
  uint64_t index = ((reinterpret_cast<uint64_t>(object) * 0x9e3779b97f4a7c15U) >> 24) & mask;
  while (counts_[index].object != nullptr && counts_[index].object != object) {
    index = (index + 1) & mask;
  }
  return &counts_[index];
}

bool Garbage::Gather(int generations) {
  uint64_t count = 0;
  const bool all = Generations::ForEach(
      generations, [this, &count](Object*) { return ++count <= kMaxObjects && !IsLate(); });
  if (!all) return false;
  capacity_ = 1024;
  while (capacity_ < count + count / 3) capacity_ *= 2;
  void* memory = mmap(nullptr, capacity_ * sizeof(Count), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  counts_ = static_cast<Count*>(memory);
  return Generations::ForEach(generations, [this](Object* object) {
    *Find(object) = {object, object->references};
    return !IsLate();
  });
}

int Garbage::SubtractReference(Object* child, void* self) {
  auto* garbage = static_cast<Garbage*>(self);
  if (child == nullptr || !Is(child, kHasCollector)) return 0;
  Count* count = garbage->Find(child);
  if (count->object != nullptr) --count->references;
  return 0;
}

void Garbage::SubtractOwnReferences() {
  for (uint64_t i = 0; i < capacity_ && !IsLate(); ++i) {
    Object* object = counts_[i].object;
    if (object != nullptr && object->type->traverse != nullptr) {
      object->type->traverse(object, &SubtractReference, this);
    }
  }
}

int Garbage::Hold(Object* child, void* self) {
  auto* garbage = static_cast<Garbage*>(self);
  if (child == nullptr || !Is(child, kHasCollector)) return 0;
  Count* count = garbage->Find(child);
  if (count->object == nullptr || count->references == kIsHeld) return 0;
  count->references = kIsHeld;
  garbage->held_.push_back(child);
  return 0;
}

void Garbage::FindHeld() {
  for (uint64_t i = 0; i < capacity_ && !is_late_; ++i) {
    if (counts_[i].object == nullptr || counts_[i].references <= 0) continue;
    counts_[i].references = kIsHeld;
    held_.push_back(counts_[i].object);
    while (!held_.empty() && !IsLate()) {
      Object* object = held_.back();
      held_.pop_back();
      if (object->type->traverse != nullptr) object->type->traverse(object, &Hold, this);
    }
  }
}

}  // namespace vramstow::torch_census
