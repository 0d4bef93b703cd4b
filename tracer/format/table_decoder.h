// TraceTables decodes facts, names of calls and libraries, and stacks from the chunks that contain
// them.
//
// Ownership: copies all. Threads: one at a time. Errors: false if the bytes are invalid; everything
// before them is retained. Memory: bounded by the bytes read, and by 65,536 names of each kind, a
// million stacks and annotations, four million functions and 4,096 facts; what is beyond is
// ignored. Units: bytes.
#ifndef VRAMSTOW_TRACER_FORMAT_TABLE_DECODER_H_
#define VRAMSTOW_TRACER_FORMAT_TABLE_DECODER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tracer/format/reader.h"

namespace vramstow {

struct TraceTables {
  std::map<std::string, std::string> facts;
  std::vector<std::string> calls = {"unknown"};
  std::vector<TraceLibrary> libraries = {{"unknown", 0, ""}};

  struct Code {
    uint32_t first_line = 0;
    std::string name;
    std::string file;
  };
  struct StackNode {
    uint32_t parent = 0;  // less than this node's own number
    uint8_t kind = 0;
    uint32_t source = 0;  // library or code
    uint64_t place = 0;
  };
  std::vector<Code> codes = {{0, "unknown", "unknown"}};
  std::vector<StackNode> stacks = {{}};
  std::map<uint64_t, std::string> annotations;
  // The functions at an address, by library and offset.
  std::map<std::pair<uint32_t, uint64_t>, std::vector<TraceFunction>> functions;
  size_t functions_in_all = 0;

  // Returns the frames of a stack, the innermost first. The outermost ones of an impossibly deep
  // stack are left out.
  std::vector<TraceFrame> Stack(uint32_t stack) const;

  // Decodes the records of one chunk. *consumed is the number of bytes that were decoded.
  bool Decode(const uint8_t* bytes, size_t size, size_t* consumed);
};

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_FORMAT_TABLE_DECODER_H_
