// SourceLines: reads the source lines that call stacks name from the program's own files, as these
// files are now.
//
// Idea: the page may be read on another machine, so it contains the few source lines that it shows.
// These are the lines of stacks that belong to the program itself, and their neighbours.
//
// Ownership: the results are copies. Threads: pure functions, callable from any thread. Errors: a
// file that is missing, large or no text gives no lines. Units: lines, counted from 1.
#ifndef VRAMSTOW_TOOLS_REPORT_SOURCE_LINES_H_
#define VRAMSTOW_TOOLS_REPORT_SOURCE_LINES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tools/analysis/facts/detail.h"

namespace vramstow {

struct SourceLines {
  uint32_t frame = 0;     // in Detail::frames
  uint32_t first = 0;     // the number of the first of these lines
  bool is_newer = false;  // the file was written after the trace: the line may be another
  std::vector<std::string> lines;
};

// `trace` is the path of the trace from which `detail` was made. If it is empty or does not exist,
// no source file counts as newer than the trace.
std::vector<SourceLines> ReadSourceLines(const Detail& detail, const std::string& trace);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_REPORT_SOURCE_LINES_H_
