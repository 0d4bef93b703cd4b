// The calling thread's native stack, frame by frame, for a few nanoseconds each.
//
// Idea: the rule for a return address (unwind_rule.h) is looked up once and kept in a table that
// all threads share. An entry is two words, of which one holds their exclusive or with the address,
// so that entries need no lock: what two threads wrote half each matches no address (Hyatt and
// Mann, "A lock-less transposition table", 2002).
//
// Ownership: UnwindTable lives in static storage or in memory that is zero at first. Threads: any
// number at once; NativeWalk is one thread's, for its own stack. Errors: a walk ends where nothing
// is known about the code, or where it would leave the stack. No heap, no lock. Units: addresses.
#ifndef VRAMSTOW_TRACER_CAPTURE_NATIVE_STACK_H_
#define VRAMSTOW_TRACER_CAPTURE_NATIVE_STACK_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tracer/capture/stack_bounds.h"
#include "tracer/capture/unwind_rule.h"

namespace vramstow {

class UnwindTable {
 public:
  // The packed rule for the code before this return address (or at it, if `is_exact`).
  uint64_t Find(uintptr_t address, bool is_exact) {
    Entry& entry = entries_[Place(address)];
    const uint64_t word = entry.word.load(std::memory_order_relaxed);
    const uint64_t check = entry.check.load(std::memory_order_relaxed);
    // Addresses are far below 2^63: a place where a signal came is told apart by that bit.
    const uint64_t key = address | uint64_t{is_exact} << 63;
    if ((word ^ check) == key) [[likely]]
      return word;
    return Fill(&entry, address, is_exact, key);
  }

  // Forgets all: a library is gone, and another one may take its place.
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
  uint64_t Fill(Entry* entry, uintptr_t address, bool is_exact, uint64_t key);

  Entry entries_[kEntries];
};

// What a frame is found by.
struct FramePlace {
  uintptr_t address;   // where the code goes on
  uintptr_t stack;     // the stack pointer
  uintptr_t frame;     // the frame pointer
  uintptr_t link = 0;  // arm64: the link register, where it still holds the return address
};

class NativeWalk {
 public:
  // Starts at a place in a function that has not returned yet. *bounds is kept from walk to walk.
  NativeWalk(UnwindTable* table, StackBounds* bounds, const FramePlace& start)
      : table_(table), bounds_(bounds), place_(start) {
    if (!bounds_->Has(start.stack)) bounds_->Find(start.stack);
  }

  uintptr_t address() const { return place_.address; }
  uintptr_t stack() const { return place_.stack; }
  // Whether the current frame was interrupted by a signal: address() is no return address.
  bool is_exact() const { return is_exact_; }
  // Where the current frame ends: everything that its function keeps on the stack is below.
  uintptr_t frame_end() const { return frame_end_; }

  // Finds out where the current frame ends and what its caller is. False: this is the last frame,
  // or no more is known.
  bool Look();
  // Goes on to the caller.
  void Step() {
    place_ = caller_;
    is_exact_ = caller_is_exact_;
  }

 private:
  bool LookBehindSignal();
  bool Load(uintptr_t address, uintptr_t* value) const {
    if (!bounds_->HasWord(address)) return false;
    *value = *reinterpret_cast<const uintptr_t*>(address);
    return true;
  }

  UnwindTable* table_;
  StackBounds* bounds_;
  FramePlace place_;
  FramePlace caller_ = {};
  uintptr_t frame_end_ = ~uintptr_t{0};
  bool is_exact_ = true;
  bool caller_is_exact_ = false;
};

inline bool NativeWalk::Look() {
  const uint64_t word = table_->Find(place_.address, is_exact_);
  const UnwindRule rule = UnwindRule::Unpack(word);
  uintptr_t end;
  switch (rule.kind) {
    case UnwindRule::kFromStack:
      end = place_.stack + static_cast<uintptr_t>(static_cast<intptr_t>(rule.cfa_offset));
      break;
    case UnwindRule::kFromFrame:
      end = place_.frame + static_cast<uintptr_t>(static_cast<intptr_t>(rule.cfa_offset));
      break;
    case UnwindRule::kRealigned:
      if (!Load(place_.frame + static_cast<uintptr_t>(static_cast<intptr_t>(rule.cfa_offset)),
                &end)) {
        return false;
      }
      break;
    case UnwindRule::kSignal:
      return LookBehindSignal();
    default:
      return false;
  }
  // A caller's frame is above. A function that has none (arm64) leaves it where it is.
  if (end < place_.stack || (end == place_.stack && rule.return_offset == 0 && place_.link == 0)) {
    return false;
  }
  frame_end_ = end;
  caller_.stack = end;
  caller_.frame = place_.frame;
  caller_.link = 0;
  const intptr_t saved_frame = rule.frame_offset;
  if (rule.kind == UnwindRule::kRealigned) {
    if (!Load(place_.frame, &caller_.frame)) return false;
  } else if (saved_frame != 0) {
    if (!Load(end + static_cast<uintptr_t>(saved_frame), &caller_.frame)) return false;
  }
  const intptr_t saved_return = rule.return_offset;
  if (saved_return == 0) {
    caller_.address = place_.link;
  } else if (!Load(end + static_cast<uintptr_t>(saved_return), &caller_.address)) {
    return false;
  }
#if defined(__aarch64__)
  // Without the signature that the processor may have put into the upper bits.
  caller_.address &= (uintptr_t{1} << 48) - 1;
#endif
  caller_is_exact_ = false;
  return caller_.address > 4096;
}

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_CAPTURE_NATIVE_STACK_H_
