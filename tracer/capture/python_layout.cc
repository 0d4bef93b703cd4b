// Finds the interpreter, and the offsets of the fields in its structures.
#include <sys/uio.h>
#include <unistd.h>

#include <cstring>

#include "tracer/capture/code_watch.h"
#include "tracer/capture/python_runtime.h"
#include "tracer/capture/symbol_search.h"

namespace vramstow {

// CPython 3.13 and 3.14, Include/internal/pycore_runtime.h and pycore_debug_offsets.h: struct
// _Py_DebugOffsets at the beginning of _PyRuntime is a row of 64-bit numbers. These are the indexes
// of the fields in it.
struct DebugOffsets {
  static constexpr size_t kCookie = 0;  // "xdebugpy"
  static constexpr size_t kVersion = 1;
  static constexpr size_t kFreeThreaded = 2;
  static constexpr size_t kMax = 49;
  size_t thread_frame;
  size_t frame_previous, frame_code, frame_instruction, frame_owner;
  size_t code_file, code_qualified_name, code_lines, code_first_line, code_instructions;
};

namespace {

constexpr size_t kMaxCheckedFrames = 64;

// CPython 3.10, Include/cpython/code.h, frameobject.h and pystate.h, on machines of 64 bits.
constexpr PythonLayout kPython310 = {.version = 0x030A,
                                     .has_cframe = false,
                                     .has_frame_objects = true,
                                     .thread_frame = 24,
                                     .thread_cframe = 48,
                                     .cframe_frame = 0,
                                     .cframe_previous = 8,
                                     .frame_code = 32,
                                     .frame_previous = 24,
                                     .frame_instruction = 96,
                                     .frame_owner = 0,
                                     .frame_is_entry = 0,
                                     .code_first_line = 40,
                                     .code_file = 104,
                                     .code_qualified_name = 112,
                                     .code_lines = 120,
                                     .code_instructions = 0,
                                     .text_bytes = 48};

// CPython 3.11, Include/cpython/code.h, Include/cpython/pystate.h, Include/internal/pycore_frame.h,
// on machines of 64 bits.
constexpr PythonLayout kPython311 = {.version = 0x030B,
                                     .has_cframe = true,
                                     .has_frame_objects = false,
                                     .thread_frame = 56,
                                     .thread_cframe = 0,
                                     .cframe_frame = 8,
                                     .cframe_previous = 16,
                                     .frame_code = 32,
                                     .frame_previous = 48,
                                     .frame_instruction = 56,
                                     .frame_owner = 69,
                                     .frame_is_entry = 68,
                                     .code_first_line = 72,
                                     .code_file = 112,
                                     .code_qualified_name = 128,
                                     .code_lines = 136,
                                     .code_instructions = 184,
                                     .text_bytes = 48};

// CPython 3.12, from the same header files as for CPython 3.11.
constexpr PythonLayout kPython312 = {.version = 0x030C,
                                     .has_cframe = true,
                                     .has_frame_objects = false,
                                     .thread_frame = 56,
                                     .thread_cframe = 0,
                                     .cframe_frame = 0,
                                     .cframe_previous = 8,
                                     .frame_code = 0,
                                     .frame_previous = 8,
                                     .frame_instruction = 56,
                                     .frame_owner = 70,
                                     .frame_is_entry = 0,
                                     .code_first_line = 68,
                                     .code_file = 112,
                                     .code_qualified_name = 128,
                                     .code_lines = 136,
                                     .code_instructions = 192,
                                     .text_bytes = 40};

constexpr DebugOffsets kOffsets313 = {23, 29, 30, 31, 33, 35, 37, 38, 39, 43};
constexpr DebugOffsets kOffsets314 = {26, 32, 33, 34, 36, 40, 42, 43, 44, 48};

// Reads memory through the kernel. Returns false if the address cannot be read.
bool ReadSafely(uintptr_t address, void* to, size_t size) {
  iovec local = {to, size};
  iovec remote = {reinterpret_cast<void*>(address), size};
  return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == static_cast<ssize_t>(size);
}

bool ReadPointer(uintptr_t address, uintptr_t* to) { return ReadSafely(address, to, sizeof *to); }

}  // namespace

// Reads the offsets that the interpreter itself provides, if they have the expected cookie and
// version. Free-threaded interpreters have other objects and are not supported.
bool PythonRuntime::SetLayoutByOffsets(uint32_t version, const DebugOffsets& places,
                                       const void* runtime) {
  uint64_t offsets[DebugOffsets::kMax];
  if (runtime == nullptr) return false;
  std::memcpy(offsets, runtime, sizeof offsets);
  if (std::memcmp(&offsets[DebugOffsets::kCookie], "xdebugpy", 8) != 0) return false;
  if (offsets[DebugOffsets::kVersion] >> 16 != version) return false;
  if (offsets[DebugOffsets::kFreeThreaded] != 0) return false;
  bool is_right = true;
  const auto at = [&](size_t which) {
    constexpr uint64_t kMaxBytes = 4096;
    is_right = is_right && offsets[which] <= kMaxBytes;
    return static_cast<uint32_t>(offsets[which]);
  };
  layout_.version = version;
  layout_.thread_frame = at(places.thread_frame);
  layout_.frame_code = at(places.frame_code);
  layout_.frame_previous = at(places.frame_previous);
  layout_.frame_instruction = at(places.frame_instruction);
  layout_.frame_owner = at(places.frame_owner);
  layout_.code_first_line = at(places.code_first_line);
  layout_.code_file = at(places.code_file);
  layout_.code_qualified_name = at(places.code_qualified_name);
  layout_.code_lines = at(places.code_lines);
  layout_.code_instructions = at(places.code_instructions);
  layout_.text_bytes = 40;
  return is_right;
}

bool PythonRuntime::SetLayout(uint32_t version, const void* runtime) {
  switch (version) {
    case 0x030A:
      layout_ = kPython310;
      return true;
    case 0x030B:
      layout_ = kPython311;
      return true;
    case 0x030C:
      layout_ = kPython312;
      return true;
    case 0x030D:
      return SetLayoutByOffsets(version, kOffsets313, runtime);
    case 0x030E:
      // The lowest bit of a reference in a frame says how the reference is counted
      // (pycore_stackref.h).
      layout_.code_tag = 1;
      return SetLayoutByOffsets(version, kOffsets314, runtime);
    default:
      return false;
  }
}

void PythonRuntime::Find() {
  if (state() != State::kNotFound) return;
  const char* const names[] = {"PyGILState_GetThisThreadState", "Py_Version", "PyCode_Type",
                               "_PyRuntime", "Py_NewRef"};
  void* found[5] = {};
  if (!FindSymbols(names, found, 5)) return;
  unsigned long version = 0;
  if (found[1] != nullptr) {
    std::memcpy(&version, found[1], sizeof version);
  } else if (found[4] != nullptr) {
    version = 0x030A0000;  // the only version with the one symbol and without the other
  }
  if (found[2] == nullptr || !SetLayout(static_cast<uint32_t>(version >> 16), found[3])) {
    state_.store(State::kRefused, std::memory_order_release);
    return;
  }
  std::memcpy(&this_thread_, &found[0], sizeof this_thread_);
  code_type_ = found[2];
  state_.store(State::kUnchecked, std::memory_order_release);
}

void PythonRuntime::Check() {
  if (state() != State::kUnchecked) return;
  const uintptr_t thread = reinterpret_cast<uintptr_t>(this_thread_());
  if (thread == 0) return;
  uintptr_t frame = 0;
  bool is_right = ReadPointer(thread + layout_.thread_frame, &frame);
  if (is_right && layout_.has_cframe) is_right = ReadPointer(frame + layout_.cframe_frame, &frame);
  size_t checked = 0;
  for (size_t i = 0; is_right && frame != 0 && i < kMaxCheckedFrames; ++i) {
    uint8_t owner = 0;
    uintptr_t code = 0;
    uintptr_t type = 0;
    uintptr_t name = 0;
    uintptr_t size = 0;
    if (!layout_.has_frame_objects) {
      is_right = ReadSafely(frame + layout_.frame_owner, &owner, 1) && owner <= 4;
    }
    if (is_right && owner < 3) {
      is_right = ReadPointer(frame + layout_.frame_code, &code);
      code &= ~uintptr_t{layout_.code_tag};
      is_right = is_right && ReadPointer(code + 8, &type) &&
                 type == reinterpret_cast<uintptr_t>(code_type_) &&
                 ReadPointer(code + layout_.code_qualified_name, &name) &&
                 ReadPointer(name + 16, &size) && size < 4096 &&
                 ReadPointer(code + layout_.code_file, &name) && ReadPointer(name + 16, &size) &&
                 size < 65536 && ReadPointer(code + layout_.code_lines, &name) &&
                 ReadPointer(name + 16, &size) && size < (uintptr_t{1} << 32);
      ++checked;
    }
    is_right = is_right && ReadPointer(frame + layout_.frame_previous, &frame);
  }
  if (is_right && checked == 0) return;  // a thread without frames proves nothing
  if (is_right && !layout_.has_frame_objects) CodeWatch::Begin(code_type_);
  state_.store(is_right ? State::kUsable : State::kRefused, std::memory_order_release);
}

}  // namespace vramstow
