// The stack of the calling thread: native and Python frames in the order of their calls, and a
// number that no other stack has.
//
// Idea: the native stack is walked by its return addresses, the Python one is read from the
// interpreter. Each run of Python frames is executed by one call of the interpreter's loop, which
// keeps a record of it on the native stack: that call's frame, found by the address of the record,
// gives way to the Python frames. Frames are hashed as they are found, so that a stack that was
// seen before is found by one look-up, and nothing else is ever done for it.
//
// Ownership: one StackCapture for a recorder, one StackScratch for each thread, both in memory that
// is zero at first. Threads: any number at once, each with its own scratch. Errors: a stack that
// cannot be followed ends early. No heap; no lock in quiet mode; otherwise that of the list of
// libraries: so callers must hold none that a thread inside the dynamic linker could wait for.
// Units: addresses.
#ifndef VRAMSTOW_TRACER_CAPTURE_STACK_CAPTURE_H_
#define VRAMSTOW_TRACER_CAPTURE_STACK_CAPTURE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/zero_memory.h"
#include "tracer/capture/native_stack.h"
#include "tracer/capture/python_runtime.h"
#include "tracer/capture/stack_frame.h"
#include "tracer/capture/stack_memo.h"
#include "tracer/capture/symbol_search.h"

namespace vramstow {

struct CallerObject;

// Whether a thread knows Python's frames by their places alone. After a code object has gone it
// does so no more for a while, and for twice as long each time: to go from one way to the other
// means to walk all stacks once.
class FrameTrust {
 public:
  // `gone`: CodeWatch's count.
  bool TrustsPlaces(uint64_t gone) {
    if (gone != gone_) [[unlikely]]
      Distrust(gone);
    if (rest_ == 0) [[likely]]
      return gone != 0;
    --rest_;
    return false;
  }

 private:
  static constexpr uint32_t kFirstRest = 512;  // captures
  static constexpr uint32_t kLongestRest = uint32_t{1} << 20;
  void Distrust(uint64_t gone) {
    gone_ = gone;
    pause_ = pause_ == 0 ? kFirstRest : rest_ == 0 && pause_ < kLongestRest ? pause_ * 2 : pause_;
    rest_ = pause_;
  }

  uint64_t gone_;
  uint32_t pause_;
  uint32_t rest_;
};

struct StackScratch {
  StackMemo memo;
  FrameTrust trust;
  NativeStack native;
  size_t python_count;
  size_t segment_count;
  // Set by Merge.
  size_t count;                        // of frames
  bool is_cut;                         // there were more
  StackFrame frames[kMaxStackFrames];  // from the innermost on
  // Of these frames, for who writes them; null: in no library.
  const CallerObject* libraries[kMaxStackFrames];
  StackFrame python[kMaxStackFrames];
  PythonSegment segments[kMaxPythonSegments];
};

// Where the calling function is. To be expanded in a function that stays until the walk is over.
#if defined(__x86_64__)
#define VRAMSTOW_HERE(place)                                           \
  asm volatile("leaq 0(%%rip), %0\n\tmovq %%rsp, %1\n\tmovq %%rbp, %2" \
               : "=&r"((place).address), "=&r"((place).stack), "=&r"((place).frame))
#elif defined(__aarch64__)
#define VRAMSTOW_HERE(place)                                                         \
  asm volatile("adr %0, .\n\tmov %1, sp\n\tmov %2, x29\n\tmov %3, x30"               \
               : "=&r"((place).address), "=&r"((place).stack), "=&r"((place).frame), \
                 "=&r"((place).link))
#endif

class StackCapture {
 public:
  // Looks at the calling thread's stack; returns its number, which is never 0.
  uint64_t Capture(StackScratch* scratch, const FramePlace& here, CaptureMode mode);

  // Makes the key by which a stack that was captured before is known again. False: it cannot be
  // known so here.
  bool KeyOf(const FramePlace& here, FrameTrust* trust, StackMemo::Key* key) const;
  // The stack that was just captured is number `number`.
  void Remember(StackScratch* scratch, const StackMemo::Key& key, uint32_t number);

  // Puts the frames that were just captured in their order: scratch->frames.
  static void Merge(StackScratch* scratch);

  // Looks whether libraries came or went since the last time, and whether there is an interpreter.
  // True: what was captured before may be wrong, and every stack has another number from now on.
  // While one thread looks, the others do not wait for it: they get false.
  bool Refresh();

  // Forgets how code is walked: every stack has another number from now on.
  void Forget();

  // No thread captures any more: the rules become zeros, which cost no memory.
  void GiveBack() { MakeZero(&rules_, &rules_ + 1); }

  const PythonRuntime& python() const { return python_; }

 private:
  void BeginGeneration();

  UnwindTable rules_;
  PythonRuntime python_;
  std::atomic<uint64_t> generation_;
  std::atomic<bool> is_refreshing_;
  LibraryCounts libraries_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_CAPTURE_STACK_CAPTURE_H_
