// ThreadRegistry assigns buffers to threads.
//
// Idea: a thread gets a buffer at its first event, and returns the buffer when it ends; then the
// next new thread continues in that buffer. Buffers are never destroyed, so each of them may be
// read at any time.
//
// Ownership: all buffers, and their slots of the file, for the life of the process. Threads: Start
// before other threads know the object, all other functions by any thread. Locks: mutex_ guards the
// list of buffers and the free list; nothing else is taken while it is held, but the file grows. A
// signal handler that interrupted the holder is refused. Errors: null. No heap, except glibc's own
// for the end of a thread. Units: buffers.
#ifndef VRAMSTOW_TRACER_THREAD_REGISTRY_H_
#define VRAMSTOW_TRACER_THREAD_REGISTRY_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/thread_annotations.h"
#include "tracer/open_trace.h"
#include "tracer/owner_mutex.h"
#include "tracer/recorder.h"
#include "tracer/thread_buffer.h"

namespace vramstow {

class RecorderState;

class ThreadRegistry {
 public:
  // Prepares the object. From now on `owner->OnThreadExit` is called when a thread that has a
  // buffer ends.
  void Start(OpenTrace* trace, RecorderState* owner, ThreadWatch watch) {
    trace_ = trace;
    owner_ = owner;
    watch_ = watch;
  }

  // Assigns a buffer to this thread and stores it in *slot. Returns null if no buffer is left, or
  // if this is a signal handler that interrupted the same function.
  ThreadBuffer* Attach(void** slot);
  // Makes the buffer available to another thread. Called when the calling thread ends.
  void Return(ThreadBuffer* buffer, void** slot);

  uint32_t count() const { return count_.load(std::memory_order_acquire); }
  // Returns the buffer number `index`, which must be less than count().
  ThreadBuffer& at(uint32_t index) const { return *buffers_[index]; }

  // Waits briefly until no buffer is busy. Returns false if one still is.
  bool AwaitQuiet() const;
  // Returns the number of events in the buffers' chunks, including chunks that were appended to the
  // file.
  uint64_t CountRecorded() const;

  // Returns the lock of the list of buffers. Close takes this lock before the lock of the tables.
  OwnerMutex* mutex() VRAMSTOW_LOCK_RETURNED(mutex_) { return &mutex_; }

  // The end of the last slot in the file, and the end of its contents.
  struct LastSlot {
    uint64_t end = 0;
    uint64_t contents_end = 0;
  };
  // Seals all chunks of buffers that are not busy. If slots are plain memory and not a part of the
  // file, their chunks are appended to the file instead. `all_quiet` is true if no buffer is busy
  // and no other thread writes slots.
  LastSlot Seal(bool all_quiet) VRAMSTOW_REQUIRES(mutex_);
  // Replaces all slots by plain memory, so that later stores do not reach the file. Returns false
  // if that failed for at least one slot.
  bool DetachSlots() const;

 private:
  static constexpr size_t kMaxBuffers = 16384;  // threads that record at the same time

  ThreadBuffer* NewBuffer() VRAMSTOW_REQUIRES(mutex_);
  static void Reuse(ThreadBuffer* buffer);
  static void OnThreadExit(void* buffer);
  bool WatchThreadExit(ThreadBuffer* buffer) const;

  OpenTrace* trace_ = nullptr;
  RecorderState* owner_ = nullptr;
  ThreadWatch watch_ = nullptr;
  OwnerMutex mutex_;
  ThreadBuffer* free_ VRAMSTOW_GUARDED_BY(mutex_) = nullptr;
  std::atomic<uint32_t> count_{0};
  ThreadBuffer* buffers_[kMaxBuffers];  // written under mutex_, read up to count_ by all
};

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_THREAD_REGISTRY_H_
