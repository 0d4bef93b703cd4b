// UnwindRule describes, in one word, how to get from one frame of the native stack to its caller's
// frame.
//
// Idea: compilers provide much information for an instruction (DWARF 5, 6.4, as in .eh_frame). A
// walk along return addresses needs only two parts of it: the end of the frame (the canonical frame
// address, CFA), and the locations where the caller's frame pointer and return address were saved.
// Nearly all code needs no other registers for that. Otherwise libunwind steps over the frame
// (unwind_library.h).
//
// Ownership: values. Threads: values; FindUnwindRule may be called by all threads at once. It takes
// no lock if glibc can find an object without one (2.35), and no heap; with an older glibc a quiet
// search finds nothing. Errors: kind kEnd. Units: bytes.
#ifndef VRAMSTOW_TRACER_CAPTURE_UNWIND_RULE_H_
#define VRAMSTOW_TRACER_CAPTURE_UNWIND_RULE_H_

#include <cstdint>

#include "tracer/capture/stack_frame.h"

namespace vramstow {

struct UnwindRule {
  enum Kind : uint8_t {
    kEnd = 0,        // the code is unknown
    kFromStack = 1,  // CFA = stack pointer + cfa_offset
    kFromFrame = 2,  // CFA = frame pointer + cfa_offset
    kRealigned = 3,  // CFA is stored at frame pointer + cfa_offset; the stack was realigned
    kSignal = 4,     // the kernel's frame of a signal handler: all registers are in it
    kOther = 5,      // described by the compiler, but not expressible by these fields
    kOutermost = 6,  // the frame has no caller
  };
  Kind kind = kEnd;
  int32_t cfa_offset = 0;
  // The distances from the CFA to the saved values of the caller. A distance is 0 if the value is
  // still in its register. (In a realigned frame the frame pointer is saved at the address to which
  // it points.)
  int32_t frame_offset = 0;
  int32_t return_offset = 0;

  // Packs the rule into one number, 0 for kEnd. A rule whose offsets do not fit becomes kOther.
  uint64_t Pack() const;
  static UnwindRule Unpack(uint64_t word);
};

// Finds the rule for the instruction at `address`. For the frame of a function that has called
// another one, pass its return address minus one.
UnwindRule FindUnwindRule(uintptr_t address, CaptureMode mode);

// Finds the program's own libgcc, in which code that the program makes at run time is registered
// (__register_frame); rules are then found there, too. Reads the list of libraries. The program's
// libgcc may take its own lock, and may allocate at the first look-up after code was registered.
void FindRegisteredCode();

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_CAPTURE_UNWIND_RULE_H_
