#include "tracer/format/sealed_chunk.h"

#include <unistd.h>
#include <zstd.h>

#include <cerrno>
#include <cstring>

#include "base/rounding.h"
#include "tracer/format/crc32c.h"

namespace vramstow {

std::vector<uint8_t> SealedChunk(ChunkHeader header, const std::vector<uint8_t>& payload) {
  std::vector<uint8_t> chunk(sizeof header + ZSTD_compressBound(payload.size()));
  uint8_t* const body = chunk.data() + sizeof header;
  size_t size =
      ZSTD_compress(body, chunk.size() - sizeof header, payload.data(), payload.size(), 1);
  if (ZSTD_isError(size) == 0 && size < payload.size()) {
    header.encoding = static_cast<uint8_t>(ChunkEncoding::kZstd);
    header.payload_bytes = static_cast<uint32_t>(payload.size());
  } else {
    size = payload.size();
    std::memcpy(body, payload.data(), size);
  }
  std::memcpy(header.magic, kChunkMagic, sizeof kChunkMagic);
  header.header_bytes = sizeof header;
  header.state = kChunkSealed;
  header.committed = static_cast<uint32_t>(size);
  header.payload_checksum = Crc32c(body, size);
  chunk.resize(sizeof header + size);
  chunk.resize(RoundUp(chunk.size(), kChunkAlignment));
  header.capacity = static_cast<uint32_t>(chunk.size());
  header.checksum = Crc32c(&header, offsetof(ChunkHeader, checksum));
  header.more_checksum =
      Crc32c(&header.buffer, offsetof(ChunkHeader, more_checksum) - offsetof(ChunkHeader, buffer));
  std::memcpy(chunk.data(), &header, sizeof header);
  return chunk;
}

bool WriteAt(int file, const void* bytes, size_t size, uint64_t offset) {
  const char* from = static_cast<const char*>(bytes);
  while (size > 0) {
    const ssize_t written = pwrite(file, from, size, static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written == 0) errno = ENOSPC;  // some file systems report a full disk in this way
    if (written <= 0) return false;
    from += written;
    offset += static_cast<uint64_t>(written);
    size -= static_cast<size_t>(written);
  }
  return true;
}

}  // namespace vramstow
