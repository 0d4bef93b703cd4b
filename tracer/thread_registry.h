// ThreadRegistry: which thread has which buffer.
//
// Idea: a thread gets a buffer at its first event, and gives it back when it ends; then the next
// new thread goes on in it. Buffers are made and never unmade, so that each of them may be looked
// at at any time.
//
// Ownership: all buffers, and their slots of the file, for the life of the process. Threads: Start
// before others know the object, the rest by any thread. Locks: mutex_ guards the list of buffers
// and the free list; nothing else is taken while it is held, but the file grows. A signal handler
// that interrupted the holder is refused. Errors: null. No heap, except glibc's own for the end of
// a thread. Units: buffers.
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
  // When a thread with a buffer ends, `owner->OnThreadExit` is called.
  void Start(OpenTrace* trace, RecorderState* owner, ThreadWatch watch) {
    trace_ = trace;
    owner_ = owner;
    watch_ = watch;
  }

  // Gives this thread a buffer and puts it into the slot. Null: there is none to be had, or this is
  // a signal handler that interrupted the same.
  ThreadBuffer* Attach(void** slot);
  // The calling thread ends: its buffer is free for another one.
  void Return(ThreadBuffer* buffer, void** slot);

  uint32_t count() const { return count_.load(std::memory_order_acquire); }
  // index < count().
  ThreadBuffer& at(uint32_t index) const { return *buffers_[index]; }

  // Waits a while until no buffer is busy. False: one still is.
  bool AwaitQuiet() const;
  // How many events are in the buffers' chunks, those included that were appended to the file.
  uint64_t CountRecorded() const;

  // Taken by Close before the lock of the tables.
  OwnerMutex* mutex() VRAMSTOW_LOCK_RETURNED(mutex_) { return &mutex_; }

  // Where the last of all slots ends in the file, and where what matters of it ends.
  struct LastSlot {
    uint64_t end = 0;
    uint64_t contents_end = 0;
  };
  // Seals all chunks of buffers that are not busy. Where slots are no part of the file, their
  // chunks are written instead. `all_quiet`: no buffer is busy, and no other thread writes slots.
  LastSlot Seal(bool all_quiet) VRAMSTOW_REQUIRES(mutex_);
  // Puts plain memory in the place of all slots. False: not for all of them.
  bool DetachSlots() const;

 private:
  static constexpr size_t kMaxBuffers = 16384;  // threads that record at the same time

  ThreadBuffer* NewBuffer() VRAMSTOW_REQUIRES(mutex_);
  static void TakeOver(ThreadBuffer* buffer);
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
