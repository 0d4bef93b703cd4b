// The Python frames of the calling thread, read out of the interpreter's memory.
//
// Idea: a thread may look at its own frames at any time, with or without the interpreter's lock: it
// is here and so not executing Python, and nobody else changes them. Nothing of Python is called
// but PyGILState_GetThisThreadState, which reads a thread-specific value. Where the fields are
// depends on the version: CPython 3.10 to 3.12 by their headers, 3.13 and 3.14 by the offsets that
// they carry for debuggers (_Py_DebugOffsets). Others are left alone, and those without the lock.
//
// Before frames are read for the first time, a chain of them is checked through the kernel, which
// reports bad addresses instead of raising SIGSEGV: an interpreter that was built differently is
// then left alone, too.
//
// Ownership: none of the interpreter's objects; one word of its type of code objects is changed
// (code_watch.h). Lives in static storage or in memory that is zero
// at first. Threads: Find and Check one at a time; Collect by any number at once.
// Errors: no frames. No heap. Units: bytes.
#ifndef VRAMSTOW_TRACER_CAPTURE_PYTHON_RUNTIME_H_
#define VRAMSTOW_TRACER_CAPTURE_PYTHON_RUNTIME_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tracer/capture/stack_frame.h"

namespace vramstow {

struct DebugOffsets;  // python_layout.cc

// Where the fields of the interpreter's structures are.
struct PythonLayout {
  uint32_t version = 0;            // 0x030B for 3.11; 0: not known
  bool has_cframe = false;         // from the thread to its cframe, and from there to its frame
  bool has_frame_objects = false;  // 3.10: each frame has a call of the loop to itself
  uint32_t thread_frame = 0;
  uint32_t thread_cframe = 0;  // 3.10
  uint32_t cframe_frame = 0;
  uint32_t cframe_previous = 0;
  uint32_t frame_code = 0;
  uint32_t code_tag = 0;  // bits that are no part of the code's address
  uint32_t frame_previous = 0;
  uint32_t frame_instruction = 0;
  uint32_t frame_owner = 0;
  uint32_t frame_is_entry = 0;  // 3.11 only
  uint32_t code_first_line = 0;
  uint32_t code_file = 0;
  uint32_t code_qualified_name = 0;
  uint32_t code_lines = 0;
  uint32_t code_instructions = 0;
  uint32_t text_bytes = 0;  // of the header before an ASCII text
};

// A run of Python frames that one call of the interpreter's loop executes. That loop's native frame
// holds the address `marker`.
struct PythonSegment {
  uintptr_t marker;
  uint32_t end;  // index of the frame after its last one
};

inline constexpr size_t kMaxPythonSegments = kMaxStackFrames;

// The texts that are read at `code` at first sight. Texts end with a zero byte and may be cut.
struct PythonCode {
  char name[512];
  char file[1024];
  uint32_t first_line;
};

class PythonRuntime {
 public:
  enum class State : uint8_t { kNotFound, kUnchecked, kUsable, kRefused };

  State state() const { return state_.load(std::memory_order_acquire); }
  uint32_t version() const { return layout_.version; }

  // Looks for an interpreter among the loaded libraries, and for what is known about its version.
  void Find();
  // Checks the calling thread's frames, if it has any.
  void Check();

  // The calling thread's frames from the innermost on, in segments. Returns the count of segments.
  size_t Collect(StackFrame* frames, size_t max_frames, PythonSegment* segments,
                 size_t max_segments) const;

  // Makes `*hash` a number that is the same where the calling thread's frames are: each by the
  // fingerprint of its code object and its place in it. False: frames of this version are not read
  // so.
  bool HashFrames(uint64_t* hash) const;
  // The same by the places in the code alone: it holds while no code object goes (CodeWatch).
  bool HashPlaces(uint64_t* hash) const;

  // Reads what a captured frame's code is called, and the line of a place in it; 0 if it has none.
  void Describe(uintptr_t code, PythonCode* to) const;
  uint32_t LineOf(uintptr_t code, uint32_t instruction) const;

 private:
  bool SetLayout(uint32_t version, const void* runtime);
  bool SetLayoutByOffsets(uint32_t version, const DebugOffsets& places, const void* runtime);
  static uint64_t Fingerprint(const PythonLayout& layout, uintptr_t code);
  // What HashFrames and HashPlaces take of a frame.
  enum class Of : uint8_t { kFrame, kPlace };
  template <Of kOf>
  bool Hash(uint64_t* hash) const;
  template <Of kOf, bool kHasShims>
  uint64_t HashFrom(uintptr_t frame) const;
  size_t CollectObjects(uintptr_t thread, StackFrame* frames, size_t max_frames,
                        PythonSegment* segments, size_t max_segments) const;

  PythonLayout layout_;
  void* (*this_thread_)() = nullptr;
  const void* code_type_ = nullptr;
  std::atomic<State> state_{State::kNotFound};
};

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_CAPTURE_PYTHON_RUNTIME_H_
