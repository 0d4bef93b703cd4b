// NativeStack walks the calling thread's native stack, for a few nanoseconds per frame.
//
// Idea: the rule for a return address (unwind_rule.h) is looked up once and stored in a table that
// all threads share. An entry is two words, one of which is the exclusive or of the other one and
// the address. So entries need no lock: if two threads wrote one word each, the entry matches no
// address (Hyatt and Mann, "A lock-less transposition table", 2002).
//
// Most frames are the same as at the last walk, in calls that have not returned. So a walk stores
// its frames, and the stack addresses of all words that it read. When a later walk reaches a stored
// frame (the same instruction, the same registers) and all those words are unchanged, the rest of
// the walk must be the same.
//
// Ownership: UnwindTable lives in static storage or in memory that is zero at first. Threads: any
// number at once; a NativeStack belongs to one thread and its stack. Errors: a walk ends at unknown
// code, or if it would leave the stack. No heap, no lock, except for the few frames that libunwind
// steps over (unwind_library.h). Units: addresses.
#ifndef VRAMSTOW_TRACER_CAPTURE_NATIVE_STACK_H_
#define VRAMSTOW_TRACER_CAPTURE_NATIVE_STACK_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tracer/capture/stack_bounds.h"
#include "tracer/capture/stack_frame.h"
#include "tracer/capture/unwind_rule.h"

namespace vramstow {

class UnwindTable {
 public:
  // Returns the packed rule for the code before this return address (or at it, if `is_exact`).
  uint64_t Find(uintptr_t address, bool is_exact, CaptureMode mode) {
    Entry& entry = entries_[Place(address)];
    const uint64_t word = entry.word.load(std::memory_order_relaxed);
    const uint64_t check = entry.check.load(std::memory_order_relaxed);
    // Addresses are far below 2^63, so that bit can mark an address that a signal interrupted.
    const uint64_t key = address | uint64_t{is_exact} << 63;
    if ((word ^ check) == key) [[likely]]
      return word;
    return Fill(&entry, address, is_exact, mode, key);
  }

  // Removes all rules. Called when a library was unloaded, because another library may be loaded at
  // its address.
  void Clear();

 private:
  static constexpr size_t kEntries = 16384;
  struct Entry {
    std::atomic<uint64_t> word;
    std::atomic<uint64_t> check;
  };
  static size_t Place(uintptr_t address) {
    return static_cast<size_t>(address * 0x9E3779B97F4A7C15u >> 50);
  }
  static_assert(kEntries == size_t{1} << (64 - 50));
  uint64_t Fill(Entry* entry, uintptr_t address, bool is_exact, CaptureMode mode, uint64_t key);

  Entry entries_[kEntries];
};

// The registers that identify a frame.
struct FramePlace {
  uintptr_t address;   // the return address
  uintptr_t stack;     // the stack pointer
  uintptr_t frame;     // the frame pointer
  uintptr_t link = 0;  // arm64: the link register, if it holds the return address
};

// Reads a word of the stack. Sanitizers must not check this read, because they mark the memory
// between variables on the stack as invalid.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
__attribute__((no_sanitize("address"), no_sanitize("thread"), noinline)) inline uintptr_t WordAt(
#else
inline uintptr_t WordAt(
#endif
    uintptr_t address) {
  return *reinterpret_cast<const uintptr_t*>(address);
}

// One frame, and the stack words by which its caller was found.
struct NativeFrame {
  FramePlace place;
  uintptr_t end;          // the end of the function's part of the stack
  uintptr_t return_slot;  // where the caller's address was read; 0 if there is no caller
  uintptr_t frame_slot;   // where its frame pointer was read; 0 if it is unchanged
  uint64_t hash;          // the hash of the addresses from this frame outwards
};

class NativeStack {
 public:
  // Returns the frames from the innermost on, valid until the next Walk.
  const NativeFrame* frames() const { return frames_ + begin_; }
  size_t count() const { return kMaxStackFrames - begin_; }
  // True if the stack had more frames than are stored.
  bool is_cut() const { return is_cut_; }
  // True if the last walk read only words of the stack, and no registers, so that they can be
  // compared later.
  bool is_repeatable() const { return is_known_; }
  const StackBounds& bounds() const { return bounds_; }

  // Walks the stack from a point in a function that has not returned yet. If `epoch` differs from
  // the last walk's, nothing of that walk is reused.
  void Walk(UnwindTable* table, const FramePlace& start, uint64_t epoch,
            CaptureMode mode = CaptureMode::kMayAsk);

  // Removes the stored walk, so that the object can be used for the stack of another thread.
  void Forget() {
    bounds_ = {};
    is_known_ = false;
  }

 private:
  // Finds the caller of a frame. Returns false if the frame has no caller, or if the caller cannot
  // be found.
  bool Step(UnwindTable* table, bool is_exact, NativeFrame* frame, FramePlace* caller,
            bool* caller_is_exact);
  bool StepBehindSignal(NativeFrame* frame, FramePlace* caller);
  bool StepByLibrary(NativeFrame* frame, FramePlace* caller);
  bool IsStillTrue(size_t from) const;
  void Join(size_t fresh, size_t known, uint64_t epoch);
  bool Load(uintptr_t address, uintptr_t* value) const {
    if (!bounds_.HasWord(address)) return false;
    *value = WordAt(address);
    return true;
  }

  StackBounds bounds_;
  CaptureMode mode_;  // the mode of this walk
  uint64_t epoch_;
  size_t begin_;
  bool is_known_;  // frames_ from begin_ on can be reused
  bool is_cut_;
  bool is_unrepeatable_;                 // a value was read that IsStillTrue does not compare
  NativeFrame frames_[kMaxStackFrames];  // the outermost frame is always the last
  NativeFrame fresh_[kMaxStackFrames];   // the frames that the current walk had to find
};

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_CAPTURE_NATIVE_STACK_H_
