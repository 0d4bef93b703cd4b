// Text: writes facts as a report for people, on a terminal or in a log.
//
// Ownership: the caller owns the results. Threads: pure functions, callable from any thread.
// Errors: none. Units: written in the text.
#ifndef VRAMSTOW_TOOLS_REPORT_TEXT_REPORT_H_
#define VRAMSTOW_TOOLS_REPORT_TEXT_REPORT_H_

#include <string>

#include "tools/analysis/facts/facts.h"
#include "tools/terminal/layout.h"

namespace vramstow {

// Returns the full report.
std::string TextReport(const FactSet& set, const TextStyle& style);

// Returns what is missing from the trace, one sentence on each line; empty if nothing is. Used in
// the report and in messages of other commands.
std::string MissingText(const Facts& facts);

// Returns what is missing from all traces together, and which files could not be used.
std::string MissingOfAll(const FactSet& set);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_REPORT_TEXT_REPORT_H_
