#include "interpose/core/pools/live_streams.h"

namespace vramstow {

// Handles are addresses of similar objects, so their low bits hardly differ. So the bits are mixed.
uint32_t LiveStreams::PlaceOf(uint64_t stream, uint32_t step) {
  const uint64_t mixed = stream * 0x9e3779b97f4a7c15U;
  return (static_cast<uint32_t>(mixed >> 40) + step) % kRoom;
}

LiveStreams::Entry* LiveStreams::Look(uint64_t stream) {
  for (uint32_t step = 0; step < kMaxSteps; ++step) {
    Entry& entry = entries_[PlaceOf(stream, step)];
    if (entry.stream == stream) return &entry;
    if (entry.stream == 0) break;
  }
  return nullptr;
}

void LiveStreams::Made(uint64_t stream, const void* context) {
  if (stream == 0) return;
  MutexLock lock(&mutex_);
  Entry* entry = Look(stream);
  for (uint32_t step = 0; entry == nullptr && step < kMaxSteps; ++step) {
    Entry& place = entries_[PlaceOf(stream, step)];
    if (place.stream == 0 || place.state != State::kLives) entry = &place;
  }
  if (entry != nullptr) *entry = {stream, context, State::kLives};
}

// If the stream is ending already, the program destroys it twice, which is an error of the program.
// The stream is then recorded as ended.
void LiveStreams::Ends(uint64_t stream) {
  MutexLock lock(&mutex_);
  Entry* const entry = Look(stream);
  if (entry == nullptr) return;
  entry->state = entry->state == State::kLives ? State::kEnds : State::kGone;
}

void LiveStreams::Stays(uint64_t stream) {
  MutexLock lock(&mutex_);
  Entry* const entry = Look(stream);
  if (entry != nullptr && entry->state == State::kEnds) entry->state = State::kLives;
}

void LiveStreams::ContextGone(const void* context) {
  MutexLock lock(&mutex_);
  for (Entry& entry : entries_) {
    if (entry.stream != 0 && entry.context == context) entry.state = State::kGone;
  }
}

StreamFate LiveStreams::Find(uint64_t stream, const void** context) const {
  auto* const self = const_cast<LiveStreams*>(this);
  MutexLock lock(&self->mutex_);
  const Entry* const entry = stream == 0 ? nullptr : self->Look(stream);
  if (entry == nullptr) return StreamFate::kUnknown;
  *context = entry->context;
  return entry->state == State::kLives ? StreamFate::kLives : StreamFate::kGone;
}

void LiveStreams::Clear() {
  mutex_.Reset();
  for (Entry& entry : entries_) entry = Entry();
}

}  // namespace vramstow
