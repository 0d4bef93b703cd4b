// TraceTables: facts, names of calls and libraries, out of the chunks that hold them.
//
// Ownership: copies all. Threads: one at a time. Errors: false where the bytes make no sense; what
// came before is kept. Memory: bounded by the bytes read, and by 65,536 names of each kind.
#ifndef VRAMSTOW_TRACER_FORMAT_TABLE_DECODER_H_
#define VRAMSTOW_TRACER_FORMAT_TABLE_DECODER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tracer/format/reader.h"

namespace vramstow {

struct TraceTables {
  std::map<std::string, std::string> facts;
  std::vector<std::string> calls = {"unknown"};
  std::vector<TraceLibrary> libraries = {{"unknown", 0, ""}};

  // Takes the records of one chunk. *consumed is how many bytes were understood.
  bool Decode(const uint8_t* bytes, size_t size, size_t* consumed);
};

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_FORMAT_TABLE_DECODER_H_
