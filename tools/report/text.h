// Text: facts as a report for people, on a terminal or in a log.
//
// Ownership: results are the caller's. Threads: pure functions. Errors: none. Units: written out.
#ifndef VRAMSTOW_TOOLS_REPORT_TEXT_H_
#define VRAMSTOW_TOOLS_REPORT_TEXT_H_

#include <string>

#include "tools/analysis/facts/facts.h"
#include "tools/report/layout.h"

namespace vramstow {

// All that is known.
std::string TextReport(const FactSet& set, const TextStyle& style);

// The parts that are missing of the trace, one sentence a line; empty where nothing is. Part of the
// report, and of other commands' messages.
std::string MissingText(const Facts& facts);

// The same of all traces, with the files that could not be used.
std::string MissingOfAll(const FactSet& set);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_REPORT_TEXT_H_
