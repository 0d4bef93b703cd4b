// Screen: shows the most important results on one screen of a terminal.
//
// Idea: if memory ran out, the screen says why, at which line, which object held the memory, what
// to do, and how much that helps. Otherwise it says that nothing is wrong and how much memory is
// left, or it names the fault. Then it shows memory over time, the three lines of the program that
// held most, and where to find more. TextReport (text.h) has everything else.
//
// Ownership: the caller owns the results. Threads: pure functions, callable from any thread.
// Errors: none. Units: written in the text.
#ifndef VRAMSTOW_TOOLS_REPORT_SCREEN_H_
#define VRAMSTOW_TOOLS_REPORT_SCREEN_H_

#include <string>

#include "tools/analysis/facts/facts.h"
#include "tools/terminal/layout.h"

namespace vramstow {

// Returns the screen. `input` is the text that a user types after a command to name the same files.
// It stands in the lines that say where to find more.
std::string ScreenReport(const FactSet& set, const std::string& input, const TextStyle& style);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_REPORT_SCREEN_H_
