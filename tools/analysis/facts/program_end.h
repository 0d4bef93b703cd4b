// ProgramEnd: how the program of a trace ended, as the process and Python's start-up hook recorded
// it.
//
// Ownership: none. Threads: pure functions, callable from any thread. Errors: kUnknown if nothing
// was recorded, for example if the process was killed. Units: none.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_FACTS_PROGRAM_END_H_
#define VRAMSTOW_TOOLS_ANALYSIS_FACTS_PROGRAM_END_H_

#include <cstdint>
#include <string>

#include "tools/analysis/facts/facts.h"

namespace vramstow {

enum class ProgramEnd : uint8_t {
  kUnknown,      // unknown, or an unknown error
  kWell,         // exit status 0
  kOutOfMemory,  // the uncaught exception, or its cause, was an out-of-memory
  kOtherError,   // an uncaught exception of another kind
};

ProgramEnd EndOf(const Facts& facts);
// Returns the uncaught exception; empty if there was none, or it is unknown.
std::string UncaughtError(const Facts& facts);
// Returns the exit status, "3"; empty if it is unknown, for example if the process was killed.
std::string ExitStatusOf(const Facts& facts);
// Returns a text like "ValueError ended the program, with exit status 1". Returns an empty text if
// the program ended well, or if that is unknown.
std::string FailureInWords(const Facts& facts);
// Returns "OutOfMemoryError ended 2 of its threads", of a Python program that went on without them.
// Returns an empty text if there were none.
std::string EndedThreadsInWords(const Facts& facts);
// True if an out-of-memory ended the program, but the trace does not contain that failure.
bool EndedUnseen(const Facts& facts);
// True if an out-of-memory did not end the program.
bool WentOnAfterOutOfMemory(const Facts& facts);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_FACTS_PROGRAM_END_H_
