// Libraries that look like a Python whose memory layout the tracer does not support. STRANGE
// selects the difference: 1 a later version, 2 no offsets for debuggers, 3 offsets of another
// version, 4 an interpreter without its lock, 5 impossible offsets, 6 a thread whose frames are at
// an invalid address.
#include <cstdint>
#include <cstdlib>

// NOLINTBEGIN(readability-identifier-naming): the names are Python's.
extern "C" {

__attribute__((visibility("default"))) extern const unsigned long Py_Version;
__attribute__((visibility("default"))) extern uint64_t _PyRuntime[256];
__attribute__((visibility("default"))) extern uint64_t PyCode_Type[8];

const unsigned long Py_Version = STRANGE == 1 ? 0x03630000 : 0x030E0000;
uint64_t PyCode_Type[8] = {};
uint64_t _PyRuntime[256] = {};

// The tracer must not call this function of a refused Python.
__attribute__((visibility("default"))) void* PyGILState_GetThisThreadState() {
  static uint64_t thread[8] = {16, 16, 16, 16, 16, 16, 16, 16};
  if (STRANGE != 6) std::abort();
  return thread;
}

__attribute__((constructor)) void FillOffsets() {
  for (uint64_t& offset : _PyRuntime) offset = 8;
  _PyRuntime[0] = STRANGE == 2 ? 0 : 0x7970677562656478;  // "xdebugpy"
  _PyRuntime[1] = STRANGE == 3 ? 0x030D0000 : 0x030E0000;
  _PyRuntime[2] = STRANGE == 4 ? 1 : 0;
  if (STRANGE == 5) _PyRuntime[33] = uint64_t{1} << 40;
}
}
// NOLINTEND(readability-identifier-naming)
