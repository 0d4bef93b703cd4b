// Symbolizer finds the functions that a native frame of a trace is in.
//
// Idea: a trace has, for each native frame, a library with its build id, and the offset of the
// return address in the mapped library. The file is opened at its recorded path, or where
// distributions put the debug files of a build id. Its symbols and, if it has them, its debug
// information are read; the latter also shows inlined functions, files and lines.
//
// Ownership: holds open libraries and stores all answers; texts are valid as long as the
// Symbolizer. Threads: one at a time. Errors: returns an empty answer, and FailureReason says why
// for a library: its file is missing or is another one. Units: bytes.
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
  std::string function;  // the C++ name, with parameters if they are known
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

  // Returns the functions at the call instruction before `offset` (TraceFrame::offset). The first
  // is the innermost inlined function, and the last is the function that has a stack frame of its
  // own. The result is empty if none is found.
  const std::vector<SourcePlace>& Resolve(const TraceLibrary& library, uint64_t offset);

  // Returns one sentence that says why the functions of a library cannot be found, or an empty
  // text.
  std::string_view FailureReason(const TraceLibrary& library);

 private:
  class File;
  File& FileOf(const TraceLibrary& library);

  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_SYMBOLS_SYMBOLIZER_H_
