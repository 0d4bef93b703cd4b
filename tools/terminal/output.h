// Output: what the program writes to its own stdout and stderr.
//
// Ownership: none. Threads: one at a time. Errors: told by the result, errno says why; what cannot
// be said on stderr is lost, and nothing else happens. Units: none.
#ifndef VRAMSTOW_TOOLS_TERMINAL_OUTPUT_H_
#define VRAMSTOW_TOOLS_TERMINAL_OUTPUT_H_

#include <string>
#include <string_view>

#include "tools/report/layout.h"

namespace vramstow {

// Makes sure that no file which the program opens later gets the place of a standard stream that
// was closed when it started. Such a stream stays closed for programs that this one starts, and
// writing to it still fails.
void OccupyStandardStreams();

// Writes all of the text, or gives false.
bool WriteAll(int descriptor, std::string_view text);

// Writes a text to stdout. The exit status: kExitOk, kExitCannotWrite after a sentence, or without
// one kExitBrokenPipe (`vramstow analyze x | head -1`).
int PrintResult(const std::string& command, std::string_view text);

// "vramstow COMMAND: SENTENCE" on stderr, in one write.
void Complain(const std::string& command, std::string_view sentence);

// How text for stdout should look: the terminal's width, 80 columns where there is none; colours on
// a terminal, unless NO_COLOR is set; ASCII where the environment's locale is not UTF-8.
TextStyle StyleOfStdout();

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_TERMINAL_OUTPUT_H_
