// What a client of the control socket may ask.
//
// Ownership: static storage; the answer goes into the caller's memory. Threads: the service thread.
// Errors: an answer that says what was wrong. No heap. Units: bytes, nanoseconds.
#ifndef VRAMSTOW_INTERPOSE_CORE_SERVICE_CONTROL_VERBS_H_
#define VRAMSTOW_INTERPOSE_CORE_SERVICE_CONTROL_VERBS_H_

#include <cstddef>
#include <string_view>

#include "interpose/core/runtime/core.h"

namespace vramstow {

class ControlVerbs {
 public:
  // Whom the requests are handed to.
  struct Links {
    Application& application;
    Residency& residency;
    Trace& trace;
    Exports& exports;
    // What holds tensors, as JSON; a code of vramstow.h (interpose/core/framework/census.h).
    int (*take_census)(bool told, char* text, size_t size);
  };

  constexpr explicit ControlVerbs(const Links& links) : links_(links) {}
  ControlVerbs(const ControlVerbs&) = delete;
  ControlVerbs& operator=(const ControlVerbs&) = delete;

  // The answer to one request, as base/control.h has it: `line` is without its end. Returns the
  // length written, at most `size`.
  size_t AnswerRequest(std::string_view line, char* answer, size_t size) const;
  // To one that another vramstow makes: what memory of a pool consists of (pools/exports.h).
  const Exports& exports() const { return links_.exports; }

 private:
  const Links links_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_SERVICE_CONTROL_VERBS_H_
