// Implements the part of a trace's file that is a ring, in which the newest chunks replace the
// oldest.
//
// The header of each chunk contains its length, so a reader finds all chunks one after the other.
// Before a new chunk is written, the headers of the chunks that it will overwrite are marked as
// headers without contents (PREP). The unused space behind the new chunk gets such a header, too.
// So a reader can follow the chunks at each moment. If the process is killed while it writes a
// chunk into the ring, that chunk is still complete in the slot from which it is copied.
#include <errno.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/rounding.h"
#include "tracer/format/layout.h"
#include "tracer/trace_file.h"

namespace vramstow {
namespace {

// A mark is a header of a chunk without contents. Only the beginning of the header is written.
struct RingMark {
  ChunkHeader header;
  explicit RingMark(uint64_t capacity) : header() {
    std::memcpy(header.magic, kChunkMagic, sizeof kChunkMagic);
    header.capacity = static_cast<uint32_t>(capacity);
    header.state = kChunkPreparing;
  }
};

}  // namespace

// The ring consists of extents of the file, which are reserved when they are first used, so that a
// short trace is a short file.
void TraceFile::MakeRing(uint64_t bytes, bool may_grow) {
  ring_may_grow_ = may_grow;
  constexpr uint64_t kLeastExtent = uint64_t{1} << 20;
  extent_bytes_ = std::max(kLeastExtent, RoundUp(bytes / kMaxExtents, kSlotBytes));
  ring_bytes_ = std::max(bytes / extent_bytes_, uint64_t{1}) * extent_bytes_;
}

uint64_t TraceFile::RingOffset(uint64_t position) const {
  const uint64_t place = position % ring_bytes_;
  return extents_[place / extent_bytes_].load(std::memory_order_relaxed) + place % extent_bytes_;
}

void TraceFile::BeginExtent(uint64_t position) {
  std::atomic<uint64_t>& extent = extents_[position % ring_bytes_ / extent_bytes_];
  if (extent.load(std::memory_order_relaxed) != 0) return;
  extent.store(Reserve(extent_bytes_, kSlotBytes), std::memory_order_relaxed);
}

int TraceFile::BeginInRing(uint32_t bytes, RingPlace* place) {
  // The address of this variable identifies the thread. The thread's buffer is busy, so no signal
  // handler gets here a second time.
  const int me = 0;
  if (!ring_lock_.Lock(&me)) return EDEADLK;
  const uint64_t needed = std::max<uint64_t>(RoundUp(bytes, kChunkAlignment), kMinChunkBytes);
  if (IsToLeaveRing(needed)) ring_is_left_.store(true, std::memory_order_relaxed);
  const int error = ring_is_left() ? kRingIsLeft : ClaimRing(needed, place);
  if (error != 0) ring_lock_.Unlock();
  return error;
}

// True if the ring may grow and a chunk of this size could overwrite a chunk that is needed. The
// new chunk is then appended to the file.
bool TraceFile::IsToLeaveRing(uint64_t needed) const {
  return ring_may_grow_ && RingUse() + needed > most_ring_use();
}

// Claims the space of the oldest chunks, from ring_next_ on, until it is large enough. Returns 0 or
// an errno.
int TraceFile::ClaimRing(uint64_t needed, RingPlace* place) {
  uint64_t end = ring_next_;
  uint64_t used_end = ring_next_;  // the claimed part was never used from here on
  uint64_t header_end = 0;         // the end of the last dropped chunk's header
  while (end - ring_next_ < needed) {
    if (end % extent_bytes_ == 0) {
      // The rest of an extent may be too short for a chunk; it then remains unused.
      ring_next_ = used_end = end;
      BeginExtent(end);
    }
    const uint64_t begin = end;
    uint64_t capacity = 0;
    const int error = DropOldest(RingOffset(begin), &capacity);
    if (error != 0) return error;
    const uint64_t extent_end = (end / extent_bytes_ + 1) * extent_bytes_;
    end = capacity == 0 ? extent_end : std::min(end + capacity, extent_end);
    if (capacity == 0) continue;
    header_end = std::min(begin + sizeof(ChunkHeader), end);
    used_end = end;
  }
  // The mark behind the new chunk is written before the chunk. If it covered a part of the last
  // dropped chunk's header, and the process were killed then or the chunk's write refused, a reader
  // could not follow the chunks any more.
  const uint64_t taken = std::max(ring_next_ + needed, header_end);
  const uint64_t rest = used_end - std::min(used_end, taken);
  uint64_t capacity = taken - ring_next_;
  if (rest < kMinChunkBytes) {
    capacity += rest;
  } else {
    RingMark mark(rest);
    iovec part = {&mark.header, sizeof mark.header};
    const int error = WriteAt(&part, 1, RingOffset(ring_next_) + capacity);
    if (error != 0) return error;
  }
  place->offset = RingOffset(ring_next_);
  place->capacity = static_cast<uint32_t>(capacity);
  ring_next_ += capacity;
  ring_end_.store(ring_next_, std::memory_order_relaxed);
  return 0;
}

// Marks the chunk at `at` as one without contents. Sets *capacity to its length, or to 0 if no
// chunk was ever written there. Returns 0 or an errno.
int TraceFile::DropOldest(uint64_t at, uint64_t* capacity) {
  ChunkHeader header = {};
  *capacity = 0;
  // Beyond the end of the file there is no chunk.
  if (!ReadAt(&header, sizeof header, at)) return Descriptor() < 0 ? errno : 0;
  if (std::memcmp(header.magic, kChunkMagic, sizeof kChunkMagic) != 0) return 0;
  *capacity = std::max(header.capacity, kMinChunkBytes);
  if (header.state == kChunkPreparing) return 0;
  const int error = NoteDrop();
  if (error != 0) return error;
  uint32_t state = kChunkPreparing;
  iovec part = {&state, sizeof state};
  return WriteAt(&part, 1, at + offsetof(ChunkHeader, state));
}

// Records in the file's header that chunks may be missing from now on.
int TraceFile::NoteDrop() {
  if (has_dropped_) return 0;
  iovec part = {&ring_bytes_, sizeof ring_bytes_};
  const int error = WriteAt(&part, 1, offsetof(FileHeader, ring_bytes));
  has_dropped_ = error == 0;
  return error;
}

TraceFile::RingSpan TraceFile::Ring() {
  const uint64_t begin = ring_needed_.load(std::memory_order_relaxed);
  return {begin, ring_end_.load(std::memory_order_relaxed)};
}

bool TraceFile::ReadRing(uint64_t position, ChunkHeader* header, uint64_t* offset, uint64_t* next) {
  *offset = RingOffset(position);
  const uint64_t extent_end = (position / extent_bytes_ + 1) * extent_bytes_;
  *next = extent_end;
  if (!ReadAt(header, sizeof *header, *offset)) return false;
  if (std::memcmp(header->magic, kChunkMagic, sizeof kChunkMagic) != 0) return false;
  const uint64_t capacity = std::max(header->capacity, kMinChunkBytes);
  *next = std::min(position + capacity, extent_end);
  return header->state == kChunkSealed;
}

bool TraceFile::ReadAt(void* bytes, size_t size, uint64_t offset) {
  const int fd = Descriptor();
  if (fd < 0) return false;
  size_t done = 0;
  while (done < size) {
    const ssize_t count =
        pread(fd, static_cast<char*>(bytes) + done, size - done, static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    done += static_cast<size_t>(count);
  }
  return true;
}

}  // namespace vramstow
