// Threads come and go: who gets which buffer.
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tracer/recorder_state.h"
#include "tracer/stack_tables.h"

namespace vramstow {
namespace {

// One key for all recorders of the process: its value is the thread's ThreadBuffer.
pthread_key_t g_exit_key;
bool g_has_exit_key = false;
pthread_once_t g_exit_key_once = PTHREAD_ONCE_INIT;

uint32_t ThisThread() { return static_cast<uint32_t>(syscall(SYS_gettid)); }

}  // namespace

// Sees to it that the buffer comes back when the thread ends. (glibc takes memory from the heap for
// it if the process uses more than 32 keys; once per thread.)
bool RecorderState::WatchThreadExit(ThreadBuffer* buffer) {
  pthread_once(&g_exit_key_once,
               [] { g_has_exit_key = pthread_key_create(&g_exit_key, OnThreadExit) == 0; });
  return g_has_exit_key && pthread_setspecific(g_exit_key, buffer) == 0;
}

// Gives this thread a buffer. Null: none to be had, or a signal handler interrupted this.
ThreadBuffer* RecorderState::Attach(void** slot) {
  if (slot == nullptr || !IsRecording()) return nullptr;
  if (!lock_.Lock(slot)) return nullptr;
  ThreadBuffer* buffer = nullptr;
  if (IsRecording()) {  // otherwise Close may be done with the buffers
    buffer = free_;
    if (buffer != nullptr) {
      free_ = buffer->next_free;
      TakeOver(buffer);
    } else {
      buffer = NewBuffer();
    }
  }
  lock_.Unlock();
  if (buffer == nullptr) return nullptr;
  *slot = buffer;
  WatchThreadExit(buffer);
  return buffer;
}

// This thread goes on in the chunk of another one that has ended.
void RecorderState::TakeOver(ThreadBuffer* buffer) {
  buffer->thread = ThisThread();
  if (buffer->stack != nullptr) buffer->stack->native.Forget();
  // Without room for this, the next event begins a new chunk.
  if (buffer->thread == buffer->chunk_thread ||
      buffer->chunk.room() < kMaxEncodedBytes + kEncodeSlack)
    return;
  buffer->chunk.Commit(EventEncoder::EncodeThread(buffer->chunk.next(), buffer->thread));
  buffer->chunk_thread = buffer->thread;
}

ThreadBuffer* RecorderState::NewBuffer() {
  const uint32_t count = buffer_count_.load(std::memory_order_relaxed);
  if (count == kMaxBuffers) return nullptr;
  void* const memory = mmap(nullptr, sizeof(ThreadBuffer), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    Latch(ENOMEM);
    return nullptr;
  }
  int error = 0;
  const TraceFile::Slot slot = file_.NewSlot(&error);
  if (slot.bytes == nullptr) {
    munmap(memory, sizeof(ThreadBuffer));
    Latch(error);
    return nullptr;
  }
  ThreadBuffer* const buffer = static_cast<ThreadBuffer*>(memory);  // zeros are its beginning
  buffer->owner = this;
  buffer->thread = ThisThread();
  buffer->number = count + 1;
  buffer->slots[0] = slot;
  buffer->chunk.SetPlace({&file_, slot.bytes, slot.offset, kSlotBytes, trace_id_});
  buffers_[count] = buffer;
  buffer_count_.store(count + 1, std::memory_order_release);
  return buffer;
}

void RecorderState::OnThreadExit(void* buffer) {
  ThreadBuffer* const ended = static_cast<ThreadBuffer*>(buffer);
  ended->owner->Detach(ended);
}

void RecorderState::Detach(ThreadBuffer* buffer) {
  void** const slot = thread_slot_();
  if (slot == nullptr || *slot != buffer) return;
  *slot = nullptr;
  ThreadBuffer* sole = buffer;
  sole_.compare_exchange_strong(sole, nullptr, std::memory_order_seq_cst);
  // In a child that was forked, or after Close, nobody needs it. Its lock may be held forever.
  if (!IsRecording()) return;
  if (!lock_.Lock(slot)) return;
  if (IsRecording()) {
    if (buffer->busy.load(std::memory_order_relaxed)) {
      // A signal handler left Record by longjmp and the thread ended: nobody knows how far it was.
      buffer->chunk.Fill();
      buffer->busy.store(false, std::memory_order_release);
    }
    buffer->next_free = free_;
    free_ = buffer;
  }
  lock_.Unlock();
}

}  // namespace vramstow
