// EventSource: where the analysis gets its events from. A trace is one; a test's list is another.
//
// Ownership: texts that a source returns live as long as the source. Threads: one at a time.
// Errors: a source ends early where it cannot read on; report() then says what is missing.
// Units: bytes, nanoseconds.
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

  // The next event in order of sequence; false at the end.
  virtual bool Next(Event* event) = 0;
  // The next events, as many as the empty batch holds; fewer only at the end. Made of Next, Stack,
  // MarkText and Reserved where a source has nothing faster.
  virtual void Fill(EventBatch* batch);

  // Names by the numbers that events carry; "unknown" for a number without one.
  virtual std::string_view CallName(uint16_t call) const = 0;
  virtual std::string_view LibraryPath(uint16_t library) const = 0;

  // The traced process: the keys of docs/architecture.md ("process.pid", "device.0.name", …).
  virtual const std::map<std::string, std::string>& facts() const = 0;

  // Tells how much was read and how much is missing. Complete after Next() has returned false.
  virtual ReadReport report() const = 0;

  // Answers that only some sources know; the defaults are those of a source that does not.

  // "stow", "pytorch_snapshot", "rmm_log", "profiler_trace", …
  virtual std::string_view Kind() const { return "stow"; }
  // The call stack of the event that Next gave last, a number; 0 where there is none.
  virtual uint32_t Stack() const { return 0; }
  // The frames of a stack, the innermost first.
  virtual std::vector<CallFrame> Frames(uint32_t /*stack*/) const { return {}; }
  // The text of a mark, or the name of a launched kernel.
  virtual std::string_view MarkText(const Event& /*mark*/) const { return {}; }
  // The call that stands for blocks that were there before the first event.
  virtual std::optional<uint16_t> OpeningCall() const { return std::nullopt; }
  // Whether frees come twice: when they are asked for, and when the memory may be used again.
  virtual bool TellsFreeCompleted() const { return false; }
  // How much is reserved on the device of the event that Next gave last, after it, where the source
  // says that itself.
  virtual std::optional<uint64_t> Reserved() const { return std::nullopt; }
  // The sums of events that are gone; null: none are. They are known after the last event.
  virtual const TraceSums* Sums() const { return nullptr; }
  // One sentence for each thing that the source does not have.
  virtual std::vector<std::string> missing() const { return {}; }
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_EVENT_SOURCE_H_
