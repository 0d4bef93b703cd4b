// StackCapture captures the stack of the calling thread, native and Python frames in the order of
// their calls, and hashes it.
//
// Idea: the native stack is walked by its return addresses, the Python stack is read from the
// interpreter. Each run of Python frames is executed by one call of the interpreter's loop, which
// has a record on the native stack. The native frame that contains the record's address is replaced
// by the Python frames. Frames are hashed when they are found, so a stack that was captured before
// costs one look-up and nothing more.
//
// Ownership: one StackCapture for a recorder, one StackScratch for each thread, both in memory that
// is zero at first. Threads: any number at once, each with its own scratch. Errors: a stack that
// cannot be followed ends early. No heap. In quiet mode no lock is taken. Otherwise the lock of the
// dynamic linker's list of libraries is taken, so callers must hold no lock that a thread inside
// the dynamic linker could wait for. Units: addresses.
#ifndef VRAMSTOW_TRACER_CAPTURE_STACK_CAPTURE_H_
#define VRAMSTOW_TRACER_CAPTURE_STACK_CAPTURE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/zero_memory.h"
#include "tracer/capture/code_watch.h"
#include "tracer/capture/native_stack.h"
#include "tracer/capture/python_runtime.h"
#include "tracer/capture/stack_frame.h"
#include "tracer/capture/stack_memo.h"
#include "tracer/capture/symbol_search.h"

namespace vramstow {

struct CallerObject;

// Decides whether a thread may identify Python frames by their instruction addresses alone. After a
// code object was destroyed the thread may not do so for some captures. That number doubles each
// time code objects are destroyed, because every stack then has to be walked once more.
class FrameTrust {
 public:
  // True if Python frames may be identified by their instruction addresses now. `gone` is the
  // result of CodeWatch::count().
  bool TrustsPlaces(uint64_t gone) {
    if (gone == ~trusted_inverse_) [[likely]]
      return true;
    return Reconsider(gone);
  }

 private:
  static constexpr uint32_t kFirstRest = 512;  // the number of captures
  static constexpr uint32_t kLongestRest = uint32_t{1} << 20;
  bool Reconsider(uint64_t gone);

  // The complement of the count at which addresses are trusted, so that zero stands for none.
  uint64_t trusted_inverse_;
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
  // The function Merge sets the following members.
  size_t count;                        // the number of frames
  bool is_cut;                         // there were more frames
  StackFrame frames[kMaxStackFrames];  // the innermost frame first
  // The libraries of the frames; null for a frame that is in no library. The caller that writes the
  // stack into the trace sets them.
  const CallerObject* libraries[kMaxStackFrames];
  StackFrame python[kMaxStackFrames];
  PythonSegment segments[kMaxPythonSegments];
};

// Reads the registers at this point of the calling function. Expand it in a function that does not
// return before the walk has ended.
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
  // Captures the calling thread's stack. Returns its hash, which is never 0.
  uint64_t Capture(StackScratch* scratch, const FramePlace& here, CaptureMode mode);

  // Makes the key by which a stack that was captured before is found again. Returns false if no key
  // can be made here.
  bool KeyOf(const FramePlace& here, StackScratch* scratch, StackMemo::Key* key) const;
  // Stores the stack that was just captured under its key, with its number.
  void Remember(StackScratch* scratch, const StackMemo::Key& key, uint32_t number);

  // Merges the frames that were just captured into scratch->frames, in the order of their calls.
  static void Merge(StackScratch* scratch);

  // Checks whether libraries were loaded or unloaded since the last call, and whether there is an
  // interpreter. Returns true if earlier captures may be wrong; from then on every stack has
  // another hash. If another thread is checking already, this function returns false at once.
  bool Refresh();

  // Removes the unwinding rules. From then on every stack has another hash.
  void Forget();

  // Zeroes the rules, so that they use no memory. Called when no thread captures stacks any more.
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

// This function runs for each event that has a stack.
inline bool StackCapture::KeyOf(const FramePlace& here, StackScratch* scratch,
                                StackMemo::Key* key) const {
  uint64_t python = 0;
  if (python_.state() == PythonRuntime::State::kUsable) {
    if (!python_.can_hash()) return false;
    const uint64_t gone = CodeWatch::count();
    const bool trusts = scratch->trust.TrustsPlaces(gone);
    python = trusts ? python_.HashPlaces() * kHashStep + gone : python_.HashFrames();
  }
  *key = StackMemo::KeyOf(here, python, generation_.load(std::memory_order_relaxed),
                          scratch->native.bounds());
  return true;
}

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_CAPTURE_STACK_CAPTURE_H_
