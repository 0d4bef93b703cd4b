#include "tracer/chunk_writer.h"

#include <cstring>

#include "tracer/format/crc32c.h"

namespace vramstow {
namespace {

void SetState(ChunkHeader* header, ChunkState state) {
  std::atomic_ref<uint32_t>(header->state).store(state, std::memory_order_release);
}

}  // namespace

void ChunkWriter::Begin(const Start& start) {
  ChunkHeader* const to = header();
  // These two are the same for each chunk of the slot. In a new slot they come first, so that
  // nothing is ever there that a reader cannot explain.
  std::memcpy(to->magic, kChunkMagic, sizeof kChunkMagic);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  to->capacity = place_.capacity;
  // The chunk that was here is gone from here on: its header and the new one's must not mix.
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
  to->more_checksum =
      Crc32c(&to->buffer, offsetof(ChunkHeader, more_checksum) - offsetof(ChunkHeader, buffer));
  to->reserved = 0;
  to->lost_events = 0;
  to->payload_checksum = 0;
  next_ = payload();
  end_ = place_.bytes + place_.capacity;
  Commit(next_);
  SetState(to, kChunkOpen);
}

int ChunkWriter::Append() {
  ChunkHeader sealed;
  std::memcpy(&sealed, header(), sizeof sealed);
  const uint32_t size = committed();
  const uint32_t padding = (kChunkAlignment - size % kChunkAlignment) % kChunkAlignment;
  sealed.capacity = static_cast<uint32_t>(sizeof sealed) + size + padding;
  sealed.checksum = Crc32c(&sealed, offsetof(ChunkHeader, checksum));
  sealed.state = kChunkSealed;
  sealed.committed = size;
  sealed.payload_checksum = Crc32c(payload(), size);
  static constexpr uint8_t kPadding[kChunkAlignment] = {};
  iovec parts[] = {
      {&sealed, sizeof sealed}, {payload(), size}, {const_cast<uint8_t*>(kPadding), padding}};
  const int error = place_.file->Append(parts, 3);
  if (error != 0) return error;
  next_ = end_ = nullptr;
  return 0;
}

void ChunkWriter::SealInPlace() {
  if (!has_chunk()) return;
  header()->payload_checksum = Crc32c(payload(), committed());
  SetState(header(), kChunkSealed);
  end_ = next_;
}

void ChunkWriter::Abandon() { next_ = end_ = nullptr; }

}  // namespace vramstow
