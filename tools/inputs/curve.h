// Computes facts of a file that has bytes over time and neither addresses nor blocks. Such files
// are the profiler's memory timeline, with bytes by category, and the profiler's traces of 2021.
//
// Ownership: results are copies. Threads: pure functions. Errors: none. Units: bytes, nanoseconds
// from the timeline's first moment.
#ifndef VRAMSTOW_TOOLS_INPUTS_CURVE_H_
#define VRAMSTOW_TOOLS_INPUTS_CURVE_H_

#include <map>
#include <string>

#include "tools/analysis/facts/detail.h"
#include "tools/formats/memory_timeline.h"

namespace vramstow {

struct LevelCurve {
  std::string kind;                          // Facts::kind
  std::map<std::string, std::string> facts;  // the file's facts about process and device
  MemoryTimeline timeline;
};

Analysis AnalyzeCurve(const LevelCurve& curve);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_INPUTS_CURVE_H_
