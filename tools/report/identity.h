// Identity: what a report is about: the command, its processes, and the cards.
//
// Ownership: results are the caller's. Threads: pure functions. Errors: none. Units: written out.
#ifndef VRAMSTOW_TOOLS_REPORT_IDENTITY_H_
#define VRAMSTOW_TOOLS_REPORT_IDENTITY_H_

#include <cstddef>
#include <string>

#include "tools/analysis/facts/facts.h"
#include "tools/report/layout.h"

namespace vramstow {

// "rank 3", or the process id where no rank is known, or the file.
std::string NameOfTrace(const Facts& facts);

// The command, the process and the cards of one trace, each on a line of its own.
std::string Identity(const Facts& facts, const TextStyle& style);
// The same in fewer words, for the screen.
std::string ShortIdentity(const Facts& facts, const TextStyle& style);
// The number of traces, their command, and whether they were rehearsed.
std::string IdentityOfAll(const FactSet& set, const TextStyle& style);

// One row for each process; of more than `most` only the `highest` with the highest peaks.
std::string ProcessTable(const FactSet& set, size_t most, size_t highest, const TextStyle& style);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_REPORT_IDENTITY_H_
