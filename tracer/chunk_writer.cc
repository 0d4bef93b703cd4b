#include "tracer/chunk_writer.h"

#include <cstring>

#include "tracer/format/crc32c.h"

namespace vramstow {
namespace {

void SetState(ChunkHeader* header, ChunkState state) {
  std::atomic_ref<uint32_t>(header->state).store(state, std::memory_order_release);
}

uint32_t MoreChecksum(const ChunkHeader& header) {
  return Crc32c(&header.buffer,
                offsetof(ChunkHeader, more_checksum) - offsetof(ChunkHeader, buffer));
}

constexpr uint8_t kPadding[kChunkAlignment] = {};
uint32_t PaddingBehind(uint32_t size) {
  return (kChunkAlignment - size % kChunkAlignment) % kChunkAlignment;
}

// Writes a chunk to the next position of the ring. The chunk gets the capacity (the length) of that
// position.
int AppendToRing(TraceFile* file, ChunkHeader* sealed, const uint8_t* bytes, uint32_t size) {
  TraceFile::RingPlace place;
  int error = file->BeginInRing(static_cast<uint32_t>(sizeof *sealed) + size, &place);
  if (error != 0) return error;
  sealed->capacity = place.capacity;
  sealed->checksum = Crc32c(sealed, offsetof(ChunkHeader, checksum));
  // Padding fills the whole capacity, because a file that ends inside a chunk's capacity would
  // count as damaged.
  iovec parts[] = {{sealed, sizeof *sealed},
                   {const_cast<uint8_t*>(bytes), size},
                   {const_cast<uint8_t*>(kPadding), PaddingBehind(size)}};
  error = file->WriteAt(parts, 3, place.offset);
  file->EndInRing();
  return error;
}

}  // namespace

void ChunkWriter::Begin(const Start& start) {
  ChunkHeader* const to = header();
  // The magic number and the next value are the same for each chunk of the slot. In a new slot they
  // are written first, so that a reader never finds other fields without them.
  std::memcpy(to->magic, kChunkMagic, sizeof kChunkMagic);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  to->capacity = place_.capacity;
  // From here on the slot does not contain its earlier chunk any more, so a reader never sees a
  // mixture of the two headers.
  SetState(to, kChunkPreparing);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  to->trace_id = place_.trace_id;
  to->number = start.number;
  to->thread = start.thread;
  to->kind = static_cast<uint8_t>(start.kind);
  to->encoding = static_cast<uint8_t>(ChunkEncoding::kPlain);
  to->header_bytes = sizeof(ChunkHeader);
  to->base_sequence = start.base_sequence;
  to->base_time = start.base_time;
  to->checksum = Crc32c(to, offsetof(ChunkHeader, checksum));
  to->buffer = start.buffer;
  to->payload_bytes = 0;
  to->more_checksum = MoreChecksum(*to);
  to->turn = start.turn;
  to->lost_events = 0;
  to->payload_checksum = 0;
  next_ = payload();
  end_ = place_.bytes + place_.capacity;
  Commit(next_);
  SetState(to, kChunkOpen);
}

int AppendChunk(TraceFile* file, const ChunkHeader& header, ChunkEncoding encoding,
                const uint8_t* bytes, uint32_t size, uint32_t payload_bytes) {
  ChunkHeader sealed;
  std::memcpy(&sealed, &header, sizeof sealed);
  sealed.encoding = static_cast<uint8_t>(encoding);
  sealed.payload_bytes = encoding == ChunkEncoding::kPlain ? 0 : payload_bytes;
  sealed.more_checksum = MoreChecksum(sealed);
  sealed.state = kChunkSealed;
  sealed.committed = size;
  sealed.payload_checksum = Crc32c(bytes, size);
  const bool is_table = sealed.kind == static_cast<uint8_t>(ChunkKind::kTables);
  if (file->has_ring() && !is_table) {
    const int error = AppendToRing(file, &sealed, bytes, size);
    if (error != TraceFile::kRingIsLeft) return error;
  }
  const uint32_t padding = PaddingBehind(size);
  sealed.capacity = static_cast<uint32_t>(sizeof sealed) + size + padding;
  sealed.checksum = Crc32c(&sealed, offsetof(ChunkHeader, checksum));
  iovec parts[] = {{&sealed, sizeof sealed},
                   {const_cast<uint8_t*>(bytes), size},
                   {const_cast<uint8_t*>(kPadding), padding}};
  return file->Append(parts, 3);
}

void SealChunkInPlace(uint8_t* slot) {
  ChunkHeader* const header = reinterpret_cast<ChunkHeader*>(slot);
  if (header->state != kChunkOpen) return;
  header->payload_checksum = Crc32c(slot + sizeof *header, header->committed);
  SetState(header, kChunkSealed);
}

void ClearChunk(uint8_t* slot) { SetState(reinterpret_cast<ChunkHeader*>(slot), kChunkPreparing); }

int ChunkWriter::Append() {
  const int error = AppendChunk(place_.file, *header(), ChunkEncoding::kPlain, payload(),
                                committed(), committed());
  if (error == 0) next_ = end_ = nullptr;
  return error;
}

void ChunkWriter::SealInPlace() {
  if (!has_chunk()) return;
  SealChunkInPlace(place_.bytes);
  end_ = next_;
}

}  // namespace vramstow
