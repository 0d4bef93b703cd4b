#include "tracer/compressor.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <new>

// This macro makes zstd.h declare the functions that place a context in memory of the caller.
#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>

#include "base/rounding.h"

namespace vramstow {
namespace {

// The levels of Zstandard. Level 1 is the fastest of the usual ones, which is needed because this
// thread has to keep up with all others. It is used for all but events. A negative level skips more
// bytes while it searches.
constexpr int kUsualLevel = 1;
constexpr int kEventLevel = -5;
// Repetitions of less than seven bytes, which is about one event, are not worth a search.
constexpr int kEventMatch = 7;
// A quick result is short enough if it has at most this part of the payload, in percent. A loop of
// frees with five bytes each, of which two are a time step, is compressed thoroughly.
constexpr uint64_t kShortPercent = 40;

struct Parameters {
  int level = kUsualLevel;
  int match = 0;  // the shortest repetition; 0 for the level's own
  // Whether the bytes that do not repeat are encoded by their frequencies.
  ZSTD_paramSwitch_e encodes_rest = ZSTD_ps_auto;
  int keeps_buffers = 0;  // 1 if input and output stay where they are between several calls
};

ZSTD_CCtx* Prepare(void* context, const Parameters& parameters) {
  auto* const to = static_cast<ZSTD_CCtx*>(context);
  ZSTD_CCtx_reset(to, ZSTD_reset_session_only);
  ZSTD_CCtx_setParameter(to, ZSTD_c_compressionLevel, parameters.level);
  ZSTD_CCtx_setParameter(to, ZSTD_c_minMatch, parameters.match);
  ZSTD_CCtx_setParameter(to, ZSTD_c_literalCompressionMode, parameters.encodes_rest);
  ZSTD_CCtx_setParameter(to, ZSTD_c_stableInBuffer, parameters.keeps_buffers);
  ZSTD_CCtx_setParameter(to, ZSTD_c_stableOutBuffer, parameters.keeps_buffers);
  return to;
}

}  // namespace

Compressor* Compressor::Create() {
  const size_t work = ZSTD_estimateCCtxSize(kUsualLevel);
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

// zstd returns an error if a result does not fit into this room.
size_t Compressor::RoomFor(uint32_t size) const { return std::min<size_t>(size, sizeof result_); }

uint32_t Compressor::Compress(const uint8_t* bytes, uint32_t size) {
  const size_t count = ZSTD_compress2(Prepare(context_, {}), result_, RoomFor(size), bytes, size);
  return ZSTD_isError(count) != 0 ? 0 : static_cast<uint32_t>(count);
}

uint32_t Compressor::CompressQuickly(uint32_t size, size_t before) {
  ZSTD_CCtx* const context = Prepare(context_, {kEventLevel, kEventMatch, ZSTD_ps_disable});
  const size_t count =
      ZSTD_compress2(context, result_ + before, RoomFor(size) - before, split_, size);
  return ZSTD_isError(count) != 0 ? 0 : static_cast<uint32_t>(before + count);
}

uint32_t Compressor::CompressThoroughly(uint32_t size, SplitCount events, size_t before) {
  ZSTD_CCtx* const context = Prepare(context_, {kEventLevel, kEventMatch, ZSTD_ps_enable, 1});
  ZSTD_CCtx_setPledgedSrcSize(context, size);
  ZSTD_outBuffer out = {result_, RoomFor(size), before};
  ZSTD_inBuffer in = {split_, 0, 0};
  for (const size_t end : {size - 2 * size_t{events}, size - size_t{events}, size_t{size}}) {
    in.size = end;
    const ZSTD_EndDirective then = end == size ? ZSTD_e_end : ZSTD_e_flush;
    if (ZSTD_compressStream2(context, &out, &in, then) != 0) return 0;  // does not fit
    if (end == size) break;  // without events all three are the same
  }
  return static_cast<uint32_t>(out.pos);
}

// Compresses the events in split_.
uint32_t Compressor::CompressEvents(uint32_t size, SplitCount events, size_t before) {
  if (RoomFor(size) <= before) return 0;
  if (thorough_chunks_ == 0) {
    const uint32_t count = CompressQuickly(size, before);
    if (count != 0 && count * uint64_t{100} <= size * kShortPercent) return count;
    thorough_chunks_ = kThoroughChunks;
  }
  --thorough_chunks_;
  return CompressThoroughly(size, events, before);
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
    encoded = compressor->CompressEvents(size, events, sizeof events);
  } else {
    encoded = compressor->Compress(bytes, size);
  }
  if (encoded == 0) return plain;
  return {splits ? ChunkEncoding::kSplitZstd : ChunkEncoding::kZstd, compressor->result_, encoded};
}

}  // namespace vramstow
