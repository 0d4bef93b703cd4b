#include "allocator/pool/pool.h"

#include "allocator/core/counter.h"
#include "allocator/pool/report_writer.h"
#include "allocator/pool/serve.h"
#include "base/rounding.h"

namespace vramstow {
namespace {

constexpr uint64_t kLargestBlock = uint64_t{1} << 46;
// An arena is this many times as large as the device's memory, so that each heap can have a region
// as large as the device's memory.
constexpr uint64_t kArenaFactor = 16;
constexpr uint64_t kLeastArena = uint64_t{1} << 40;
// The plain driver aligns an allocation to this size if the allocation is at least this large.
constexpr uint64_t kSegmentPage = 2 * kMiB;

uint64_t BlockSize(uint64_t requested) { return RoundUp(requested, kBlockBytes); }

}  // namespace

const char* PoolErrorName(PoolError error) {
  switch (error) {
    case PoolError::kOk:
      return "ok";
    case PoolError::kOutOfMemory:
      return "out_of_memory";
    case PoolError::kInvalid:
      return "invalid";
    case PoolError::kNotOurs:
      return "not_ours";
    case PoolError::kUnavailable:
      return "unavailable";
  }
  return "unknown";
}

PoolError Pool::Open(const DriverTable* driver, const PoolConfig& config) {
  const PoolError error = OpenParts(driver, config);
  if (error != PoolError::kOk) return error;
  trimmer_.Open(&parts_);
  chunk_backing_.Open(&parts_, &trimmer_);
  segment_backing_.Open(&parts_, &trimmer_);
  ladder_.Open(&parts_, &trimmer_, &segment_backing_);
  pages_.Open(&parts_, &trimmer_);
  parts_.backing = &chunk_backing_;
  if (parts_.segments()) parts_.backing = &segment_backing_;
  return PoolError::kOk;
}

PoolError Pool::OpenParts(const DriverTable* driver, const PoolConfig& config) {
  PoolParts& parts = parts_;
  parts.driver = driver;
  parts.config = config;
  DriverDevice& device = parts.device;
  if (driver->describe(driver->self, &device) != kDriverSuccess) return PoolError::kUnavailable;
  const bool segments = config.backing == PoolBacking::kSegments ||
                        (config.backing == PoolBacking::kAny && !device.virtual_memory);
  if (segments ? !device.plain : !device.virtual_memory) return PoolError::kUnavailable;
  // The chunk size is a power of two, so that the page of an address is found by a bit mask.
  uint64_t chunk = segments ? kSegmentPage : device.granularity_bytes;
  while (chunk < config.chunk_bytes) chunk *= 2;
  parts.config.chunk_bytes = chunk;
  parts.events.Open(config.sink, device.ordinal);
  uint64_t wanted = config.address_bytes;
  if (wanted == 0) {
    wanted = device.total_bytes * kArenaFactor;
    if (wanted < kLeastArena) wanted = kLeastArena;
  }
  parts.space.Open(driver, &parts.events, chunk, wanted, device.total_bytes / 4);
  parts.fences.Open(driver);
  if (!parts.chunks.Open(driver, &parts.events, &parts.space, &parts.fences, config.limit_bytes,
                         config.shadows ? config.bounds.shadows : 0) ||
      !parts.segment_store.Open(driver, &parts.events, &parts.space, &parts.chunks.budget())) {
    return PoolError::kUnavailable;
  }
  parts.chunks.SetLarge(config.large_chunk_bytes, config.large_chunk_part);
  parts.exchange.Open(driver, &parts.events, &parts.space, &parts.chunks.table());
  if (segments) parts.chunks.UseSegments();
  parts.heaps.Open({.space = &parts.space,
                    .chunks = &parts.chunks,
                    .fences = &parts.fences,
                    .epochs = &parts.epochs,
                    .events = &parts.events,
                    .interference = &parts.interference,
                    .page_bytes = chunk,
                    .small_bytes = config.small_bytes,
                    .largest_region = RoundUp(device.total_bytes, chunk),
                    .bounds = config.bounds},
                   config.id_space);
  parts.peak.Open(&parts.heaps);
  parts.opened_ns = parts.Now();
  parts.limit_bytes = config.limit_bytes;
  DeviceLock device_lock(&parts.mutex);
  parts.epochs.Advance(parts.opened_ns);
  return PoolError::kOk;
}

void Pool::Close(PoolEnd end) {
  const bool alive = end != PoolEnd::kDriverGone;
  DeviceLock device_lock(&parts_.mutex);
  parts_.heaps.Close([this, end](StreamHeap* heap) {
    kDeviceLock.AssertHeld();
    parts_.backing->DropAll(heap, end);
  });
  parts_.interference.Close();
  parts_.fences.Close(end == PoolEnd::kAlive);
  parts_.chunks.Close(alive);
  parts_.exchange.Close(alive);
  parts_.chunks.table().Close();
  parts_.segment_store.Close();
  parts_.space.Close(alive);
}

PoolError Pool::WhyNoHeap(uint64_t address) const {
  return parts_.space.Owns(address) ? PoolError::kInvalid : PoolError::kNotOurs;
}

// --- Blocks -------------------------------------------------------------------------------------

PoolError Pool::Allocate(const BlockRequest& request, Block* block) {
  if (request.size == 0) return PoolError::kInvalid;
  if (request.size > kLargestBlock) return ladder_.Refuse(request);
  const uint64_t size = BlockSize(request.size);
  StreamHeap* heap = parts_.heaps.Find({request.stream, request.pool, request.tag});
  if (heap != nullptr) {
    bool served = false;
    uint64_t sum = 0;
    {
      MutexLock lock(&heap->mutex);
      // Blocks whose work has finished meanwhile must be marked as free before an address is
      // chosen.
      heap->SettleIfDone();
      const uint32_t index = heap->Serves(request.stream) ? heap->Take(size) : 0;
      if (index != 0) {
        served = true;
        sum = FinishAllocation(&parts_, heap, index, request, Served::kHit, block);
      }
    }
    if (served) {
      if (sum != 0) parts_.peak.NoteSum(heap, sum);
      return PoolError::kOk;
    }
  }
  return ladder_.Allocate(request, size, block);
}

PoolError Pool::Free(uint64_t address, BlockInfo* freed, bool framework_only) {
  const uint16_t number = parts_.space.HeapOf(address);
  if (number == AddressSpace::kNoHeap) return WhyNoHeap(address);
  StreamHeap* heap = parts_.heaps.at(number);
  MutexLock lock(&heap->mutex);
  // A free is deferred only if neither the caller nor the event sink needs a description of the
  // block now.
  if (!parts_.events.on() && freed == nullptr && heap->DeferFree(address)) {
    Bump(&heap->stats.frees, 1);
    return PoolError::kOk;
  }
  heap->FlushDeferred();
  const uint32_t index = heap->FindLive(address);
  if (index == 0) return PoolError::kInvalid;
  const Span& span = heap->span(index);
  if (framework_only && span.layer != Layer::kFramework) return PoolError::kNotOurs;
  heap->NoteFreed(address);
  if (freed != nullptr) {
    const HeapKey key = heap->key.Get();
    *freed = {address, span.size, span.requested, key.stream, key.pool, span.id, span.layer};
  }
  parts_.events.Block(EventKind::kFree, span.layer, address, span.size, span.requested,
                      heap->key.stream(), Served::kUnknown);
  Bump(&heap->stats.frees, 1);
  heap->FreeLive(index);
  if (freed != nullptr) freed->pending = heap->span(index).state == SpanState::kPending;
  return PoolError::kOk;
}

PoolError Pool::RecordUse(uint64_t address, uint64_t stream) {
  const uint16_t number = parts_.space.HeapOf(address);
  if (number == AddressSpace::kNoHeap) return WhyNoHeap(address);
  StreamHeap* heap = parts_.heaps.at(number);
  uint32_t timeline = parts_.fences.FindTimeline(stream);
  if (timeline == Fences::kMaxTimelines) {
    DeviceLock device_lock(&parts_.mutex);
    timeline = parts_.heaps.TimelineOf(stream);
  }
  HeapLock lock(heap);
  const uint32_t index = heap->FindLive(address);
  if (index == 0) return PoolError::kInvalid;
  heap->RecordUse(index, timeline);
  return PoolError::kOk;
}

PoolError Pool::Find(uint64_t address, BlockInfo* info) {
  const uint16_t number = parts_.space.HeapOf(address);
  if (number == AddressSpace::kNoHeap) return WhyNoHeap(address);
  StreamHeap* heap = parts_.heaps.at(number);
  HeapLock lock(heap);
  const uint32_t index = heap->FindAround(address);
  if (index == 0) return PoolError::kInvalid;
  const Span& span = heap->span(index);
  const HeapKey key = heap->key.Get();
  *info = {span.address, span.size, span.requested, key.stream,
           key.pool,     span.id,   span.layer,     !heap->on_stream || span.uses != 0};
  return PoolError::kOk;
}

uint32_t Pool::ChunksOf(uint64_t address, uint64_t id, uint64_t first, uint64_t* handles,
                        uint32_t most) {
  DeviceLock device_lock(&parts_.mutex);
  const uint16_t number = parts_.space.HeapOf(address);
  if (number == AddressSpace::kNoHeap || segments()) return 0;
  StreamHeap* heap = parts_.heaps.at(number);
  HeapLock lock(heap);
  const uint32_t index = heap->FindLive(address);
  if (index == 0 || heap->span(index).id != id) return 0;
  const uint64_t chunk = parts_.config.chunk_bytes;
  const uint64_t end = address + heap->span(index).requested;
  uint32_t count = 0;
  for (uint64_t at = address / chunk * chunk + first * chunk; at < end && count < most;
       at += chunk) {
    // Another process shares the chunk and would not notice if the page got another chunk. So the
    // chunk must stay at this page.
    parts_.space.Renew(at, AddressSpace::kHeld);
    if (parts_.chunks.OnHost(at)) return 0;
    handles[count++] = parts_.chunks.HandleAt(at);
  }
  return count;
}

// Segments need no registration: they are freed by the plain driver's own free, which other
// libraries notice as they do without the pool.
void Pool::RegisterChunks(uint64_t address, uint64_t size) {
  DeviceLock device_lock(&parts_.mutex);
  if (segments()) return;
  const uint64_t chunk = parts_.config.chunk_bytes;
  for (uint64_t at = address / chunk * chunk; at < address + size; at += chunk) {
    if (parts_.space.HeapOf(at) == AddressSpace::kNoHeap) return;
    if (parts_.space.PageAt(at).chunk != 0) parts_.chunks.RegisterForGood(at);
  }
}

uint64_t Pool::HoldChunks(uint64_t address, uint64_t size) {
  DeviceLock device_lock(&parts_.mutex);
  return segments() ? 0 : pages_.Hold(address, size);
}

void Pool::ReleaseChunks(uint64_t address, uint64_t size) {
  DeviceLock device_lock(&parts_.mutex);
  pages_.Release(address, size);
}

PoolError Pool::AllocateAt(uint64_t address, const BlockRequest& request, Block* block) {
  if (request.size == 0 || address % kBlockBytes != 0) return PoolError::kInvalid;
  const uint64_t size = BlockSize(request.size);
  DeviceLock device_lock(&parts_.mutex);
  // The heap is found by the address, so the tag of the heap does not matter.
  const uint16_t number = parts_.space.HeapOf(address);
  if (number == AddressSpace::kNoHeap) return PoolError::kInvalid;
  StreamHeap* heap = parts_.heaps.at(number);
  const HeapKey key = heap->key.Get();
  if (key.stream != request.stream || key.pool != request.pool || heap->paused()) {
    return PoolError::kInvalid;
  }
  parts_.fences.StreamBegins(request.stream);
  uint64_t sum = 0;
  {
    HeapLock lock(heap);
    // Work of an earlier stream of this handle may still touch the cached memory.
    if (!heap->IsGateOpen()) return PoolError::kInvalid;
    if (!heap->Prepare()) return PoolError::kUnavailable;
    const uint32_t index = heap->RemoveAt(address, size);
    if (index == 0) return PoolError::kInvalid;
    sum = FinishAllocation(&parts_, heap, index, request, Served::kHit, block);
  }
  if (sum != 0) parts_.peak.NoteSum(heap, sum);
  return PoolError::kOk;
}

// --- Streams -------------------------------------------------------------------------------------

void Pool::NoteStream(uint64_t stream) {
  if (parts_.fences.FindTimeline(stream) != Fences::kMaxTimelines) return;
  DeviceLock device_lock(&parts_.mutex);
  parts_.heaps.TimelineOf(stream);
}

void Pool::StreamCreated(uint64_t stream) {
  if (!parts_.fences.any_ended()) return;
  DeviceLock device_lock(&parts_.mutex);
  parts_.fences.StreamBegins(stream);
}

void Pool::StreamDestroyed(uint64_t stream) {
  DeviceLock device_lock(&parts_.mutex);
  parts_.heaps.StreamEnds(stream);
}

// --- Releasing memory ----------------------------------------------------------------------------

TrimResult Pool::Trim(const TrimRequest& request) {
  const TrimResult result = trimmer_.Trim(request);
  if (result.released_bytes != 0) parts_.RunHooks(HookKind::kTrimmed, result.released_bytes);
  return result;
}

uint64_t Pool::Maintain() {
  const uint64_t released = trimmer_.Maintain();
  if (released != 0) parts_.RunHooks(HookKind::kTrimmed, released);
  return released;
}

}  // namespace vramstow
