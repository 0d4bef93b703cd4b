// SourceLines: the lines of the program's own files that call stacks name, as the files stand now.
//
// Idea: the page is read where the files may not be. So it takes along the few lines that it shows:
// each line of a stack that belongs to the program itself, with its neighbours.
//
// Ownership: copies. Threads: pure functions. Errors: a file that is not there, is no text or is
// large gives nothing. Units: lines counted from 1.
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

// `trace`: the path of the trace that the detail was made from; empty or not there: no file is
// newer.
std::vector<SourceLines> ReadSourceLines(const Detail& detail, const std::string& trace);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_REPORT_SOURCE_LINES_H_
