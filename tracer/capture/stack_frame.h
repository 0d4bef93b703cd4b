// What a captured stack is made of: places in native code, and places in Python code.
//
// Ownership: values; a Python frame's code object is alive while its thread stays in the call that
// captured it. Threads: values. Errors: none. Units: addresses, bytes of byte code.
#ifndef VRAMSTOW_TRACER_CAPTURE_STACK_FRAME_H_
#define VRAMSTOW_TRACER_CAPTURE_STACK_FRAME_H_

#include <cstddef>
#include <cstdint>

namespace vramstow {

struct StackFrame {
  enum Kind : uint32_t { kNative, kPython };
  // Native: where the code goes on. Python: the code object.
  uintptr_t place;
  // Native: the same. Python: what is different for each code object, also from one that was at
  // the same place before.
  uint64_t fingerprint;
  uint32_t instruction;  // Python: how far into the code, in bytes
  Kind kind;
};

// What a capture may do besides reading memory.
enum class CaptureMode : uint8_t {
  kMayAsk,  // the dynamic linker, libunwind and the process's libgcc, which take their locks
  // None of them: for callers that hold locks of a framework. A walk ends where only they know how
  // it goes on.
  kQuiet,
};

// Of frames beyond this the outermost are left out.
inline constexpr size_t kMaxStackFrames = 4096;

inline uint64_t MixInto(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
  return hash ^ (hash >> 32);
}

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_CAPTURE_STACK_FRAME_H_
