// Identity: describes the subject of a report: the command, its processes, and the GPUs.
//
// Ownership: the caller owns the results. Threads: pure functions, callable from any thread.
// Errors: none. Units: written in the text.
#ifndef VRAMSTOW_TOOLS_REPORT_IDENTITY_H_
#define VRAMSTOW_TOOLS_REPORT_IDENTITY_H_

#include <cstddef>
#include <string>

#include "tools/analysis/facts/facts.h"
#include "tools/terminal/layout.h"

namespace vramstow {

// Returns a text like "rank 3". Without a rank, it has the process id; without a process id, the
// file.
std::string NameOfTrace(const Facts& facts);

// Returns the command, the process and the GPUs of one trace, each on a line of its own.
std::string Identity(const Facts& facts, const TextStyle& style);
// Returns the same as Identity in a shorter form, for the screen.
std::string ShortIdentity(const Facts& facts, const TextStyle& style);
// Returns the number of traces and their command, and says whether they were made by a simulated
// run.
std::string IdentityOfAll(const FactSet& set, const TextStyle& style);

// Returns a table with a row for each process. If there are more than `most` processes, it has only
// as many rows as `highest` says, for those with the highest peaks.
std::string ProcessTable(const FactSet& set, size_t most, size_t highest, const TextStyle& style);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_REPORT_IDENTITY_H_
