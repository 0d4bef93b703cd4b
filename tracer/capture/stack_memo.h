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
// Why a hit is never the stack of something else: no word is left out, and nothing is assumed to be
// unchanged since the last capture. The interpreter reuses the memory of frames, so the address of
// a frame identifies nothing, and no frame is looked up by it. What is compared for a Python frame
// is its instruction address, which lies in the code object. It identifies code and line as long as
// no code object was destroyed, and the number of destroyed ones is a part of the key (CodeWatch).
// All frames are read from the thread's innermost frame outwards, by their present links. So the
// key is also different if the depth of a recursion or the caller of a generator is another one.
//
// The key and the words are compared by two polynomials modulo 2^64 in an odd constant. A single
// value that differs always changes its polynomial; several do so but for one case in 2^64.
//
// After a stack, a thread mostly captures the same next stack as the last time. So that one is
// compared first, and its words are prefetched while the program goes on.
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
    uint64_t hash;    // see KeyOf; never 0
    uintptr_t end;    // the end of the thread's stack
  };
  // `python` is a hash of the interpreter's frames, `generation` the one of the stacks' hashes. The
  // key contains the end of the thread's stack: a stack that was stored with other bounds is not
  // found, so that no word beyond them is read.
  static Key KeyOf(const FramePlace& here, uint64_t python, uint64_t generation,
                   const StackBounds& bounds) {
    const uint64_t hash = (python * kHashStep + here.stack) * kHashStep + generation + bounds.end;
    return {here.stack, here.frame, hash | 1, bounds.end};
  }

  // Returns the number that was stored with the stack, or 0 if the stack is unknown.
  uint32_t Find(const Key& key);

  // Stores the stack of the key with this number. `walk` has just walked it from the key's stack
  // pointer, by the rules `rules`. `marker` is an address in the native frame that executes the
  // innermost Python frames, or 0 if there are none. A stack that cannot be recognised by its words
  // is not stored, nor is one whose bounds were not known when its key was made.
  void Remember(const Key& key, const NativeStack& walk, UnwindTable* rules, uintptr_t marker,
                uint32_t number);

 private:
  static constexpr size_t kWays = 8;
  static constexpr size_t kSets = 128;
  static constexpr size_t kEntries = kSets * kWays;
  // Words are hashed in groups of this size. An incomplete group is filled up with its last word.
  static constexpr size_t kGroup = 4;
  static constexpr size_t kMaxWords = 112;
  static constexpr uint16_t kUses = 1024;  // then the stack is walked anew
  struct alignas(64) Entry {
    uint64_t key;     // the hash of the key; 0 if empty
    uint64_t values;  // a hash of the words
    uint32_t number;
    uint16_t uses;
    uint16_t successor;         // the index of the entry that followed
    uint8_t count;              // of words
    bool uses_register;         // a frame is found by the frame pointer, which was not saved
    uint16_t words[kMaxWords];  // distances from the stack pointer
  };
  static_assert(sizeof(Entry) == 256 && kMaxWords % kGroup == 0);

  // An entry's index is set × kWays + way. A key selects a set by its upper bits, which depend on
  // all bits that were hashed.
  static size_t SetOf(uint64_t key) { return key * kHashStep >> 57; }
  static_assert(kSets == size_t{1} << (64 - 57));
  static uint64_t ValuesOf(const Entry& entry, const Key& key);
  static bool IsSame(const Entry& entry, const Key& key) {
    return entry.key == key.hash && ValuesOf(entry, key) == entry.values;
  }
  size_t Search(Key key);
  void Store(const Entry& made);
  uint32_t Expire(Entry* entry);

  Entry entries_[kEntries];
  uint8_t next_way_[kSets];  // where the next stack of a set is stored
  size_t last_;              // the index of the entry that was found last
  size_t expected_;          // the index of the one that followed it the last time
};

// Returns a hash of the words that an entry names. Four words are hashed at a time, because the
// processor can do that in parallel: each of four sums takes every fourth word, with the fourth
// power of the constant. Together they are one polynomial with another power for each word.
inline uint64_t StackMemo::ValuesOf(const Entry& entry, const Key& key) {
  constexpr uint64_t kStep4 = kHashStep * kHashStep * kHashStep * kHashStep;
  uint64_t sums[kGroup] = {entry.uses_register ? key.frame : 1, 0, 0, 0};
  const auto word = [stack = key.stack](uint16_t at) { return WordAt(stack + uintptr_t{at} * 8); };
  const uint16_t* const end = entry.words + entry.count;
  for (const uint16_t* at = entry.words; at != end; at += kGroup) {
    sums[0] = sums[0] * kStep4 + word(at[0]);
    sums[1] = sums[1] * kStep4 + word(at[1]);
    sums[2] = sums[2] * kStep4 + word(at[2]);
    sums[3] = sums[3] * kStep4 + word(at[3]);
  }
  return ((sums[0] * kHashStep + sums[1]) * kHashStep + sums[2]) * kHashStep + sums[3];
}

inline uint32_t StackMemo::Find(const Key& key) {
  size_t place = expected_;
  if (!IsSame(entries_[place], key)) [[unlikely]] {
    place = Search(key);
    if (place == kEntries) return 0;
  }
  Entry& entry = entries_[place];
  last_ = place;
  expected_ = entry.successor;
  const auto* const next = reinterpret_cast<const char*>(&entries_[entry.successor]);
  __builtin_prefetch(next, 1);
  __builtin_prefetch(next + 64);
  __builtin_prefetch(next + 128);
  if (++entry.uses >= kUses) [[unlikely]]
    return Expire(&entry);
  return entry.number;
}

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_CAPTURE_STACK_MEMO_H_
