// ProgramEnd: how the program of a trace ended, as the process and Python's start-up hook told.
//
// Ownership: none. Threads: pure functions. Errors: kUnknown where nobody told, as of a process
// that was killed. Units: none.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_FACTS_PROGRAM_END_H_
#define VRAMSTOW_TOOLS_ANALYSIS_FACTS_PROGRAM_END_H_

#include <cstdint>
#include <string>

#include "tools/analysis/facts/facts.h"

namespace vramstow {

enum class ProgramEnd : uint8_t {
  kUnknown,      // or with an error, of which nobody told what it was
  kWell,         // exit status 0
  kOutOfMemory,  // an exception that nobody caught, or the one that it came from, was of memory
  kOtherError,   // an exception that nobody caught, and no shortage led to it
};

ProgramEnd EndOf(const Facts& facts);
// The exception that nobody caught; empty: there was none, or it is not known.
std::string UncaughtError(const Facts& facts);
// Memory ran out and ended the program, and no such failure is in the trace.
bool EndedUnseen(const Facts& facts);
// Memory ran out, and that did not end the program.
bool WentOnAfterOutOfMemory(const Facts& facts);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_FACTS_PROGRAM_END_H_
