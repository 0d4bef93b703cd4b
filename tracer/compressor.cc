#include "tracer/compressor.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>

// This macro makes zstd.h declare the functions that place a context in memory of the caller.
#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>

#include "base/rounding.h"

namespace vramstow {
namespace {

// The compression level of Zstandard. Level 1 is the fastest of the usual levels, which is needed
// because this thread has to keep up with all others. A negative level would need a quarter less
// work for the events of a loop, but would make a trace of random sizes a fifth longer.
constexpr int kLevel = 1;

}  // namespace

Compressor* Compressor::Create() {
  const size_t work = ZSTD_estimateCCtxSize(kLevel);
  constexpr size_t kOwn = RoundUp(sizeof(Compressor), 64);
  void* const memory =
      mmap(nullptr, kOwn + work, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  Compressor* const compressor = new (memory) Compressor;
  compressor->work_bytes_ = work;
  compressor->context_ = ZSTD_initStaticCCtx(static_cast<char*>(memory) + kOwn, work);
  if (compressor->context_ == nullptr) {
    munmap(memory, kOwn + work);
    return nullptr;
  }
  return compressor;
}

void Compressor::Destroy(Compressor* compressor) {
  munmap(compressor, RoundUp(sizeof(Compressor), 64) + compressor->work_bytes_);
}

// Compresses the payload into result_, from position `before` on. Returns 0 if the result would not
// be shorter than the payload.
uint32_t Compressor::Compress(const uint8_t* bytes, uint32_t size, size_t before) {
  const size_t room = std::min<size_t>(size, sizeof result_);
  if (room <= before) return 0;
  // zstd returns an error if the result does not fit.
  const size_t count = ZSTD_compressCCtx(static_cast<ZSTD_CCtx*>(context_), result_ + before,
                                         room - before, bytes, size, kLevel);
  return ZSTD_isError(count) != 0 ? 0 : static_cast<uint32_t>(before + count);
}

Compressor::Encoded Compressor::Encode(Compressor* compressor, ChunkKind kind, const uint8_t* bytes,
                                       uint32_t size) {
  const Encoded plain = {ChunkEncoding::kPlain, bytes, size};
  if (compressor == nullptr) return plain;
  SplitCount events = 0;
  const bool splits =
      HasSplitTimes(kind) && compressor->splitter_.Split(bytes, size, compressor->split_, &events);
  uint32_t encoded = 0;
  if (splits) {
    std::memcpy(compressor->result_, &events, sizeof events);
    encoded = compressor->Compress(compressor->split_, size, sizeof events);
  } else {
    encoded = compressor->Compress(bytes, size, 0);
  }
  if (encoded == 0) return plain;
  return {splits ? ChunkEncoding::kSplitZstd : ChunkEncoding::kZstd, compressor->result_, encoded};
}

}  // namespace vramstow
