// Defines the frames of a captured stack, in native code and in Python code.
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
  // The return address in a native frame; the code object in a Python frame.
  uintptr_t place;
  // The return address in a native frame. In a Python frame it is a fingerprint that differs
  // between code objects, even if one has reused the address of another.
  uint64_t fingerprint;
  uint32_t instruction;  // Python: offset in the code, in bytes
  Kind kind;
};

// The locks that a capture may take.
enum class CaptureMode : uint8_t {
  kMayAsk,  // may call the dynamic linker, libunwind and libgcc, which take locks
  // Takes no lock of the dynamic linker. This mode is for callers that hold locks of a framework. A
  // walk ends at frames that only the dynamic linker or libunwind could step over.
  kQuiet,
};

// The most frames of a stack; the outermost ones beyond this number are dropped.
inline constexpr size_t kMaxStackFrames = 4096;

// The constant of all hashes of stacks; odd, so that a product with it loses nothing.
inline constexpr uint64_t kHashStep = 0x9E3779B97F4A7C15u;

inline uint64_t MixInto(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * kHashStep;
  return hash ^ (hash >> 32);
}

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_CAPTURE_STACK_FRAME_H_
