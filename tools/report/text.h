// Text: facts as a report for people, on a terminal or in a log.
//
// Ownership: results are the caller's. Threads: pure functions. Errors: none. Units: written out.
#ifndef VRAMSTOW_TOOLS_REPORT_TEXT_H_
#define VRAMSTOW_TOOLS_REPORT_TEXT_H_

#include <string>

#include "tools/analysis/facts/facts.h"

namespace vramstow {

struct TextStyle {
  size_t width = 80;  // columns; tables take up to 80 in any case
  bool utf8 = true;   // false: plain ASCII
};

std::string TextReport(const FactSet& set, const TextStyle& style);

// The parts that are missing of the trace, one sentence a line; empty where nothing is. Part of the
// report, and of other commands' messages.
std::string MissingText(const Facts& facts);

// "rank 3", or the process id where no rank is known, or the file.
std::string NameOfTrace(const Facts& facts);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_REPORT_TEXT_H_
