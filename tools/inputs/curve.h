// Curve: facts of the profiler's memory timeline, which has bytes by category over time and neither
// addresses nor blocks.
//
// Ownership: results are copies. Threads: pure functions. Errors: none. Units: bytes, nanoseconds
// from the timeline's first moment.
#ifndef VRAMSTOW_TOOLS_INPUTS_CURVE_H_
#define VRAMSTOW_TOOLS_INPUTS_CURVE_H_

#include "tools/analysis/facts/detail.h"
#include "tools/formats/memory_timeline.h"

namespace vramstow {

Analysis AnalyzeCurve(const MemoryTimeline& timeline);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_INPUTS_CURVE_H_
