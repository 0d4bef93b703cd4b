// Prints the stacks of a trace, one line for each frame, the innermost frame first. The fields of a
// line are separated by tabs. An "event" line has the event's sequence; a "python" line has
// function, file and line; a "native" line has library and offset.
#include <cstdio>

#include "tracer/format/reader.h"

using vramstow::Event;
using vramstow::ReadError;
using vramstow::TraceFrame;
using vramstow::TraceReader;

int main(int argc, char** argv) {
  TraceReader reader;
  if (argc != 2 || reader.Open(argv[1]) != ReadError::kOk) {
    std::fprintf(stderr, "Name one trace.\n");
    return 2;
  }
  Event event;
  while (reader.Next(&event)) {
    std::printf("event\t%llu\n", static_cast<unsigned long long>(event.sequence));
    for (const TraceFrame& frame : reader.Stack(event.stack)) {
      if (frame.kind == TraceFrame::Kind::kPython) {
        std::printf("python\t%.*s\t%.*s\t%u\n", static_cast<int>(frame.function.size()),
                    frame.function.data(), static_cast<int>(frame.file.size()), frame.file.data(),
                    frame.line);
      } else if (frame.kind == TraceFrame::Kind::kNative) {
        std::printf("native\t%s\t%#llx\n", reader.Library(frame.library).path.c_str(),
                    static_cast<unsigned long long>(frame.offset));
      } else {
        std::printf("cut\n");
      }
    }
  }
  return 0;
}
