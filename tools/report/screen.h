// Screen: what a reader needs first, on one screen of a terminal.
//
// Idea: where memory ran out, why, at which line, held by what, what to do, and what comes of it.
// Where it did not, that nothing is wrong and how much room is left, or the one thing that is
// wrong. Then memory over time, the three lines of the program that held most, and where to read
// on. TextReport (text.h) has everything else.
//
// Ownership: results are the caller's. Threads: pure functions. Errors: none. Units: written out.
#ifndef VRAMSTOW_TOOLS_REPORT_SCREEN_H_
#define VRAMSTOW_TOOLS_REPORT_SCREEN_H_

#include <string>

#include "tools/analysis/facts/facts.h"
#include "tools/report/layout.h"

namespace vramstow {

// `input`: what a user types behind a command to name the same files, for the lines that say where
// to read on.
std::string ScreenReport(const FactSet& set, const std::string& input, const TextStyle& style);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_REPORT_SCREEN_H_
