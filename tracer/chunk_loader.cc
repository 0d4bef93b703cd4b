#include "tracer/chunk_loader.h"

#include <sys/mman.h>

#include <cstring>
#include <new>

// This macro makes zstd.h declare the functions that place a context in memory of the caller.
#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>

#include "base/rounding.h"
#include "tracer/format/crc32c.h"

namespace vramstow {

ChunkLoader* ChunkLoader::Create(TraceFile* file) {
  const size_t work = ZSTD_estimateDCtxSize();
  constexpr size_t kOwn = RoundUp(sizeof(ChunkLoader), 64);
  void* const memory =
      mmap(nullptr, kOwn + work, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  ChunkLoader* const loader = new (memory) ChunkLoader;
  loader->file_ = file;
  loader->context_ = ZSTD_initStaticDCtx(static_cast<char*>(memory) + kOwn, work);
  if (loader->context_ != nullptr) return loader;
  munmap(memory, kOwn + work);
  return nullptr;
}

bool ChunkLoader::Decompress(const uint8_t* frame, size_t frame_bytes, uint8_t* to, size_t size) {
  const size_t count =
      ZSTD_decompressDCtx(static_cast<ZSTD_DCtx*>(context_), to, size, frame, frame_bytes);
  return ZSTD_isError(count) == 0 && count == size;
}

// Decodes the payload that was just read from the file.
bool ChunkLoader::Decode(const ChunkHeader& header, uint8_t* to) {
  if (header.encoding == static_cast<uint8_t>(ChunkEncoding::kZstd)) {
    return Decompress(encoded_, header.committed, to, header.payload_bytes);
  }
  SplitCount events;
  if (header.committed < sizeof events) return false;
  std::memcpy(&events, encoded_, sizeof events);
  return Decompress(encoded_ + sizeof events, header.committed - sizeof events, split_,
                    header.payload_bytes) &&
         splitter_.Join(split_, header.payload_bytes, events, to);
}

bool ChunkLoader::Load(const ChunkHeader& header, uint64_t offset, uint8_t* to, size_t* size) {
  const bool is_plain = header.encoding == static_cast<uint8_t>(ChunkEncoding::kPlain);
  if (header.committed > kSlotBytes || header.payload_bytes > kSlotBytes) return false;
  uint8_t* const read = is_plain ? to : encoded_;
  if (!file_->ReadAt(read, header.committed, offset + header.header_bytes)) return false;
  if (Crc32c(read, header.committed) != header.payload_checksum) return false;
  *size = is_plain ? header.committed : header.payload_bytes;
  if (!is_plain && !Decode(header, to)) return false;
  std::memset(to + *size, 0, kDecodePadding);
  return true;
}

}  // namespace vramstow
