// RecordingStatus: whether a trace still records, how it records, and what it has lost.
//
// Idea: recording an event must not race with Close, with a fork or with a full disk, and must not
// pay for that either. All of these change one word, the condition. A thread reads it after it has
// marked its buffer as busy. Close changes the condition and then has the kernel send a memory
// barrier to all threads of the process (thread_barrier.h): so each event either comes before it,
// and Close sees that the buffer is busy, or comes after it and sees the changed condition. Where
// the kernel cannot send that barrier, each event has a barrier of its own (MarkBusy). The
// condition lies in a page that the kernel zeroes in a forked child, so that even a child that
// nobody announced records nothing.
//
// Ownership: the page of the condition. Threads: all methods by any thread at any time, but for
// Make, Unmake, SetHeader and SetMode, which are called before others know the object. Errors: see
// Make. No heap, no locks. Units: events, nanoseconds.
#ifndef VRAMSTOW_TRACER_RECORDING_STATUS_H_
#define VRAMSTOW_TRACER_RECORDING_STATUS_H_

#include <atomic>
#include <cstdint>

#include "tracer/format/layout.h"

namespace vramstow {

class ChunkWriter;
class EventOrder;

// How events are recorded.
enum class RecordMode : uint8_t {
  kGeneral,         // with all checks: without a trusted counter, or after a fork
  kFast,            // by ticks, without stacks, with a static slot and the kernel's barriers
  kFastWithStacks,  // so if the caller has looked at the stack; with all checks otherwise
  kCountOnly,       // nothing is stored any more; lost events are counted
};
inline bool IsFast(RecordMode mode) {
  return mode == RecordMode::kFast || mode == RecordMode::kFastWithStacks;
}

class RecordingStatus {
 public:
  // Zero is what a forked child finds.
  enum Condition : uint32_t { kForked = 0, kRecording, kGapPending, kLatched, kClosed };

  // Takes the page, and says that events are recorded. False: there is no memory.
  bool Make();
  void Unmake();
  // Where losses are counted. The header may move while the file is being made.
  void SetHeader(FileHeader* header) { header_ = header; }
  void SetMode(RecordMode mode) { mode_.store(mode, std::memory_order_relaxed); }
  // Threads need barriers of their own, because the kernel offers none.
  void SetNeedsBarrier(bool needs_barrier) { needs_barrier_ = needs_barrier; }

  uint32_t condition() const { return condition_->load(std::memory_order_relaxed); }
  bool IsRecording() const { return condition() == kRecording || condition() == kGapPending; }
  RecordMode mode() const { return mode_.load(std::memory_order_relaxed); }
  bool needs_barrier() const { return needs_barrier_; }

  // Marks a buffer as busy, before the condition is read.
  void MarkBusy(std::atomic<bool>* busy) const {
    busy->store(true, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (needs_barrier_) [[unlikely]] {
      // In the one order of all such accesses, as those of Close: one of the two sees the other.
      busy->exchange(true, std::memory_order_seq_cst);
      (void)condition_->load(std::memory_order_seq_cst);
    }
  }

  // An event cannot be recorded now, by the thread that has it: a gap event counts it later.
  void Drop();
  // An event is lost, because nothing can be recorded any more. It is counted in the chunk of its
  // thread, if there is one.
  void CountLost(ChunkWriter* chunk);
  // How many dropped events no gap event has counted yet. The caller writes that gap event.
  uint64_t TakeGap();

  // No more is recorded: the disk is full, or worse. To try again with each event would make the
  // job slower for nothing.
  void Latch(int error, const EventOrder& order);
  // No event that begins from now on is recorded. False: this is a forked child.
  bool Close();
  // The same in a forked child. Async-signal-safe.
  void Abandon() { condition_->store(kForked, std::memory_order_relaxed); }

 private:
  std::atomic<uint32_t>* condition_ = nullptr;
  std::atomic<RecordMode> mode_{RecordMode::kGeneral};
  bool needs_barrier_ = false;
  FileHeader* header_ = nullptr;
  std::atomic<uint64_t> gap_events_{0};  // dropped, and in no gap event yet
};

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_RECORDING_STATUS_H_
