// The part of a trace's file that is a ring: the newest chunks take the place of the oldest.
//
// Each place says in its chunk's header how long it is, so that the file itself is the list of
// places. A place that is given up is marked as one without contents (PREP) before anything else
// happens to it, and what will be behind the new chunk is marked before that chunk is written: so a
// reader finds its way at each moment, and whatever a kill leaves half-written is still whole in
// the slot that it came from.
#include <errno.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/rounding.h"
#include "tracer/format/layout.h"
#include "tracer/trace_file.h"

namespace vramstow {
namespace {

// Marks are written as the beginning of a chunk header.
struct RingMark {
  ChunkHeader header;
  explicit RingMark(uint64_t capacity) : header() {
    std::memcpy(header.magic, kChunkMagic, sizeof kChunkMagic);
    header.capacity = static_cast<uint32_t>(capacity);
    header.state = kChunkPreparing;
  }
};

}  // namespace

int TraceFile::BeginInRing(uint32_t bytes, RingPlace* place) {
  const int me = 0;  // an address that no other thread has; its buffer is busy, so no signal
                     // handler comes here a second time
  if (!ring_lock_.Lock(&me)) return EDEADLK;
  if (ring_begin_ == 0) ring_begin_ = ring_next_ = Reserve(ring_bytes_, kSlotBytes);
  const uint64_t needed = std::max<uint64_t>(RoundUp(bytes, kChunkAlignment), kMinChunkBytes);
  const int error = ClaimRing(needed, place);
  if (error != 0) ring_lock_.Unlock();
  return error;
}

// Takes places from ring_next_ on until there is room enough. 0 or an errno.
int TraceFile::ClaimRing(uint64_t needed, RingPlace* place) {
  const uint64_t ring_end = ring_begin_ + ring_bytes_;
  uint64_t end = ring_next_;
  bool is_fresh = false;  // nothing was ever behind `end`
  while (end - ring_next_ < needed) {
    if (end == ring_end) ring_next_ = end = ring_begin_;
    uint64_t capacity = 0;
    const int error = DropOldest(end, &capacity);
    if (error != 0) return error;
    is_fresh = capacity == 0;
    // What is too short before the ring's end stays without contents.
    end = is_fresh ? ring_end : std::min(end + capacity, ring_end);
  }
  const uint64_t rest = end - ring_next_ - needed;
  uint64_t capacity = needed;
  if (!is_fresh && rest < kMinChunkBytes) {
    capacity += rest;
  } else if (!is_fresh) {
    RingMark mark(rest);
    iovec part = {&mark.header, sizeof mark.header};
    const int error = WriteAt(&part, 1, ring_next_ + needed);
    if (error != 0) return error;
  }
  place->offset = ring_next_;
  place->capacity = static_cast<uint32_t>(capacity);
  ring_next_ += capacity;
  return 0;
}

// Marks the place at `at` as one without contents; *capacity is how long it is, 0 where none was
// made yet. 0 or an errno.
int TraceFile::DropOldest(uint64_t at, uint64_t* capacity) {
  const int fd = Descriptor();
  if (fd < 0) return errno;
  ChunkHeader header = {};
  ssize_t count;
  do {
    count = pread(fd, &header, sizeof header, static_cast<off_t>(at));
  } while (count < 0 && errno == EINTR);
  if (count < 0) return errno;
  *capacity = 0;
  if (std::memcmp(header.magic, kChunkMagic, sizeof kChunkMagic) != 0) return 0;
  *capacity = std::max(header.capacity, kMinChunkBytes);
  if (header.state == kChunkPreparing) return 0;
  uint32_t state = kChunkPreparing;
  iovec part = {&state, sizeof state};
  return WriteAt(&part, 1, at + offsetof(ChunkHeader, state));
}

}  // namespace vramstow
