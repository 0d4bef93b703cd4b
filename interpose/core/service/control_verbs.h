// What a client of the control socket may ask.
//
// Ownership: the answer goes into the caller's memory. Threads: the service thread. Errors: an
// answer that says what was wrong. No heap. Units: bytes, nanoseconds.
#ifndef VRAMSTOW_INTERPOSE_CORE_SERVICE_CONTROL_VERBS_H_
#define VRAMSTOW_INTERPOSE_CORE_SERVICE_CONTROL_VERBS_H_

#include <cstddef>
#include <string_view>

namespace vramstow {

// The answer to one request, as base/control.h has it: `line` is without its end. Returns the
// length written, at most `size`.
size_t AnswerControl(std::string_view line, char* answer, size_t size);

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_SERVICE_CONTROL_VERBS_H_
