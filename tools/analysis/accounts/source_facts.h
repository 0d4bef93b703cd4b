// Facts of a converted trace about its source: what a trace of the recorder never has, or has in
// another form.
//
// Idea: the writer of such a trace (StowWriter) and its reader (TraceSource) use the same keys and
// fields. The counts of events that the source lacks are facts, because the numbers in the file
// that the recorder's losses are computed from are those of its own buffers. docs/contracts.md
// lists the keys.
//
// Ownership: constants. Threads: any. Errors: none. Units: bytes.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_SOURCE_FACTS_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_SOURCE_FACTS_H_

#include <cstdint>
#include <optional>

#include "base/event.h"
#include "tracer/format/reader.h"

namespace vramstow {

// A count of the source's report that becomes a fact.
struct SourceCount {
  const char* fact;
  uint64_t ReadReport::*member;
};
inline constexpr SourceCount kSourceCounts[] = {
    {"source.damaged_chunks", &ReadReport::damaged_chunks},
    {"source.damaged_bytes", &ReadReport::damaged_bytes},
    {"source.missing_events", &ReadReport::missing_events},
    {"source.overwritten_events", &ReadReport::overwritten_events},
};

// An allocation or a free of a framework has no offset into an object. In a converted trace with
// the fact source.tells_reserved the field has the bytes that are reserved on the device after the
// event, plus one; 0 means that they are not known.
inline bool MayHaveReserved(const Event& event) {
  return event.kind == EventKind::kAllocate || event.kind == EventKind::kFree;
}
inline void SetReservedAfter(Event* event, uint64_t bytes) { event->offset = bytes + 1; }
// Takes the reserved bytes out of the event.
inline std::optional<uint64_t> TakeReserved(Event* event) {
  if (!MayHaveReserved(*event) || event->offset == 0) return std::nullopt;
  const uint64_t bytes = event->offset - 1;
  event->offset = 0;
  return bytes;
}

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_SOURCE_FACTS_H_
