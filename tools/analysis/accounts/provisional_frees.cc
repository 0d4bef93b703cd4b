#include "tools/analysis/accounts/provisional_frees.h"

namespace vramstow {

ProvisionalFrees::Ring* ProvisionalFrees::RingOf(uint32_t thread) {
  if (last_ring_ != nullptr && last_thread_ == thread) return last_ring_;
  std::unique_ptr<Ring>& ring = rings_[thread];
  if (ring == nullptr) ring = std::make_unique<Ring>();
  last_thread_ = thread;
  last_ring_ = ring.get();
  return last_ring_;
}

ProvisionalFree* ProvisionalFrees::Begin(const Event& event, uint64_t number) {
  Ring* ring = RingOf(event.thread);
  ProvisionalFree* free = &ring->places[ring->next];
  ring->next = (ring->next + 1) % kRemembered;
  free->mappings.clear();
  free->sequence = event.sequence;
  free->event = number;
  free->kind = event.kind;
  free->address = event.address;
  free->library = event.library;
  free->call = event.call;
  free->memory = event.memory;
  return free;
}

ProvisionalFree* ProvisionalFrees::Find(uint32_t thread, uint64_t sequence) {
  for (ProvisionalFree& free : RingOf(thread)->places) {
    if (free.sequence == sequence && sequence != 0) return &free;
  }
  return nullptr;
}

}  // namespace vramstow
