// SealedChunk makes a complete chunk in the form of a file, for tools that write traces.
//
// Ownership: values. Threads: any. Errors: none. Units: bytes. Source of the format:
// docs/trace-format.md.
#ifndef VRAMSTOW_TRACER_FORMAT_SEALED_CHUNK_H_
#define VRAMSTOW_TRACER_FORMAT_SEALED_CHUNK_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tracer/format/layout.h"
#include "tracer/format/varint.h"

namespace vramstow {

// The longest payload of a sealed chunk.
inline constexpr size_t kMaxPayloadBytes = kSlotBytes - sizeof(ChunkHeader);

// Returns a chunk: its header and the payload, compressed if that is shorter. The caller fills in
// the header's trace_id, number, thread, kind, base_sequence, base_time and buffer.
std::vector<uint8_t> SealedChunk(ChunkHeader header, const std::vector<uint8_t>& payload);

// Appends a number to the bytes of a payload, which are a string or a vector.
template <typename Bytes>
void AppendNumber(Bytes* bytes, uint64_t value) {
  uint8_t varint[kMaxVarintBytes + 8];
  bytes->insert(bytes->end(), varint, WriteVarint(varint, value));
}

// Appends a text to the bytes of a payload. The text follows the number of its bytes.
template <typename Bytes>
void AppendText(Bytes* bytes, std::string_view text) {
  AppendNumber(bytes, text.size());
  bytes->insert(bytes->end(), text.begin(), text.end());
}

// Writes all bytes. Returns false and sets errno if that fails.
bool WriteAt(int file, const void* bytes, size_t size, uint64_t offset);

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_FORMAT_SEALED_CHUNK_H_
