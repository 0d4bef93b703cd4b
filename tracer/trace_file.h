// TraceFile: the file that a recorder writes, as slots that are mapped and chunks that are
// appended.
//
// Idea: a slot is a piece of the file that has room on disk before it is mapped (a full disk would
// otherwise be a SIGBUS in the host process) and stays mapped: what a thread stores there is kept
// when the process is killed. Sealed chunks are appended with a plain write, which can say that the
// disk is full. Where a file system cannot share mappings, slots are plain memory instead and
// only appended chunks are safe.
//
// The file has no name until Publish: a process that is killed before its first page is written
// leaves nothing behind, rather than a file that is no trace. Where the file system has no such
// files, it has a name that does not end in .stow until then.
//
// The host process may close our descriptor, or all it finds, and open something else under its
// number. So each use first asks whether the descriptor still is our file, and opens it again if
// not. Ownership: the file and its slots, which stay mapped for the life of the process. Threads:
// Create, MakeRing, Publish and Close once; the rest by any thread at any time between. Errors:
// errno values. No heap, no signals (not even SIGXFSZ). Units: bytes.
#ifndef VRAMSTOW_TRACER_TRACE_FILE_H_
#define VRAMSTOW_TRACER_TRACE_FILE_H_

#include <limits.h>
#include <sys/types.h>
#include <sys/uio.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tracer/format/layout.h"
#include "tracer/owner_mutex.h"

namespace vramstow {

class TraceFile {
 public:
  struct Slot {
    uint8_t* bytes = nullptr;  // kSlotBytes of zeros; null on an error
    uint64_t offset = 0;       // in the file; meaningless where slots are plain memory
  };

  // Creates a file in the directory, without a name or, if `has_name`, as .STEM-PID.part; its owner
  // alone can read it, or, if `for_group`, its group too. 0 or an errno; EOPNOTSUPP where files
  // without a name cannot be made.
  int Create(const char* directory, const char* stem, bool has_name, bool for_group);

  // Names it DIRECTORY/STEM.stow, or STEM-2.stow, STEM-3.stow, … where that exists. 0 or an errno.
  int Publish(const char* directory, const char* stem);

  // The first slot of a file lies at its beginning. An error is in *error.
  Slot NewSlot(int* error);

  // Writes the parts one after the other behind all else, and changes the array on the way. 0 or an
  // errno; ENOSPC for all that means "no room". On an error part of them may have been written.
  int Append(iovec* parts, int count);

  // Writes at the beginning of the file: for plain slots, whose first one has to get there.
  int WriteFront(const void* bytes, size_t size);
  // Writes the parts at a place that is the caller's, and changes the array on the way. 0 or an
  // errno.
  int WriteAt(iovec* parts, int count, uint64_t offset);

  // From now on chunks of events go round in so many bytes (trace_ring.cc). Before the first one.
  // `may_grow`: rather than over a chunk that is needed, they go to the end of the file, for good.
  void MakeRing(uint64_t bytes, bool may_grow);
  bool has_ring() const { return ring_bytes_ != 0; }
  uint64_t ring_bytes() const { return ring_bytes_; }
  bool ring_may_grow() const { return ring_may_grow_; }
  // Chunks go to the end of the file by now.
  bool ring_is_left() const { return ring_is_left_.load(std::memory_order_relaxed); }
  static constexpr int kRingIsLeft = -1;
  struct RingPlace {
    uint64_t offset;
    uint32_t capacity;  // to be written into the chunk's header
  };
  // Makes room for a chunk of so many bytes, by dropping the oldest ones, and keeps others out
  // until EndInRing. 0; or an errno or kRingIsLeft, and nothing is to be ended.
  int BeginInRing(uint32_t bytes, RingPlace* place) VRAMSTOW_TRY_ACQUIRE(false, ring_lock_);
  void EndInRing() VRAMSTOW_RELEASE(ring_lock_) { ring_lock_.Unlock(); }

  // The places of the ring, by their *positions*: these rise for ever. Those of what is needed
  // begin at `begin`; nothing was written yet at `end`.
  struct RingSpan {
    uint64_t begin;
    uint64_t end;
  };
  RingSpan Ring();
  // Nothing before this position is needed any more.
  void NeedsRingFrom(uint64_t position) { ring_needed_.store(position, std::memory_order_relaxed); }
  // Bytes of the ring that are needed: at most ring_bytes(), or some of them were overwritten.
  uint64_t RingUse() const {
    return ring_end_.load(std::memory_order_relaxed) - ring_needed_.load(std::memory_order_relaxed);
  }
  // So many may be needed before chunks leave the ring, or are written over one that is needed. Of
  // what a place takes, the rest of an extent and of the last chunk that was there may come on top:
  // the shorter the ring, the larger that part of it.
  uint64_t most_ring_use() const {
    const uint64_t on_top = ring_may_grow_ ? extent_bytes_ + 2 * kSlotBytes : 0;
    return ring_bytes_ - std::min(ring_bytes_, on_top);
  }
  // The header of the place at a position before end(), and where it is in the file. *next is the
  // position of the next one. False: there is no chunk.
  bool ReadRing(uint64_t position, ChunkHeader* header, uint64_t* offset, uint64_t* next);
  // False: not so much could be read.
  bool ReadAt(void* bytes, size_t size, uint64_t offset);

  // Writes the trace as it is now into a file beside it, STEM-TAG.stow; where that exists it is
  // replaced, or else the copy becomes STEM-TAG-2.stow, …: `name` becomes its name. Whoever has to
  // write into the ring meanwhile waits. 0 or an errno, and nothing is left behind; EEXIST: one is
  // being made.
  int WriteCopy(const char* tag, bool replaces, char* name, size_t size);

  // Puts plain memory in the place of a slot: what is stored there no longer reaches the file.
  // False where there is no memory for that; then the file must not be cut.
  static bool Detach(uint8_t* slot);

  // Where the file ends now, with all that was given out.
  uint64_t end() const { return end_.load(std::memory_order_relaxed); }
  // Whether slots are part of the file.
  bool is_shared() const { return shared_; }

  // The file's length on disk now, less than end() where room was refused; 0 if it cannot be seen.
  uint64_t LengthOnDisk();
  // Makes the file `length` bytes long, if it is longer. 0 or an errno.
  int Cut(uint64_t length);
  void Close();
  // Takes the file away again; Create may follow.
  void Remove();

  // Absolute if the working directory could be found out.
  const char* path() const { return path_; }

 private:
  int MakePath(const char* directory, const char* stem, unsigned attempt);
  bool IsOurs(int fd) const;
  int Descriptor();
  uint64_t Reserve(uint64_t bytes, uint64_t alignment, uint64_t undivided = 0);
  int ProvideRoom(int fd, uint64_t offset);
  static uint8_t* PlainSlot();
  int ClaimRing(uint64_t needed, RingPlace* place) VRAMSTOW_REQUIRES(ring_lock_);
  int DropOldest(uint64_t at, uint64_t* capacity) VRAMSTOW_REQUIRES(ring_lock_);
  bool IsToLeaveRing(uint64_t needed) const VRAMSTOW_REQUIRES(ring_lock_);
  uint64_t RingOffset(uint64_t position) const;
  void BeginExtent(uint64_t position) VRAMSTOW_REQUIRES(ring_lock_);
  int NoteDrop() VRAMSTOW_REQUIRES(ring_lock_);

  std::atomic<int> fd_{-1};
  std::atomic<uint64_t> end_{0};
  bool shared_ = true;
  OwnerMutex ring_lock_;
  static constexpr size_t kMaxExtents = 1024;
  uint64_t ring_bytes_ = 0;
  uint64_t extent_bytes_ = 0;
  bool ring_may_grow_ = false;
  std::atomic<bool> ring_is_left_{false};
  bool has_dropped_ VRAMSTOW_GUARDED_BY(ring_lock_) = false;
  uint64_t ring_next_ VRAMSTOW_GUARDED_BY(ring_lock_) = 0;  // a position
  std::atomic<uint64_t> ring_end_{0};                       // the same, for all to see
  std::atomic<uint64_t> ring_needed_{0};
  std::atomic<uint64_t> extents_[kMaxExtents] = {};  // where they are in the file; 0: nowhere yet
  dev_t device_ = 0;
  ino_t inode_ = 0;
  char path_[PATH_MAX] = {};
  char part_[PATH_MAX] = {};  // the name before Publish, or empty
};

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_TRACE_FILE_H_
