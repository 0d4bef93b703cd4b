// SealedChunk: a whole chunk as it lies in a file, for whoever writes traces after the fact.
//
// Ownership: values. Threads: any. Errors: none. Units: bytes. Source of the format:
// docs/trace-format.md.
#ifndef VRAMSTOW_TRACER_FORMAT_SEALED_CHUNK_H_
#define VRAMSTOW_TRACER_FORMAT_SEALED_CHUNK_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tracer/format/layout.h"

namespace vramstow {

// The most that SealedChunk takes.
inline constexpr size_t kMaxPayloadBytes = kSlotBytes - sizeof(ChunkHeader);

// The payload, compressed where that is shorter, behind its header. The caller fills in the
// header's trace_id, number, thread, kind, base_sequence, base_time and buffer.
std::vector<uint8_t> SealedChunk(ChunkHeader header, const std::vector<uint8_t>& payload);

// Writes all of it. False: it could not; errno says why.
bool WriteAt(int file, const void* bytes, size_t size, uint64_t offset);

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_FORMAT_SEALED_CHUNK_H_
