#include "tracer/recording_status.h"

#include <sys/mman.h>

#include <new>

#include "tracer/chunk_writer.h"
#include "tracer/event_order.h"

namespace vramstow {
namespace {

void AddOne(uint64_t* count) {
  std::atomic_ref<uint64_t>(*count).fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

bool RecordingStatus::Make() {
  void* const page =
      mmap(nullptr, sizeof *condition_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return false;
  // An older kernel does not support MADV_WIPEONFORK. Then only AbandonAfterFork ends the recording
  // in a forked child.
  madvise(page, sizeof *condition_, MADV_WIPEONFORK);
  condition_ = new (page) std::atomic<uint32_t>(kRecording);
  return true;
}

void RecordingStatus::Unmake() {
  if (condition_ != nullptr) munmap(condition_, sizeof *condition_);
  condition_ = nullptr;
}

void RecordingStatus::Drop() {
  switch (condition()) {
    case kLatched:
      return AddOne(&header_->lost_events);
    case kForked:
    case kClosed:
      return;
    default:
      break;
  }
  AddOne(&header_->dropped_events);
  gap_events_.fetch_add(1, std::memory_order_acq_rel);
  uint32_t expected = kRecording;
  condition_->compare_exchange_strong(expected, kGapPending, std::memory_order_acq_rel);
}

void RecordingStatus::CountLost(ChunkWriter* chunk) {
  if (!chunk->CountLost()) AddOne(&header_->lost_events);
}

uint64_t RecordingStatus::ClearGap() {
  uint32_t expected = kGapPending;
  condition_->compare_exchange_strong(expected, kRecording, std::memory_order_acq_rel);
  return gap_events_.exchange(0, std::memory_order_acq_rel);
}

void RecordingStatus::Latch(int error, const EventOrder& order) {
  uint32_t before = condition();
  do {
    if (before != kRecording && before != kGapPending) return;
  } while (!condition_->compare_exchange_weak(before, kLatched, std::memory_order_acq_rel));
  SetMode(RecordMode::kCountOnly);
  std::atomic_ref<uint64_t>(header_->latch_time_ns)
      .store(order.clock().Nanoseconds(), std::memory_order_relaxed);
  std::atomic_ref<uint64_t>(header_->latch_sequence)
      .store(order.PlaceOfNext(), std::memory_order_relaxed);
  std::atomic_ref<uint32_t>(header_->latch_error)
      .store(static_cast<uint32_t>(error), std::memory_order_relaxed);
}

void RecordingStatus::NoteExit(int status, uint64_t length) {
  const uint32_t before = condition();
  if (before == kForked || before == kClosed) return;
  uint32_t running = static_cast<uint32_t>(TraceState::kRunning);
  uint64_t unknown = 0;
  std::atomic_ref<uint64_t>(header_->file_bytes)
      .compare_exchange_strong(unknown, length, std::memory_order_relaxed);
  // Only the first caller's status counts. If Close ends meanwhile, the trace is closed.
  std::atomic_ref<uint32_t>(header_->state)
      .compare_exchange_strong(running, StateAtExit(status), std::memory_order_release);
}

bool RecordingStatus::Close() {
  uint32_t before = condition();
  while (before != kForked &&
         !condition_->compare_exchange_weak(before, kClosed, std::memory_order_seq_cst)) {
  }
  return before != kForked;
}

}  // namespace vramstow
