// Writes to the program's own stdout and stderr.
//
// Ownership: none. Threads: one at a time. Errors: returned, and errno says why; a failed write to
// stderr is ignored. Units: none.
#ifndef VRAMSTOW_TOOLS_TERMINAL_OUTPUT_H_
#define VRAMSTOW_TOOLS_TERMINAL_OUTPUT_H_

#include <string>
#include <string_view>

#include "tools/terminal/layout.h"

namespace vramstow {

// Makes sure that no file which the program opens later gets the number of a standard stream that
// was closed when the program started. Such a stream stays closed for programs that this one
// starts, and writing to it still fails.
void OccupyStandardStreams();

// Writes all of the text, or returns false.
bool WriteAll(int descriptor, std::string_view text);

// Writes a text to stdout and returns the exit status. The status is kExitOk on success. If the
// text cannot be written, it is kExitCannotWrite, after a sentence on stderr. If the reader has
// closed the pipe (`vramstow analyze x | head -1`), it is kExitBrokenPipe, without a sentence.
int PrintResult(const std::string& command, std::string_view text);

// Writes "vramstow COMMAND: SENTENCE" to stderr, in one write.
void Complain(const std::string& command, std::string_view sentence);

// Returns the style of text for stdout. The width is the terminal's, or 80 columns without a
// terminal. There are colours on a terminal unless NO_COLOR is set. The text is ASCII if the locale
// in the environment is not UTF-8.
TextStyle StyleOfStdout();

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_TERMINAL_OUTPUT_H_
