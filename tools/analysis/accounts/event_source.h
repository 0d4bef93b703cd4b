// EventSource: the interface by which the analysis gets its events. A trace implements it, and so
// does a list of events in a test.
//
// Ownership: texts that a source returns live as long as the source. Threads: used by one thread at
// a time. Errors: a source ends early if it cannot continue to read; report() then says what is
// missing. Units: bytes, nanoseconds.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_EVENT_SOURCE_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_EVENT_SOURCE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/event.h"
#include "tracer/format/reader.h"
#include "tracer/format/sums.h"

namespace vramstow {

struct EventBatch;

// One level of a call stack.
struct CallFrame {
  std::string_view function;
  std::string_view file;
  uint32_t line = 0;
};

class EventSource {
 public:
  virtual ~EventSource() = default;

  // Reads the next event in order of sequence. Returns false at the end.
  virtual bool Next(Event* event) = 0;
  // Fills the empty batch with the next events. The batch has room left only if the source has
  // ended. The default implementation calls Next, Stack, MarkText and Reserved; sources override it
  // if they have a faster way.
  virtual void Fill(EventBatch* batch);

  // These functions return names by the numbers that events carry, and "unknown" for a number
  // without a name.
  virtual std::string_view CallName(uint16_t call) const = 0;
  virtual std::string_view LibraryPath(uint16_t library) const = 0;

  // Returns facts about the traced process, by the keys of docs/contracts.md ("process.pid",
  // "device.0.name", …).
  virtual const std::map<std::string, std::string>& facts() const = 0;

  // Returns how much was read and how much is missing. The report is complete after Next() has
  // returned false.
  virtual ReadReport report() const = 0;

  // Only some sources override the following functions. The defaults are for a source without the
  // data in question.

  // Returns the kind of source: "stow", "pytorch_snapshot", "rmm_log", "profiler_trace", …
  virtual std::string_view Kind() const { return "stow"; }
  // Returns the number of the call stack of the event that Next returned last; 0 if it has no call
  // stack.
  virtual uint32_t Stack() const { return 0; }
  // Returns the frames of a stack, the innermost first.
  virtual std::vector<CallFrame> Frames(uint32_t /*stack*/) const { return {}; }
  // Returns the text of a mark, or the name of a launched kernel.
  virtual std::string_view MarkText(const Event& /*mark*/) const { return {}; }
  // Returns the number of the call under which the source lists blocks that were allocated before
  // the first event.
  virtual std::optional<uint16_t> OpeningCall() const { return std::nullopt; }
  // True if each free is reported twice: when it is requested, and when the memory may be used
  // again.
  virtual bool ReportsFreeCompleted() const { return false; }
  // Returns the bytes that are reserved on the device of the last event, after that event; no value
  // if the source does not record them.
  virtual std::optional<uint64_t> Reserved() const { return std::nullopt; }
  // Returns the sums that the trace holds in place of events that it no longer has; null if it has
  // all events. They are available after the last event.
  virtual const TraceSums* Sums() const { return nullptr; }
  // Starts again from the first event. Returns false if the source cannot do this.
  virtual bool Rewind() { return false; }
  // Returns where events are missing, as TraceReader::gaps does, after the last event.
  virtual std::vector<TraceGap> Gaps() const { return {}; }
  // Returns one sentence for each kind of data that the source lacks.
  virtual std::vector<std::string> missing() const { return {}; }
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_EVENT_SOURCE_H_
