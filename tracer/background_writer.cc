#include "tracer/background_writer.h"

#include <pthread.h>
#include <unistd.h>

#include "base/detached_thread.h"
#include "base/futex.h"
#include "base/monotonic_clock.h"
#include "tracer/compressor.h"
#include "tracer/trace_folder.h"

namespace vramstow {
namespace {

constexpr size_t kStackBytes = 128 * 1024;
constexpr uint32_t kNeverMs = 3'600'000;

uint64_t NowMs() { return MonotonicTime() / 1'000'000; }

}  // namespace

void BackgroundWriter::Start(const Config& config, OpenTrace* trace,
                             const ThreadRegistry* threads) {
  config_ = config;
  trace_ = trace;
  threads_ = threads;
  if (config.compress) compressor_ = Compressor::Create();
  if (trace->file.has_ring()) folder_ = TraceFolder::Create(trace, threads, compressor_);
  state_.store(State::kRuns, std::memory_order_relaxed);
  if (!StartDetachedThread(Run, this, kStackBytes)) {
    state_.store(State::kNone, std::memory_order_relaxed);
  }
}

void* BackgroundWriter::Run(void* self) {
  pthread_setname_np(pthread_self(), "vramstow-trace");
  BackgroundWriter* const writer = static_cast<BackgroundWriter*>(self);
  writer->WriteAndSample();
  writer->state_.store(State::kStopped, std::memory_order_release);
  return nullptr;
}

void BackgroundWriter::WriteAndSample() {
  sample_at_ms_ = config_.sample_ms == 0 ? ~uint64_t{0} : NowMs() + config_.sample_ms;
  while (state_.load(std::memory_order_acquire) == State::kRuns) {
    const uint32_t seen = handed_over_.load(std::memory_order_acquire);
    if (!WriteAllHanded()) return;
    if (folder_ != nullptr && folder_->IsNeeded()) folder_->Fold(Rests, this);
    Sample();
    const uint64_t now = NowMs();
    const uint64_t wait_ms = config_.sample_ms == 0 ? kNeverMs
                             : now < sample_at_ms_  ? sample_at_ms_ - now
                                                    : 0;
    FutexWaitUpTo(&handed_over_, seen, wait_ms * 1'000'000);
  }
}

void BackgroundWriter::Sample() {
  const uint64_t now = NowMs();
  if (now < sample_at_ms_) return;
  config_.on_sample(config_.context);
  sample_at_ms_ = now + config_.sample_ms;
}

// Called between the parts of a long operation. It does the thread's other work, and returns false
// if the thread has to stop.
bool BackgroundWriter::Rests(void* self) {
  BackgroundWriter* const writer = static_cast<BackgroundWriter*>(self);
  if (!writer->WriteAllHanded()) return false;
  writer->Sample();
  return writer->state_.load(std::memory_order_acquire) == State::kRuns;
}

// Writes all chunks that other threads have handed over. Returns false if the thread has to stop.
bool BackgroundWriter::WriteAllHanded() {
  const uint32_t count = threads_->count();
  for (uint32_t i = 0; i < count; ++i) {
    ThreadBuffer& buffer = threads_->at(i);
    for (const unsigned which : {0u, 1u}) {
      if (!buffer.is_handed[which].load(std::memory_order_acquire)) continue;
      if (state_.load(std::memory_order_acquire) != State::kRuns) return false;
      WriteHanded(&buffer, which);
    }
  }
  return true;
}

bool BackgroundWriter::ClaimOtherSlot(ThreadBuffer* buffer) {
  if (state_.load(std::memory_order_relaxed) != State::kRuns) return false;
  const uint32_t other = buffer->current ^ 1;
  if (buffer->is_handed[other].load(std::memory_order_acquire)) return false;
  if (buffer->slots[other].bytes == nullptr) {
    int error = 0;
    buffer->slots[other] = trace_->file.NewSlot(&error);
    if (buffer->slots[other].bytes == nullptr) return false;
  }
  buffer->chunk.MoveTo(buffer->slots[other]);
  buffer->current = other;
  return true;
}

void BackgroundWriter::HandOver(ThreadBuffer* buffer) {
  buffer->is_handed[buffer->current ^ 1].store(true, std::memory_order_release);
  Wake();
}

void BackgroundWriter::Wake() {
  handed_over_.fetch_add(1, std::memory_order_release);
  FutexWakeOne(&handed_over_);
}

// Writes one chunk to the file. After an error the chunk remains in its slot, and nothing more is
// recorded.
void BackgroundWriter::WriteHanded(ThreadBuffer* buffer, unsigned which) {
  uint8_t* const slot = buffer->slots[which].bytes;
  const ChunkHeader& header = *reinterpret_cast<const ChunkHeader*>(slot);
  if (!trace_->IsRecording()) return;
  const uint32_t size = header.committed;
  const Compressor::Encoded encoded = Compressor::Encode(
      compressor_, static_cast<ChunkKind>(header.kind), slot + sizeof header, size);
  const int error =
      AppendChunk(&trace_->file, header, encoded.encoding, encoded.bytes, encoded.size, size);
  if (error != 0) {
    trace_->Latch(error);
    return;
  }
  ClearChunk(slot);
  buffer->is_handed[which].store(false, std::memory_order_release);
}

bool BackgroundWriter::Stop() {
  State runs = State::kRuns;
  if (!state_.compare_exchange_strong(runs, State::kIsToStop, std::memory_order_acq_rel)) {
    return runs != State::kIsToStop;
  }
  Wake();
  constexpr int kMaxWaits = 1000;
  for (int i = 0; i < kMaxWaits; ++i) {
    if (state_.load(std::memory_order_acquire) == State::kStopped) {
      if (compressor_ != nullptr) Compressor::Destroy(compressor_);
      compressor_ = nullptr;
      return true;
    }
    const timespec pause = {0, 100'000};
    nanosleep(&pause, nullptr);
  }
  return false;
}

}  // namespace vramstow
