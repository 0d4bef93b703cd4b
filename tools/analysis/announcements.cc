#include "tools/analysis/announcements.h"

namespace vramstow {

Announcements::Ring* Announcements::RingOf(uint32_t thread) {
  if (last_ring_ != nullptr && last_thread_ == thread) return last_ring_;
  std::unique_ptr<Ring>& ring = rings_[thread];
  if (ring == nullptr) ring = std::make_unique<Ring>();
  last_thread_ = thread;
  last_ring_ = ring.get();
  return last_ring_;
}

Announcement* Announcements::Begin(uint32_t thread) {
  Ring* ring = RingOf(thread);
  Announcement* place = &ring->places[ring->next];
  ring->next = (ring->next + 1) % kRemembered;
  place->mappings.clear();
  return place;
}

Announcement* Announcements::Find(uint32_t thread, uint64_t sequence) {
  for (Announcement& announcement : RingOf(thread)->places) {
    if (announcement.sequence == sequence && sequence != 0) return &announcement;
  }
  return nullptr;
}

}  // namespace vramstow
