// Exports levels over time as counter tracks, and marks as slices, for ui.perfetto.dev.
//
// Ownership: results are the caller's. Threads: pure functions. Errors: none. Units: bytes,
// nanoseconds since the trace began. Source of the format: protos/perfetto/trace of
// github.com/google/perfetto.
#ifndef VRAMSTOW_TOOLS_EXPORTS_PERFETTO_H_
#define VRAMSTOW_TOOLS_EXPORTS_PERFETTO_H_

#include <string>

#include "tools/analysis/facts/detail.h"

namespace vramstow {

std::string PerfettoTrace(const Facts& facts, const Detail& detail);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_EXPORTS_PERFETTO_H_
