// TraceFile is the file that a recorder writes. It consists of slots, which are mapped, and chunks,
// which are appended.
//
// Idea: a slot is a part of the file that gets disk space before it is mapped, because on a full
// disk the host process would otherwise get a SIGBUS. It stays mapped, and bytes that a thread
// stores there survive a kill of the process. Sealed chunks are appended with a plain write, which
// can report a full disk. If a file system does not support shared mappings, slots are plain memory
// instead, and only appended chunks survive a kill.
//
// The file has no name until Publish. So a process that is killed before its first page is written
// leaves no file behind, rather than an invalid trace. If the file system does not support files
// without a name, the file has a name that does not end in .stow until then.
//
// The host process may close the recorder's descriptor, or all descriptors, and open another file
// under its number. So each use first checks that the descriptor still refers to the trace's file,
// and opens that file again if it does not. Ownership: the file and its slots, which stay mapped
// for the life of the process. Threads: Create, MakeRing, Publish and Close once; all other
// functions by any thread at any time between. Errors: errno values. No heap, no signals (not even
// SIGXFSZ). Units: bytes.
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
    uint64_t offset = 0;       // its offset in the file; meaningless if slots are plain memory
  };

  // The way in which a file is created.
  struct Creation {
    const char* directory;
    const char* stem;
    bool has_name;   // it is called .STEM-PID.part; otherwise it has no name yet
    bool for_group;  // its group can read it, too; otherwise only its owner
  };
  // Creates the file. Returns 0 or an errno; EOPNOTSUPP if files without a name are not supported.
  int Create(const Creation& creation);

  // Names the file DIRECTORY/STEM.stow, or STEM-2.stow, STEM-3.stow, … if that exists. Returns 0 or
  // an errno.
  int Publish(const char* directory, const char* stem);

  // Makes a slot. The first slot lies at the beginning of the file. If it fails, *error is set to
  // an errno.
  Slot NewSlot(int* error);

  // Writes the parts one after the other at the end of the file; it changes the array `parts`.
  // Returns 0 or an errno; ENOSPC for all errors that mean "no space". After an error a part of the
  // bytes may have been written.
  int Append(iovec* parts, int count);

  // Writes at the beginning of the file, where the first slot belongs. It is used if slots are
  // plain memory.
  int WriteFront(const void* bytes, size_t size);
  // Writes the parts at an offset that the caller has reserved; it changes the array `parts`.
  // Returns 0 or an errno.
  int WriteAt(iovec* parts, int count, uint64_t offset);

  // From now on chunks of events overwrite each other in a ring of this size (trace_ring.cc).
  // Called before the first chunk. If `may_grow` is true, no chunk that is still needed is
  // overwritten. When that would happen, the new chunk and all later ones are appended to the file
  // instead.
  void MakeRing(uint64_t bytes, bool may_grow);
  bool has_ring() const { return ring_bytes_ != 0; }
  uint64_t ring_bytes() const { return ring_bytes_; }
  bool ring_may_grow() const { return ring_may_grow_; }
  // True if chunks are now appended to the file instead of being written into the ring.
  bool ring_is_left() const { return ring_is_left_.load(std::memory_order_relaxed); }
  static constexpr int kRingIsLeft = -1;
  struct RingPlace {
    uint64_t offset;
    uint32_t capacity;  // the capacity for the chunk's header
  };
  // Makes room for a chunk of this size by dropping the oldest chunks, and excludes other threads
  // until EndInRing. Returns 0 after success. Otherwise it returns an errno, or kRingIsLeft if the
  // chunk has to be appended to the file, and EndInRing must not be called.
  int BeginInRing(uint32_t bytes, RingPlace* place) VRAMSTOW_TRY_ACQUIRE(false, ring_lock_);
  void EndInRing() VRAMSTOW_RELEASE(ring_lock_) { ring_lock_.Unlock(); }

  // The part of the ring that is needed: [begin, end). Both are *positions*. A position counts all
  // bytes ever written and never decreases. Nothing has been written at `end` yet.
  struct RingSpan {
    uint64_t begin;
    uint64_t end;
  };
  RingSpan Ring();
  // Declares that nothing before this position is needed any more.
  void NeedsRingFrom(uint64_t position) { ring_needed_.store(position, std::memory_order_relaxed); }
  // Returns how many bytes of the ring are needed. If the result is larger than ring_bytes(), some
  // of these bytes were overwritten.
  uint64_t RingUse() const {
    return ring_end_.load(std::memory_order_relaxed) - ring_needed_.load(std::memory_order_relaxed);
  }
  // Returns the largest number of needed bytes at which the ring can still be used. If more are
  // needed, the next chunk is appended to the file, or overwrites a chunk that is needed. It is
  // less than the size of the ring, because a chunk may need more room than its size: the rest of
  // an extent and of the last chunk that it overwrites.
  uint64_t most_ring_use() const {
    const uint64_t on_top = ring_may_grow_ ? extent_bytes_ + 2 * kSlotBytes : 0;
    return ring_bytes_ - std::min(ring_bytes_, on_top);
  }
  // Reads the header at a position before Ring().end, and sets *offset to its offset in the file.
  // *next is the position of the next header. Returns false if there is no sealed chunk.
  bool ReadRing(uint64_t position, ChunkHeader* header, uint64_t* offset, uint64_t* next);
  // Reads bytes of the file. Returns false if not all of them could be read.
  bool ReadAt(void* bytes, size_t size, uint64_t offset);

  // Writes the current contents of the trace into the file STEM-TAG.stow in the same folder. If
  // that file exists and `replaces` is true, it is replaced; if `replaces` is false, the copy gets
  // the name STEM-TAG-2.stow, and so on. Stores the copy's name in `name`. A thread that has to
  // write into the ring meanwhile waits. Returns 0 or an errno; after an error no copy is left
  // behind. The result is EEXIST if another thread is making a copy.
  int WriteCopy(const char* tag, bool replaces, char* name, size_t size);

  // Replaces a slot by plain memory: later stores no longer reach the file. Returns false if there
  // is no memory for it. The file must then not be cut.
  static bool Detach(uint8_t* slot);

  // Returns the end of the file, including all reserved bytes.
  uint64_t end() const { return end_.load(std::memory_order_relaxed); }
  // True if slots are part of the file.
  bool is_shared() const { return shared_; }

  // Returns the file's length on disk, which is less than end() if disk space was refused; 0 if it
  // cannot be read.
  uint64_t LengthOnDisk();
  // Shortens the file to `length` bytes, if it is longer. Returns 0 or an errno.
  int Cut(uint64_t length);
  void Close();
  // Closes the file in a forked child, where it must not be opened again: a call that a signal
  // handler has interrupted in the parent, and that forked, continues in the child. It gets EBADF.
  // Async-signal-safe.
  void AbandonAfterFork();
  // Removes the file. Create may be called again after that.
  void Remove();

  // Returns the path, which is absolute if the working directory could be read.
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
  std::atomic<bool> is_abandoned_{false};  // this process is a forked child
  std::atomic<uint64_t> end_{0};
  bool shared_ = true;
  OwnerMutex ring_lock_;
  static constexpr size_t kMaxExtents = 1024;
  uint64_t ring_bytes_ = 0;
  uint64_t extent_bytes_ = 0;
  bool ring_may_grow_ = false;
  std::atomic<bool> ring_is_left_{false};
  bool has_dropped_ VRAMSTOW_GUARDED_BY(ring_lock_) = false;
  uint64_t ring_next_ VRAMSTOW_GUARDED_BY(ring_lock_) = 0;  // the position of the next chunk
  std::atomic<uint64_t> ring_end_{0};                       // a copy that all threads may read
  std::atomic<uint64_t> ring_needed_{0};
  std::atomic<uint64_t> extents_[kMaxExtents] = {};  // their file offsets; 0 if not reserved
  dev_t device_ = 0;
  ino_t inode_ = 0;
  char path_[PATH_MAX] = {};
  char part_[PATH_MAX] = {};  // the name before Publish, or empty
};

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_TRACE_FILE_H_
