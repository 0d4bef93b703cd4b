// PythonRuntime reads the Python frames of the calling thread from the interpreter's memory.
//
// Idea: a thread may read its own frames at any time, with or without the interpreter's lock. While
// it is in this function it executes no Python code, and no other thread changes its frames. The
// only function of Python that is called is PyGILState_GetThisThreadState, which reads a
// thread-specific value.
//
// The offsets of the fields depend on the version. For CPython 3.10 to 3.12 they are taken from the
// headers, for 3.13 and 3.14 from the table that the interpreter contains for debuggers
// (_Py_DebugOffsets). Other versions and free-threaded builds are not read.
//
// Before frames are read for the first time, a chain of them is checked by reads through the
// kernel, which reports bad addresses instead of raising SIGSEGV. An interpreter that was built
// differently fails this check and is not read either.
//
// Ownership: none of the interpreter's objects; one word of its type of code objects is changed
// (code_watch.h). Lives in static storage or in memory that is zero at first. Threads: Find and
// Check one at a time; Collect by any number at once. Errors: no frames. No heap. Units: bytes.
#ifndef VRAMSTOW_TRACER_CAPTURE_PYTHON_RUNTIME_H_
#define VRAMSTOW_TRACER_CAPTURE_PYTHON_RUNTIME_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tracer/capture/stack_frame.h"

namespace vramstow {

struct DebugOffsets;  // python_layout.cc

// The offsets of fields in the interpreter's structures.
struct PythonLayout {
  uint32_t version = 0;            // 0x030B for 3.11; 0 if unknown
  bool has_cframe = false;         // the thread points to a cframe, and that to the frame
  bool has_frame_objects = false;  // 3.10: each frame has its own call of the loop
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
  uint32_t text_bytes = 0;  // the size of the header before an ASCII text
};

// A run of Python frames that one call of the interpreter's loop executes. The address `marker`
// lies in that call's native frame.
struct PythonSegment {
  uintptr_t marker;
  uint32_t end;  // index of the frame after its last one
};

inline constexpr size_t kMaxPythonSegments = kMaxStackFrames;

// The texts of a code object, read when it is first seen. They end with a zero byte and may be cut.
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

  // Looks for an interpreter among the loaded libraries, and for the layout of its version.
  void Find();
  // Checks that the calling thread's frames can be read, if it has any.
  void Check();

  // Stores the calling thread's frames from the innermost on, in segments. Returns the number of
  // segments.
  size_t Collect(StackFrame* frames, size_t max_frames, PythonSegment* segments,
                 size_t max_segments) const;

  // True if frames of this version can be hashed: of all but 3.10.
  bool can_hash() const { return !layout_.has_frame_objects; }
  // Returns a hash of the calling thread's frames: of each code object's fingerprint and the
  // instruction in it.
  uint64_t HashFrames() const;
  // Returns a hash of only the instruction addresses of the calling thread's frames, which takes
  // some seven instructions for a frame. Frames between functions are hashed, too: their addresses
  // are always the same. The hash is valid while no code object is destroyed (CodeWatch).
  uint64_t HashPlaces() const;

  // Describe reads the names of a captured frame's code. LineOf returns the line of an instruction
  // in it, or 0 if it has none.
  void Describe(uintptr_t code, PythonCode* to) const;
  uint32_t LineOf(uintptr_t code, uint32_t instruction) const;

 private:
  bool SetLayout(uint32_t version, const void* runtime);
  bool SetLayoutByOffsets(uint32_t version, const DebugOffsets& places, const void* runtime);
  static uint64_t Fingerprint(const PythonLayout& layout, uintptr_t code);
  static uintptr_t WordOf(uintptr_t object, uint32_t offset) {
    return *reinterpret_cast<const uintptr_t*>(object + offset);
  }
  // Returns the innermost frame of a thread, or 0. CPython 3.10 has no such frames.
  uintptr_t InnermostFrame(uintptr_t thread) const {
    const uintptr_t frame = WordOf(thread, layout_.thread_frame);
    return layout_.has_cframe && frame != 0 ? WordOf(frame, layout_.cframe_frame) : frame;
  }
  size_t CollectObjects(uintptr_t thread, StackFrame* frames, size_t max_frames,
                        PythonSegment* segments, size_t max_segments) const;

  PythonLayout layout_;
  void* (*this_thread_)() = nullptr;
  const void* code_type_ = nullptr;
  std::atomic<State> state_{State::kNotFound};
};

// This function runs for each event that has a stack.
inline uint64_t PythonRuntime::HashPlaces() const {
  const uintptr_t thread = reinterpret_cast<uintptr_t>(this_thread_());
  if (thread == 0) return 0;
  uintptr_t frame = InnermostFrame(thread);
  if (frame == 0) return 0;
  const uint32_t previous = layout_.frame_previous;
  const uint32_t instruction = layout_.frame_instruction;
  uint64_t sum = 1;
  size_t rest = kMaxStackFrames;
  do {
    sum = sum * kHashStep + WordOf(frame, instruction);
    frame = WordOf(frame, previous);
  } while (frame != 0 && --rest != 0);
  return sum;
}

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_CAPTURE_PYTHON_RUNTIME_H_
