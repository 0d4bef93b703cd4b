#include "interpose/core/pools/registration_table.h"

namespace vramstow {

uint32_t* RegistrationTable::HeadOf(const void* handle) {
  const uint64_t number = reinterpret_cast<uint64_t>(handle);
  return &heads_[(number * 0x9E3779B97F4A7C15U) >> (64 - kHeadBits)];
}

bool RegistrationTable::Put(const void* handle, const HeldRange& range) {
  MutexLock lock(&mutex_);
  uint32_t index = free_;
  if (index != 0) {
    free_ = entries_[index].next;
  } else if (used_ + 1 < kMax) {
    index = ++used_;
  } else {
    return false;
  }
  uint32_t* head = HeadOf(handle);
  entries_[index] = {handle, range, *head};
  *head = index;
  return true;
}

HeldRange RegistrationTable::Take(const void* handle) {
  MutexLock lock(&mutex_);
  uint32_t* smallest = nullptr;
  for (uint32_t* link = HeadOf(handle); *link != 0; link = &entries_[*link].next) {
    const Entry& entry = entries_[*link];
    if (entry.handle != handle) continue;
    if (smallest == nullptr || entry.range.size < entries_[*smallest].range.size) smallest = link;
  }
  if (smallest == nullptr) return {};
  const uint32_t index = *smallest;
  Entry& entry = entries_[index];
  *smallest = entry.next;
  entry.next = free_;
  free_ = index;
  return entry.range;
}

void RegistrationTable::AbandonAfterFork() {
  mutex_.Reset();
  if (used_ == 0) return;
  used_ = 0;
  free_ = 0;
  for (uint32_t& head : heads_) head = 0;
}

}  // namespace vramstow
