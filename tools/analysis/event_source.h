// EventSource: where the analysis gets its events from. A trace is one; a test's list is another.
//
// Ownership: texts that a source returns live as long as the source. Threads: one at a time.
// Errors: a source ends early where it cannot read on; report() then says what is missing.
// Units: bytes, nanoseconds.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_EVENT_SOURCE_H_
#define VRAMSTOW_TOOLS_ANALYSIS_EVENT_SOURCE_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/event.h"
#include "tracer/format/reader.h"

namespace vramstow {

class EventSource {
 public:
  virtual ~EventSource() = default;

  // The next event in order of sequence; false at the end.
  virtual bool Next(Event* event) = 0;

  // Names by the numbers that events carry; "unknown" for a number without one.
  virtual std::string_view CallName(uint16_t call) const = 0;
  virtual std::string_view LibraryPath(uint16_t library) const = 0;

  // Who was traced: the keys of docs/architecture.md ("process.pid", "device.0.name", …).
  virtual const std::map<std::string, std::string>& facts() const = 0;

  // What was read and what is missing. Complete after Next() has returned false.
  virtual ReadReport report() const = 0;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_EVENT_SOURCE_H_
