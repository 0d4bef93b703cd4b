// OpenTraces: the traces of a run that were not closed, because their processes were killed or
// still run.
//
// Ownership: the results refer to the set. Threads: pure functions, callable from any thread.
// Errors: none. Units: written in the text.
#ifndef VRAMSTOW_TOOLS_REPORT_OPEN_TRACES_H_
#define VRAMSTOW_TOOLS_REPORT_OPEN_TRACES_H_

#include <string>
#include <vector>

#include "tools/analysis/facts/facts.h"

namespace vramstow {

// Returns the traces in the order of their last events.
std::vector<const Facts*> OpenTraces(const FactSet& set);

// Names the processes. If one was killed, its launcher may have ended the others. Returns an empty
// text if all traces were closed.
std::string OpenInWords(const FactSet& set);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_REPORT_OPEN_TRACES_H_
