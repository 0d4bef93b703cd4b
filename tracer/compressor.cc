#include "tracer/compressor.h"

#include <sys/mman.h>

#include <new>

// Contexts in memory of the caller's.
#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>

#include "base/rounding.h"

namespace vramstow {
namespace {

// The fastest of the usual levels: the thread has to keep up with all others.
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

uint32_t Compressor::Compress(const uint8_t* bytes, uint32_t size) {
  // A result that is not shorter does not fit, and that is an error.
  const size_t room = size < sizeof result_ ? size : sizeof result_;
  const size_t count =
      ZSTD_compressCCtx(static_cast<ZSTD_CCtx*>(context_), result_, room, bytes, size, kLevel);
  return ZSTD_isError(count) != 0 ? 0 : static_cast<uint32_t>(count);
}

}  // namespace vramstow
