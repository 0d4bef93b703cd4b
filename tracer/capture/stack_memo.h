// StackMemo: the stacks that a thread had before, known again by few words.
//
// Idea: programs allocate in the same places over and over. To walk a native stack of sixty frames
// takes microseconds, most of them for memory that is in no cache, and pushes the program's own out
// of it. So a stack that was captured is remembered by its stack pointer, by the interpreter's
// frames (each by its code and place) and by the return addresses between here and the innermost
// Python frame, which are words on the stack at known distances. Where all of these are the same,
// the whole stack is: what a frame keeps on the stack has a size that its place in the code
// decides, so that each return address that is right says where the next one is. (Where the size
// is not decided so, and a frame is found by its frame pointer, the word from which that was
// restored is one of those that are compared.) Native frames further out lie between Python frames
// that are all compared, and at the same depth.
//
// A stack is mostly followed by the stack that followed it the last time. The words that know it
// are fetched while the program goes on.
//
// Once in a thousand times a stack counts as not known, so that nothing that changes unseen, as a
// code object that takes the place of one that is gone, is taken for what was there for long.
//
// Ownership: a thread's; lives in memory that is zero at first, of which only what is touched costs
// anything. Threads: one at a time. Errors: a stack that is not known. No heap, no lock. Units:
// addresses; distances in words.
#ifndef VRAMSTOW_TRACER_CAPTURE_STACK_MEMO_H_
#define VRAMSTOW_TRACER_CAPTURE_STACK_MEMO_H_

#include <cstddef>
#include <cstdint>

#include "tracer/capture/native_stack.h"
#include "tracer/capture/stack_frame.h"

namespace vramstow {

class StackMemo {
 public:
  // A look-up leaves it for Remember.
  struct Key {
    uintptr_t stack;  // the stack pointer
    uintptr_t frame;  // the frame pointer
    uint64_t hash;    // of it, of the interpreter's frames, and of what all stacks depend on
  };
  static Key KeyOf(const FramePlace& here, uint64_t python, uint64_t generation) {
    return {here.stack, here.frame,
            MixInto(MixInto(python, here.stack), generation) | uint64_t{1} << 32};
  }

  // The number that the stack was remembered with; 0: it is not known. Reads words up to the end
  // of the thread's stack, which `bounds` has.
  uint32_t Find(const Key& key, const StackBounds& bounds);

  // The walk has just been done from that stack pointer, by these rules. `marker`: an address in
  // the native frame that executes the innermost Python frames; 0: there are none. Stacks that
  // cannot be known again by their words are not remembered.
  void Remember(const Key& key, const NativeStack& walk, UnwindTable* rules, uintptr_t marker,
                uint32_t number);

 private:
  static constexpr size_t kWays = 8;
  static constexpr size_t kSets = 128;
  static constexpr size_t kMaxWords = 119;
  static constexpr uint16_t kUses = 1024;  // then it is looked at anew
  struct alignas(64) Entry {
    uint64_t values;  // of the words
    uint32_t number;
    uint16_t uses;
    uint8_t count;
    bool uses_register;  // of the frame pointer: a frame is found by it, and nobody has saved it
    uint16_t successor;  // the place of what came next
    uint16_t words[kMaxWords];  // how far above the stack pointer; the last is the farthest
  };
  static_assert(sizeof(Entry) == 256);
  // Stacks with the same key come one after the other, each time in the same order: an operator
  // that is called in one place calls others. So a search begins behind what was found last.
  struct alignas(64) Set {
    uint32_t keys[kWays];  // the upper half of each; 0: none
    size_t next;
    Entry entries[kWays];
  };
  static uint32_t Half(uint64_t key) { return static_cast<uint32_t>(key >> 32); }
  static size_t SetOf(uint64_t key) { return key / 2 % kSets; }
  // A place is set × kWays + way.
  Entry& EntryAt(size_t place) { return sets_[place / kWays].entries[place % kWays]; }
  const Entry& EntryAt(size_t place) const { return sets_[place / kWays].entries[place % kWays]; }
  static uint64_t ValuesOf(const Entry& entry, const Key& key);
  bool IsAt(size_t place, const Key& key, const StackBounds& bounds) const;
  void Follow(size_t place);

  Set sets_[kSets];
  size_t last_;  // the place of what was found last
};

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_CAPTURE_STACK_MEMO_H_
