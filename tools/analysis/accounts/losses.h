// Losses: blocks that may have been freed by events that the trace lacks.
//
// Idea: where events are missing, frees are missing, too. If their blocks counted on, the levels
// would be too high, and "at least" would be wrong. So a block that was live before a gap counts
// after it only if a later event shows that it was live then: its own free, a census that found it
// or, for memory that a pool took, an event of a block that lies in it. The evidence is known only
// after all events were read, so a source with gaps is read three times.
//
// Limits: memory by handle counts on, because its mappings are not followed here. If several
// threads recorded and only events of one are missing, a block that was live before and after the
// gap counts during the gap.
//
// Ownership: values. Threads: one at a time. Errors: none. Units: events, counted from 1 as in
// LiveBlock::birth; sequences in gaps. Memory: proportional to the live blocks and the losses.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_LOSSES_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_LOSSES_H_

#include <cstdint>
#include <vector>

#include "base/event.h"
#include "tools/analysis/accounts/event_source.h"

namespace vramstow {

// A live block whose further life is unknown.
struct Loss {
  uint64_t event = 0;  // from this event on the block does not count
  uint64_t address = 0;
  Layer layer = Layer::kFramework;
  MemoryKind memory = MemoryKind::kNone;
};

// Reads the source from where it is to its end, and returns the losses in the order of events.
// `gaps` says where events are missing, as EventSource::Gaps does.
std::vector<Loss> FindLosses(EventSource* source, const std::vector<TraceGap>& gaps);

// Reads the source from its beginning to find its gaps and the losses, and leaves it there. If the
// source cannot start again, nothing is read, and the result is empty.
std::vector<Loss> FindLossesAhead(EventSource* source);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_LOSSES_H_
