#include "interpose/core/pools/regions.h"

#include <cstring>

#include "interpose/core/runtime/this_thread.h"

#define VRAMSTOW_IMPLEMENTATION
#include "include/vramstow/vramstow.h"

namespace vramstow {

// Tag 0 means that a block belongs to no region, so tags of regions begin at 1.
uint32_t Regions::Find(const char* name) const {
  for (uint32_t i = 0; i < count_; ++i) {
    if (std::strcmp(names_[i], name) == 0) return i + 1;
  }
  return 0;
}

uint32_t Regions::TagOf(const char* name) {
  MutexLock lock(&mutex_);
  return Find(name);
}

int Regions::Push(const char* name, bool active) {
  const size_t length = name == nullptr ? 0 : std::strlen(name);
  if (length == 0 || length >= kMaxBytes) return VRAMSTOW_INVALID;
  if (!active) return VRAMSTOW_NOT_ACTIVE;
  VramstowThread* thread = ThisThread();
  if (thread->region_count == kVramstowMostRegions) return VRAMSTOW_FULL;
  MutexLock lock(&mutex_);
  uint32_t tag = Find(name);
  if (tag == 0) {
    if (count_ == kMax) return VRAMSTOW_FULL;
    std::memcpy(names_[count_], name, length + 1);
    tag = ++count_;
  }
  thread->regions[thread->region_count++] = static_cast<uint16_t>(tag);
  return VRAMSTOW_OK;
}

int Regions::Pop() {
  VramstowThread* thread = ThisThread();
  if (thread->region_count == 0) return VRAMSTOW_INVALID;
  --thread->region_count;
  return VRAMSTOW_OK;
}

uint32_t Regions::Current() {
  const VramstowThread* thread = ThisThread();
  return thread->region_count == 0 ? 0 : thread->regions[thread->region_count - 1];
}

}  // namespace vramstow
