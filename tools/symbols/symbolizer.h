// Symbolizer: which functions a native frame of a trace is in.
//
// Idea: a trace has, for each native frame, a library with its build id and how far into the mapped
// library the code goes on. The file is opened where it was, or where distributions keep debug
// files of a build id, and asked for its symbols and, where it has them, its debug information:
// then functions that were inlined are told, too, and files and lines.
//
// Ownership: keeps libraries open and all answers; texts live as long as the Symbolizer. Threads:
// one at a time. Errors: an empty answer, and FailureReason says why for a library: its file is
// gone or is another one. Units: bytes.
#ifndef VRAMSTOW_TOOLS_SYMBOLS_SYMBOLIZER_H_
#define VRAMSTOW_TOOLS_SYMBOLS_SYMBOLIZER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tracer/format/reader.h"

namespace vramstow {

struct SourcePlace {
  std::string function;  // as it is written in C++, with its parameters where they are known
  std::string file;      // empty without debug information
  int line = 0;          // 0: not known
  bool is_inlined = false;
};

class Symbolizer {
 public:
  Symbolizer();
  ~Symbolizer();
  Symbolizer(const Symbolizer&) = delete;
  Symbolizer& operator=(const Symbolizer&) = delete;

  // The functions at the call before `offset` (TraceFrame::offset), from the innermost inlined one
  // to the one that has a frame. Empty if nothing is known.
  const std::vector<SourcePlace>& Resolve(const TraceLibrary& library, uint64_t offset);

  // One sentence why nothing is known about a library, or empty.
  std::string_view FailureReason(const TraceLibrary& library);

 private:
  class File;
  File& FileOf(const TraceLibrary& library);

  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_SYMBOLS_SYMBOLIZER_H_
