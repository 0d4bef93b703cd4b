// UnwindRule: how to get from one frame of the native stack to its caller's, in one word.
//
// Idea: of all that a compiler says about a place in the code (DWARF 5, 6.4, as .eh_frame has it)
// a walk along return addresses needs only: where the frame ends (the canonical frame address,
// CFA), and where the caller's frame pointer and return address were saved. Nearly all code needs
// no other registers for that. Where it does, libunwind steps over the frame (unwind_library.h).
//
// Ownership: values. Threads: values; FindUnwindRule may be called by all at once. It takes no lock
// where glibc can find an object without one (2.35), and no heap; elsewhere a quiet search finds
// nothing. Errors: kind kEnd. Units: bytes.
#ifndef VRAMSTOW_TRACER_CAPTURE_UNWIND_RULE_H_
#define VRAMSTOW_TRACER_CAPTURE_UNWIND_RULE_H_

#include <cstdint>

#include "tracer/capture/stack_frame.h"

namespace vramstow {

struct UnwindRule {
  enum Kind : uint8_t {
    kEnd = 0,        // nothing is known about the code
    kFromStack = 1,  // CFA = stack pointer + cfa_offset
    kFromFrame = 2,  // CFA = frame pointer + cfa_offset
    kRealigned = 3,  // CFA is stored at frame pointer + cfa_offset; the stack was realigned
    kSignal = 4,     // the kernel's frame of a signal handler: all registers are in it
    kOther = 5,      // the compiler says how, but it takes more than these fields
    kOutermost = 6,  // the frame has no caller
  };
  Kind kind = kEnd;
  int32_t cfa_offset = 0;
  // From the CFA to where the caller's value was saved; 0: it is still in its register. (In a
  // realigned frame the frame pointer is saved where it points to.)
  int32_t frame_offset = 0;
  int32_t return_offset = 0;

  // As one number, 0 for kEnd. Offsets that do not fit make it kOther.
  uint64_t Pack() const;
  static UnwindRule Unpack(uint64_t word);
};

// For the instruction at `address` (of a frame that made a call: one byte before where it returns
// to).
UnwindRule FindUnwindRule(uintptr_t address, CaptureMode mode);

// Code that the program makes at run time is registered with the program's own libgcc
// (__register_frame). Looks for that; rules are then found there, too. Asks for the list of
// libraries. The program's libgcc may take its own lock, and memory at the first look after code
// was registered.
void FindRegisteredCode();

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_CAPTURE_UNWIND_RULE_H_
