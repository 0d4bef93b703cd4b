// StackMemo recognises a stack that the thread had before by a few words of the stack, without a
// walk.
//
// Idea: programs allocate at the same call sites again and again. A walk of a native stack of sixty
// frames takes microseconds, mostly for memory that is in no cache, and evicts the program's own
// memory from the caches. So a captured stack is stored with its stack pointer, the interpreter's
// frames (each by its code and instruction) and the return addresses between this function and the
// innermost Python frame. These return addresses are words on the stack at known distances. If all
// of these values are the same, the whole stack is the same: the size of a frame follows from its
// instruction address, so each correct return address determines the position of the next one.
// (Where the size does not follow from the instruction address, the frame is found by its frame
// pointer; then the word from which the frame pointer was restored is compared, too.) Native frames
// further out lie between Python frames that are all compared, and at the same depth.
//
// After a stack, a thread mostly captures the same next stack as the last time. So the words of
// that next stack are prefetched while the program goes on.
//
// Once in a thousand times a stack is treated as unknown. This limits the effect of unnoticed
// changes, for example of a code object that reuses the address of a destroyed one.
//
// Ownership: a thread's; lies in memory that is zero at first, of which only touched pages cost
// anything. Threads: one at a time. Errors: 0 for an unknown stack. No heap, no lock. Units:
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
  // The key of a look-up, which Remember uses afterwards.
  struct Key {
    uintptr_t stack;  // the stack pointer
    uintptr_t frame;  // the frame pointer
    uint64_t hash;    // a hash of these two, the interpreter's frames and the generation
  };
  static Key KeyOf(const FramePlace& here, uint64_t python, uint64_t generation) {
    return {here.stack, here.frame,
            MixInto(MixInto(python, here.stack), generation) | uint64_t{1} << 32};
  }

  // Returns the number that was stored with the stack, or 0 if the stack is unknown. Reads no words
  // beyond `bounds`, the range of the thread's stack.
  uint32_t Find(const Key& key, const StackBounds& bounds);

  // Stores the stack of the key with this number. `walk` has just walked it from the key's stack
  // pointer, by the rules `rules`. `marker` is an address in the native frame that executes the
  // innermost Python frames, or 0 if there are none. A stack that cannot be recognised by its words
  // is not stored.
  void Remember(const Key& key, const NativeStack& walk, UnwindTable* rules, uintptr_t marker,
                uint32_t number);

 private:
  static constexpr size_t kWays = 8;
  static constexpr size_t kSets = 128;
  static constexpr size_t kMaxWords = 119;
  static constexpr uint16_t kUses = 1024;  // then the stack is walked anew
  struct alignas(64) Entry {
    uint64_t values;  // a hash of the words
    uint32_t number;
    uint16_t uses;
    uint8_t count;
    bool uses_register;         // a frame is found by the frame pointer, which was not saved
    uint16_t successor;         // the index of the entry that followed
    uint16_t words[kMaxWords];  // distances from the stack pointer; the last is the largest
  };
  static_assert(sizeof(Entry) == 256);
  // The entries whose keys select this set. A call site often calls several operators one after the
  // other. The stacks of these calls have the same key, and follow each other in the same order
  // each time. So a search in the set begins at the entry `next`, the one after the entry that was
  // found last.
  struct alignas(64) Set {
    uint32_t keys[kWays];  // the upper half of each key; 0 if empty
    size_t next;
    Entry entries[kWays];
  };
  static uint32_t Half(uint64_t key) { return static_cast<uint32_t>(key >> 32); }
  static size_t SetOf(uint64_t key) { return key / 2 % kSets; }
  // An entry's index is set × kWays + way.
  Entry& EntryAt(size_t place) { return sets_[place / kWays].entries[place % kWays]; }
  const Entry& EntryAt(size_t place) const { return sets_[place / kWays].entries[place % kWays]; }
  static uint64_t ValuesOf(const Entry& entry, const Key& key);
  bool IsAt(size_t place, const Key& key, const StackBounds& bounds) const;
  void Follow(size_t place);

  Set sets_[kSets];
  size_t last_;  // the index of the entry found last
};

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_CAPTURE_STACK_MEMO_H_
