#include "tracer/thread_registry.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tracer/capture/stack_capture.h"
#include "tracer/recorder_state.h"

namespace vramstow {
namespace {

// Close waits at most this many rounds for threads that are recording. A thread that takes longer
// was interrupted, or the disk hangs; its chunk is complete up to its last event anyway.
constexpr int kQuietRounds = 1000;
constexpr long kQuietRoundNs = 100'000;

// A thread-specific key that all recorders of the process share. Its value is the thread's
// ThreadBuffer.
pthread_key_t g_exit_key;
bool g_has_exit_key = false;
pthread_once_t g_exit_key_once = PTHREAD_ONCE_INIT;

uint32_t ThisThread() { return static_cast<uint32_t>(syscall(SYS_gettid)); }

}  // namespace

void ThreadRegistry::OnThreadExit(void* buffer) {
  ThreadBuffer* const ended = static_cast<ThreadBuffer*>(buffer);
  ended->owner->OnThreadExit(ended);
}

// Makes sure that the buffer is returned when the thread ends. If the configured ThreadWatch fails,
// the recorder uses a key of its own. For such a key glibc allocates memory from the heap, once per
// thread, if the process uses more than 32 keys.
bool ThreadRegistry::WatchThreadExit(ThreadBuffer* buffer) const {
  if (watch_ != nullptr && watch_(OnThreadExit, buffer) != 0) return true;
  pthread_once(&g_exit_key_once,
               [] { g_has_exit_key = pthread_key_create(&g_exit_key, OnThreadExit) == 0; });
  return g_has_exit_key && pthread_setspecific(g_exit_key, buffer) == 0;
}

ThreadBuffer* ThreadRegistry::Attach(void** slot) {
  if (slot == nullptr || !trace_->IsRecording()) return nullptr;
  if (!mutex_.Lock(slot)) return nullptr;
  ThreadBuffer* buffer = nullptr;
  if (trace_->IsRecording()) {  // otherwise Close may have finished with the buffers
    buffer = free_;
    if (buffer != nullptr) {
      free_ = buffer->next_free;
      Reuse(buffer);
    } else {
      buffer = NewBuffer();
    }
  }
  mutex_.Unlock();
  if (buffer == nullptr) return nullptr;
  *slot = buffer;
  WatchThreadExit(buffer);
  return buffer;
}

// Lets this thread continue the chunk of another thread that has ended.
void ThreadRegistry::Reuse(ThreadBuffer* buffer) {
  buffer->thread = ThisThread();
  if (buffer->stack != nullptr) buffer->stack->native.Forget();
  // If the chunk has no room for a record that names the thread, the next event begins a new chunk.
  if (buffer->thread == buffer->chunk_thread ||
      buffer->chunk.room() < kMaxEncodedBytes + kEncodeSlack)
    return;
  buffer->chunk.Commit(EventEncoder::EncodeThread(buffer->chunk.next(), buffer->thread));
  buffer->chunk_thread = buffer->thread;
}

ThreadBuffer* ThreadRegistry::NewBuffer() {
  const uint32_t count = count_.load(std::memory_order_relaxed);
  if (count == kMaxBuffers) return nullptr;
  void* const memory = mmap(nullptr, sizeof(ThreadBuffer), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    trace_->Latch(ENOMEM);
    return nullptr;
  }
  int error = 0;
  const TraceFile::Slot slot = trace_->file.NewSlot(&error);
  if (slot.bytes == nullptr) {
    munmap(memory, sizeof(ThreadBuffer));
    trace_->Latch(error);
    return nullptr;
  }
  ThreadBuffer* const buffer = static_cast<ThreadBuffer*>(memory);  // zeros are its beginning
  buffer->owner = owner_;
  buffer->thread = ThisThread();
  buffer->number = count + 1;
  buffer->slots[0] = slot;
  buffer->chunk.SetPlace({&trace_->file, slot.bytes, slot.offset, kSlotBytes, trace_->id});
  buffers_[count] = buffer;
  count_.store(count + 1, std::memory_order_release);
  return buffer;
}

void ThreadRegistry::Return(ThreadBuffer* buffer, void** slot) {
  // The trace may be closed, or this may be a forked child, where the lock may be held forever. In
  // both cases the buffer is not needed any more.
  if (!trace_->IsRecording()) return;
  if (!mutex_.Lock(slot)) return;
  if (trace_->IsRecording()) {
    if (buffer->busy.load(std::memory_order_relaxed)) {
      // A signal handler has left Record by longjmp before the thread ended, so the state of the
      // chunk is unknown.
      buffer->chunk.Fill();
      buffer->busy.store(false, std::memory_order_release);
    }
    buffer->next_free = free_;
    free_ = buffer;
  }
  mutex_.Unlock();
}

bool ThreadRegistry::AwaitQuiet() const {
  for (int round = 0; round < kQuietRounds; ++round) {
    bool quiet = true;
    for (uint32_t i = 0; i < count() && quiet; ++i) {
      quiet = !at(i).busy.load(std::memory_order_seq_cst);
    }
    if (quiet) return true;
    const timespec pause = {0, kQuietRoundNs};
    nanosleep(&pause, nullptr);
  }
  return false;
}

uint64_t ThreadRegistry::CountRecorded() const {
  uint64_t events = 0;
  for (uint32_t i = 0; i < count(); ++i) {
    const ThreadBuffer& buffer = at(i);
    events += buffer.chunk.has_chunk() ? buffer.encoder.last_sequence() : buffer.recorded;
  }
  return events;
}

ThreadRegistry::LastSlot ThreadRegistry::Seal(bool all_quiet) {
  const bool shared = trace_->file.is_shared();
  LastSlot last;
  const auto note_end = [&last](const TraceFile::Slot& slot, uint32_t used_bytes) {
    if (slot.offset + kSlotBytes <= last.end) return;
    last.end = slot.offset + kSlotBytes;
    last.contents_end = slot.offset + used_bytes;
  };
  for (uint32_t i = 0; i < count(); ++i) {
    ThreadBuffer& buffer = at(i);
    ChunkWriter& chunk = buffer.chunk;
    const bool quiet = !buffer.busy.load(std::memory_order_acquire);
    const unsigned other = buffer.current ^ 1;
    if (shared) {
      // If a hanging thread still uses this slot, the slot counts as full, and its chunk is not
      // sealed.
      note_end(buffer.slots[buffer.current], !quiet              ? kSlotBytes
                                             : chunk.has_chunk() ? chunk.used_bytes()
                                                                 : 0);
      const bool is_handed = buffer.is_handed[other].load(std::memory_order_acquire);
      if (is_handed && all_quiet) SealChunkInPlace(buffer.slots[other].bytes);
      if (buffer.slots[other].bytes != nullptr) {
        // If a hanging thread may be about to hand this slot over, the slot counts as full.
        note_end(buffer.slots[other], is_handed || !quiet ? kSlotBytes : 0);
      }
    }
    if (!quiet || !chunk.has_chunk()) continue;
    if (shared) {
      chunk.SealInPlace();
    } else {
      chunk.Append();
    }
  }
  return last;
}

bool ThreadRegistry::DetachSlots() const {
  bool all = true;
  for (uint32_t i = 0; i < count(); ++i) {
    for (const TraceFile::Slot& slot : at(i).slots) {
      if (slot.bytes != nullptr) all = TraceFile::Detach(slot.bytes) && all;
    }
  }
  return all;
}

}  // namespace vramstow
