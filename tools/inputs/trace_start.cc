#include "tools/inputs/trace_start.h"

#include <cstring>
#include <fstream>

#include "tracer/format/layout.h"

namespace vramstow {

RecordedProcess ProcessOfTrace(const std::string& path) {
  FileHeader header = {};
  std::ifstream stream(path, std::ios::binary);
  const bool is_read = static_cast<bool>(
      stream.read(reinterpret_cast<char*>(&header), sizeof header));  // NOLINT: bytes of a file
  const bool is_trace = is_read && std::memcmp(header.magic, kFileMagic, sizeof header.magic) == 0;
  return is_trace ? RecordedProcess{header.process, header.start_unix_ns} : RecordedProcess{};
}

uint64_t TraceStartUnixNs(const std::string& path) { return ProcessOfTrace(path).start_unix_ns; }

}  // namespace vramstow
