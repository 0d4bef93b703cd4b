// Fuzz target for the reader: it must read any bytes without a crash, in order, and in the same way
// twice.
//
//   mkdir corpus && reader_fuzz corpus tests/tracer/corpus   (libFuzzer; new inputs go to the
//   first)
//
// The first byte of the input decides whether checksums are corrected before the rest is read:
// otherwise a fuzzer would hardly ever get past them.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "tracer/format/crc32c.h"
#include "tracer/format/layout.h"
#include "tracer/format/reader.h"

namespace vramstow {
namespace {

void MakeChecksumsRight(std::string* bytes) {
  if (bytes->size() < sizeof(FileHeader)) return;
  std::memcpy(bytes->data(), kFileMagic, sizeof kFileMagic);
  FileHeader file;
  std::memcpy(&file, bytes->data(), sizeof file);
  file.checksum = Crc32c(&file, offsetof(FileHeader, checksum));
  std::memcpy(bytes->data(), &file, sizeof file);
  const std::string_view magic(reinterpret_cast<const char*>(kChunkMagic), sizeof kChunkMagic);
  for (size_t at = bytes->find(magic); at != std::string::npos; at = bytes->find(magic, at + 1)) {
    ChunkHeader header;
    if (bytes->size() - at < sizeof header) break;
    std::memcpy(&header, bytes->data() + at, sizeof header);
    header.trace_id = file.trace_id;
    header.checksum = Crc32c(&header, offsetof(ChunkHeader, checksum));
    header.more_checksum = Crc32c(
        &header.buffer, offsetof(ChunkHeader, more_checksum) - offsetof(ChunkHeader, buffer));
    const size_t room = bytes->size() - at - sizeof header;
    const size_t size = header.committed < room ? header.committed : room;
    header.payload_checksum = Crc32c(bytes->data() + at + sizeof header, size);
    std::memcpy(bytes->data() + at, &header, sizeof header);
  }
}

uint64_t ReadAll(TraceReader* reader) {
  uint64_t sequence = 0;
  uint64_t sum = 0;
  Event event;
  while (reader->Next(&event)) {
    if (event.sequence <= sequence) std::abort();
    sequence = event.sequence;
    sum = sum * 31 + event.address + event.size + event.time_ns +
          reader->CallName(event.call).size() + reader->Library(event.library).path.size();
    if (event.kind == EventKind::kMark) sum += reader->Annotation(event.object).size();
    for (const TraceFrame& frame : reader->Stack(event.stack)) {
      sum = sum * 31 + frame.offset + frame.function.size() + frame.file.size() + frame.line;
    }
  }
  return sum;
}

}  // namespace
}  // namespace vramstow

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  std::string bytes(reinterpret_cast<const char*>(data), size);
  // An unchanged golden file is also a useful first input.
  if ((data[0] & 1) == 0) bytes.erase(0, 1);
  if ((data[0] & 2) == 0) vramstow::MakeChecksumsRight(&bytes);
  vramstow::TraceReader reader;
  if (reader.OpenBytes(bytes) != vramstow::ReadError::kOk) return 0;
  const uint64_t first = vramstow::ReadAll(&reader);
  reader.Rewind();
  if (vramstow::ReadAll(&reader) != first) std::abort();
  return 0;
}
