// ProcessImages: which traces are by one process that replaced its program by another one (exec).
//
// Idea: after exec, a process has the same PID and the same start time, and a new program, which
// writes a trace of its own. The programs never hold memory at the same time, because exec frees
// the memory of the earlier one. An earlier trace was not closed, but the process was not killed.
//
// Ownership: none. Threads: pure functions, callable from any thread. Errors: a process whose PID,
// host or start time is not known is the same as no other. Units: none.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_FACTS_PROCESS_IMAGES_H_
#define VRAMSTOW_TOOLS_ANALYSIS_FACTS_PROCESS_IMAGES_H_

#include <cstddef>
#include <vector>

#include "tools/analysis/facts/facts.h"

namespace vramstow {

// Returns whether one process wrote both traces.
bool IsSameProcess(const Facts& a, const Facts& b);

// Returns the processes that wrote the traces: of each the places of its traces in `traces`.
std::vector<std::vector<size_t>> ProcessesOf(const std::vector<Facts>& traces);

// Notes that a trace ended by exec (`process.replaced`), and that it is closed, if a later trace is
// by the same process.
void NoteReplacedPrograms(std::vector<Facts>* traces);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_FACTS_PROCESS_IMAGES_H_
