// Answers the requests of clients of the control socket.
//
// Ownership: static storage; the answer is written to the caller's memory. Threads: the service
// thread. Errors: an answer that describes the error. No heap. Units: bytes, nanoseconds.
#ifndef VRAMSTOW_INTERPOSE_CORE_SERVICE_CONTROL_VERBS_H_
#define VRAMSTOW_INTERPOSE_CORE_SERVICE_CONTROL_VERBS_H_

#include <cstddef>
#include <string_view>

#include "interpose/core/runtime/core.h"

namespace vramstow {

class ControlVerbs {
 public:
  // The parts of the core that carry out the requests.
  struct Links {
    Application& application;
    Residency& residency;
    Trace& trace;
    Exports& exports;
    Sharer& sharer;
    // Carries out a census (a reference scan) and writes the result as JSON. Returns a code of
    // vramstow.h (interpose/core/framework/census.h).
    int (*take_census)(bool by_command, char* text, size_t size);
  };

  constexpr explicit ControlVerbs(const Links& links) : links_(links) {}
  ControlVerbs(const ControlVerbs&) = delete;
  ControlVerbs& operator=(const ControlVerbs&) = delete;

  // Answers one request, as base/control.h defines it; `line` is without its end. Returns the
  // length written, at most `size`.
  size_t AnswerRequest(std::string_view line, char* answer, size_t size) const;
  // Returns the part that answers another process under vramstow which requests the chunks of a
  // pool's memory (pools/exports.h).
  const Exports& exports() const { return links_.exports; }

 private:
  const Links links_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_SERVICE_CONTROL_VERBS_H_
