// RecordingStatus stores whether and how a trace records, and counts the events that were lost.
//
// Idea: recording an event must not race with Close, with a fork or with a full disk, and this
// protection must not cost time. All of these change one word, the condition. A thread reads the
// condition after it has marked its buffer as busy. Close changes the condition and then has the
// kernel execute a memory barrier in all threads of the process (thread_barrier.h). If an event
// began before the barrier, Close sees that the buffer is busy. If it begins after the barrier, the
// thread sees the changed condition. If the kernel cannot do that, each event executes its own
// barrier (MarkBusy). The condition lies in a page that the kernel zeroes in a forked child, so
// that even a child whose fork was not reported records nothing.
//
// Ownership: the page of the condition. Threads: all methods by any thread at any time, except
// Make, Unmake, SetHeader and SetMode, which are called before other threads know the object.
// Errors: see Make. No heap, no locks. Units: events, nanoseconds.
#ifndef VRAMSTOW_TRACER_RECORDING_STATUS_H_
#define VRAMSTOW_TRACER_RECORDING_STATUS_H_

#include <atomic>
#include <cstdint>

#include "tracer/format/layout.h"

namespace vramstow {

class ChunkWriter;
class EventOrder;

// The way in which events are recorded.
enum class RecordMode : uint8_t {
  kGeneral,         // makes all checks: without a trusted counter, or after a fork
  kFast,            // ticks, no stacks, a static slot and the kernel's barriers
  kFastWithStacks,  // like kFast if the caller has captured the stack, else like kGeneral
  kCountOnly,       // nothing is stored any more; lost events are counted
};
inline bool IsFast(RecordMode mode) {
  return mode == RecordMode::kFast || mode == RecordMode::kFastWithStacks;
}

class RecordingStatus {
 public:
  // The kernel zeroes the condition in a forked child, so 0 means kForked.
  enum Condition : uint32_t { kForked = 0, kRecording, kGapPending, kLatched, kClosed };

  // Maps the page, and sets the condition to kRecording. Returns false if there is no memory.
  bool Make();
  void Unmake();
  // Sets the header in which losses are counted. The header may move while the file is being made.
  void SetHeader(FileHeader* header) { header_ = header; }
  void SetMode(RecordMode mode) { mode_.store(mode, std::memory_order_relaxed); }
  // Sets whether each thread has to execute its own barriers, because the kernel offers none for
  // all threads.
  void SetNeedsBarrier(bool needs_barrier) { needs_barrier_ = needs_barrier; }

  uint32_t condition() const { return condition_->load(std::memory_order_relaxed); }
  bool IsRecording() const { return condition() == kRecording || condition() == kGapPending; }
  RecordMode mode() const { return mode_.load(std::memory_order_relaxed); }
  bool needs_barrier() const { return needs_barrier_; }

  // Marks a buffer as busy. Called before the condition is read.
  void MarkBusy(std::atomic<bool>* busy) const {
    busy->store(true, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (needs_barrier_) [[unlikely]] {
      // All sequentially consistent accesses, including those of Close, have one total order. So
      // this thread sees the condition that Close has stored, or Close sees that the buffer is
      // busy.
      busy->exchange(true, std::memory_order_seq_cst);
      (void)condition_->load(std::memory_order_seq_cst);
    }
  }

  // Counts an event that its thread cannot record now; a gap event reports it later.
  void Drop();
  // Counts a lost event after recording has stopped, in the chunk of its thread if there is one.
  void CountLost(ChunkWriter* chunk);
  // Returns the number of dropped events that no gap event has reported yet. The caller writes that
  // gap event.
  uint64_t ClearGap();

  // Stops recording after an error, for example on a full disk. Otherwise each event would retry
  // the write, which would only make the job slower.
  void Latch(int error, const EventOrder& order);
  // Ends recording: no event that begins later is recorded. Returns false if this is a forked
  // child.
  bool Close();
  // Notes in the header that the process ends with this status, and the file's length, which the
  // file has reached on the disk. Events may still be recorded.
  // Does nothing in a forked child, and after Close. Async-signal-safe.
  void NoteExit(int status, uint64_t length);
  // Ends recording in a forked child. Async-signal-safe.
  void Abandon() { condition_->store(kForked, std::memory_order_relaxed); }

 private:
  std::atomic<uint32_t>* condition_ = nullptr;
  std::atomic<RecordMode> mode_{RecordMode::kGeneral};
  bool needs_barrier_ = false;
  FileHeader* header_ = nullptr;
  std::atomic<uint64_t> gap_events_{0};  // dropped events that no gap event has reported yet
};

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_RECORDING_STATUS_H_
