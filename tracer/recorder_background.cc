// The recorder's own thread: writes the chunks that others have filled, and looks at the host's
// memory.
//
// A full slot is handed over as it is and stays in the file, open, until its chunk was appended: a
// kill in between loses nothing, and a reader takes one of the two.
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tracer/compressor.h"
#include "tracer/host_memory.h"
#include "tracer/recorder_state.h"

namespace vramstow {
namespace {

constexpr size_t kStackBytes = 128 * 1024;
constexpr uint32_t kNeverMs = 3'600'000;

uint64_t NowMs() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000 + static_cast<uint64_t>(now.tv_nsec) / 1'000'000;
}

uint32_t* FutexWord(std::atomic<uint32_t>* word) { return reinterpret_cast<uint32_t*>(word); }

}  // namespace

// Without a thread others write their chunks themselves.
void RecorderState::StartBackground(const RecorderConfig& config) {
  if (!config.background || !file_.is_shared()) return;
  if (config.compress) compressor_ = Compressor::Create();
  sample_ms_ = config.sample_ms;
  on_sample_ = config.on_sample;
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return;
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  // The program's signals are for its own threads: the new thread inherits this mask.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  background_.store(Background::kRuns, std::memory_order_relaxed);
  pthread_t thread;
  if (pthread_create(&thread, &attributes, RunBackground, this) != 0) {
    background_.store(Background::kNone, std::memory_order_relaxed);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
}

void* RecorderState::RunBackground(void* self) {
  pthread_setname_np(pthread_self(), "vramstow-trace");
  RecorderState* const state = static_cast<RecorderState*>(self);
  state->BackgroundRound();
  state->background_.store(Background::kStopped, std::memory_order_release);
  return nullptr;
}

void RecorderState::BackgroundRound() {
  uint64_t sample_at = sample_ms_ == 0 ? ~uint64_t{0} : NowMs() + sample_ms_;
  while (background_.load(std::memory_order_acquire) == Background::kRuns) {
    const uint32_t seen = handed_over_.load(std::memory_order_acquire);
    const uint32_t count = buffer_count_.load(std::memory_order_acquire);
    for (uint32_t i = 0; i < count; ++i) {
      for (const unsigned which : {0u, 1u}) {
        if (!buffers_[i]->is_handed[which].load(std::memory_order_acquire)) continue;
        if (background_.load(std::memory_order_acquire) != Background::kRuns) return;
        WriteHanded(buffers_[i], which);
      }
    }
    const uint64_t now = NowMs();
    if (now >= sample_at) {
      TakeSample();
      if (on_sample_ != nullptr) on_sample_();
      sample_at = now + sample_ms_;
    }
    const uint64_t wait_ms = sample_ms_ == 0 ? kNeverMs : sample_at - now;
    const timespec wait = {static_cast<time_t>(wait_ms / 1000),
                           static_cast<long>(wait_ms % 1000) * 1'000'000};
    syscall(SYS_futex, FutexWord(&handed_over_), FUTEX_WAIT_PRIVATE, seen, &wait);
  }
}

// Gives the buffer its other slot, so that the full one can be handed over. False: the recorder's
// thread still has the other one, or there is no such thread.
bool RecorderState::TakeOtherSlot(ThreadBuffer* buffer) {
  if (background_.load(std::memory_order_relaxed) != Background::kRuns) return false;
  const uint32_t other = buffer->current ^ 1;
  if (buffer->is_handed[other].load(std::memory_order_acquire)) return false;
  if (buffer->slots[other].bytes == nullptr) {
    int error = 0;
    buffer->slots[other] = file_.NewSlot(&error);
    if (buffer->slots[other].bytes == nullptr) return false;
  }
  buffer->chunk.MoveTo(buffer->slots[other]);
  buffer->current = other;
  return true;
}

// Gives the buffer's other slot, which is full, to the recorder's thread. A chunk has begun in the
// current one: so the file has a chunk of each buffer, which says how many events it had, even if
// this thread stands still here until a ring has gone round.
void RecorderState::HandOver(ThreadBuffer* buffer) {
  buffer->is_handed[buffer->current ^ 1].store(true, std::memory_order_release);
  handed_over_.fetch_add(1, std::memory_order_release);
  syscall(SYS_futex, FutexWord(&handed_over_), FUTEX_WAKE_PRIVATE, 1);
}

// On an error the chunk stays in its slot, and the recorder has stopped.
void RecorderState::WriteHanded(ThreadBuffer* buffer, unsigned which) {
  uint8_t* const slot = buffer->slots[which].bytes;
  const ChunkHeader& header = *reinterpret_cast<const ChunkHeader*>(slot);
  if (!IsRecording()) return;
  const uint8_t* bytes = slot + sizeof header;
  const uint32_t size = header.committed;
  uint32_t written = compressor_ == nullptr ? 0 : compressor_->Compress(bytes, size);
  const ChunkEncoding encoding = written == 0 ? ChunkEncoding::kPlain : ChunkEncoding::kZstd;
  if (written == 0) {
    written = size;
  } else {
    bytes = compressor_->result();
  }
  const int error = AppendChunk(&file_, header, encoding, bytes, written, size);
  if (error != 0) {
    Latch(error);
    return;
  }
  ClearChunk(slot);
  buffer->is_handed[which].store(false, std::memory_order_release);
}

// What a host that runs out of memory looks like before its end.
void RecorderState::TakeSample() {
  const HostMemory memory = ReadHostMemory();
  RecordWithStack(
      HostMemoryInfo{memory.free, memory.limit, memory.resident, memory.is_of_group}.ToEvent());
}

// Waits a moment for the thread to be out of what it does. False: it is not.
bool RecorderState::StopBackground() {
  Background runs = Background::kRuns;
  if (!background_.compare_exchange_strong(runs, Background::kIsToStop,
                                           std::memory_order_acq_rel)) {
    return runs != Background::kIsToStop;
  }
  handed_over_.fetch_add(1, std::memory_order_release);
  syscall(SYS_futex, FutexWord(&handed_over_), FUTEX_WAKE_PRIVATE, 1);
  constexpr int kMaxWaits = 1000;
  for (int i = 0; i < kMaxWaits; ++i) {
    if (background_.load(std::memory_order_acquire) == Background::kStopped) return true;
    const timespec pause = {0, 100'000};
    nanosleep(&pause, nullptr);
  }
  return false;
}

}  // namespace vramstow
