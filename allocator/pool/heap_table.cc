#include "allocator/pool/heap_table.h"

#include <new>

#include "allocator/core/host_memory.h"

namespace vramstow {
namespace {

// A block's id consists of the bit kIdMark, 11 bits for the pool, 10 bits for the heap, and a
// counter that lasts for years. Ids of the driver never have the bit kIdMark.
constexpr uint64_t kIdMark = uint64_t{1} << 63;

// The key of the common heap, which serves callers without a stream. The common heap waits for all
// submitted work before it reuses memory. So it can also serve a stream for which no heap is left.
constexpr HeapKey kCommon{kUnknownStream, 0};

}  // namespace

void HeapTable::Open(const HeapDependencies& with, uint32_t id_space) {
  with_ = with;
  id_space_ = id_space;
}

uint32_t HeapTable::Forget() {
  const uint32_t heaps = count();
  for (std::atomic<StreamHeap*>& entry : table_) entry.store(nullptr);
  count_.store(0);
  detached_ = 0;
  return heaps;
}

void HeapTable::Destroy(uint32_t number) {
  StreamHeap* heap = heaps_[number];
  heap->Close();
  heap->~StreamHeap();
  FreeHostMemory(heap, sizeof(StreamHeap));
  heaps_[number] = nullptr;
}

uint64_t HeapTable::PlaceOf(const HeapKey& key) {
  static_assert(kPlaces == 1U << 11);
  const uint64_t apart = key.pool + (uint64_t{key.tag} << 32);
  const uint64_t mixed = (key.stream ^ (apart * 0x9E3779B97F4A7C15U)) * 0xD6E8FEB86659FD93U;
  return mixed >> 53;  // 11 bits for kPlaces slots
}

StreamHeap* HeapTable::Find(const HeapKey& key) const {
  for (uint64_t place = PlaceOf(key);; place = (place + 1) & (kPlaces - 1)) {
    StreamHeap* heap = table_[place].load(std::memory_order_acquire);
    if (heap == nullptr || heap->key == key) return heap;
  }
}

// --- Slots by key --------------------------------------------------------------------------------

void HeapTable::Link(StreamHeap* heap) {
  uint64_t place = PlaceOf(heap->key.Get());
  while (table_[place].load(std::memory_order_relaxed) != nullptr) {
    place = (place + 1) & (kPlaces - 1);
  }
  table_[place].store(heap, std::memory_order_release);
}

// A look-up without the lock may miss a heap that is being moved to another slot. It is then
// repeated under the device's lock.
void HeapTable::Unlink(const StreamHeap* heap) {
  uint64_t hole = PlaceOf(heap->key.Get());
  while (table_[hole].load(std::memory_order_relaxed) != heap) hole = (hole + 1) & (kPlaces - 1);
  for (uint64_t place = hole;;) {
    place = (place + 1) & (kPlaces - 1);
    StreamHeap* follower = table_[place].load(std::memory_order_relaxed);
    if (follower == nullptr) break;
    const uint64_t home = PlaceOf(follower->key.Get());
    if (((place - home) & (kPlaces - 1)) < ((place - hole) & (kPlaces - 1))) continue;
    table_[hole].store(follower, std::memory_order_release);
    hole = place;
  }
  table_[hole].store(nullptr, std::memory_order_release);
}

// --- Heaps and timelines -------------------------------------------------------------------------

StreamHeap* HeapTable::Get(const HeapKey& key) {
  with_.fences->StreamBegins(key.stream);
  StreamHeap* heap = Find(key);
  if (heap != nullptr && heap->paused() && key.tag != 0) return Get({key.stream, key.pool});
  if (heap != nullptr) return heap;
  const uint32_t timeline = TimelineOf(key.stream);
  heap = ReuseVacant(key, timeline);
  if (heap == nullptr) {
    const bool full = key != kCommon && count() + 1 >= kMaxHeaps;
    // A captured graph may write to memory of a private pool, and no other pool may use that
    // memory. So the common heap, which all pools share, cannot serve a private pool.
    if (full) return key.pool == 0 ? Get(kCommon) : nullptr;
    heap = Add(key, timeline);
    if (heap == nullptr) return nullptr;
  }
  const uint32_t end_tick = with_.fences->EndTick(timeline);
  if (!with_.fences->Completed(timeline, end_tick)) {
    // A stream with the same handle was destroyed before, and its work has not finished.
    HeapLock lock(heap);
    heap->CloseGate(end_tick);
  }
  Link(heap);
  return heap;
}

uint32_t HeapTable::TimelineOf(uint64_t stream) {
  if (stream == kUnknownStream || stream == Fences::kNoStream) return Fences::kEverything;
  Fences& fences = *with_.fences;
  uint32_t timeline = fences.TimelineOf(stream);
  if (timeline != Fences::kMaxTimelines) return timeline;
  timeline = fences.FindFinished();
  if (timeline == Fences::kMaxTimelines) {
    fences.NoteOverflow();
    return Fences::kEverything;
  }
  const uint32_t heaps = count();
  for (uint32_t number = 1; number <= heaps; ++number) {
    StreamHeap* heap = heaps_[number];
    if (heap->timeline != timeline) continue;
    HeapLock lock(heap);
    Detach(heap);
  }
  fences.Reuse(timeline, stream);
  return timeline;
}

void HeapTable::StreamEnds(uint64_t stream) {
  if (stream == kUnknownStream || stream == Fences::kNoStream) return;
  Fences& fences = *with_.fences;
  fences.StreamBegins(stream);  // the stream's creation may have gone unnoticed
  const uint32_t timeline = fences.FindTimeline(stream);
  if (timeline != Fences::kMaxTimelines) fences.StreamEnds(timeline);
  const uint32_t heaps = count();
  for (uint32_t number = 1; number <= heaps; ++number) {
    StreamHeap* heap = heaps_[number];
    if (heap->detached() || heap->key.stream() != stream) continue;
    HeapLock lock(heap);
    if (heap->on_stream) {
      heap->CloseGate(fences.EndTick(timeline));
    } else {
      // The ended stream had no timeline, but a later stream with the same handle may get one.
      Detach(heap);
    }
  }
}

void HeapTable::Detach(StreamHeap* heap) {
  Unlink(heap);
  heap->Detach();
  ++detached_;
}

// True if the heap may be given this key once it is empty.
bool HeapTable::MayRename(const StreamHeap& heap, const HeapKey& key) const {
  const HeapKey now = heap.key.Get();
  // Another thread may have found the heap under its old key. That thread checks only the stream of
  // the key (Serves) and would not notice that only the tag changed. So the stream must differ.
  if (now.stream == key.stream && now.tag != key.tag) return false;
  if (heap.detached()) return true;
  if (count() + 1 < kMaxHeaps) return false;
  const Fences& fences = *with_.fences;
  const bool finished = fences.HasEnded(heap.timeline) &&
                        fences.Completed(heap.timeline, fences.EndTick(heap.timeline));
  return finished || now.pool != 0 || now.tag != 0;
}

// Finds a vacant heap and gives it this key, but does not link it into the table yet. Returns null
// if no heap is vacant.
StreamHeap* HeapTable::ReuseVacant(const HeapKey& key, uint32_t timeline) {
  if (detached_ == 0 && count() + 1 < kMaxHeaps) return nullptr;
  bool ensured = false;
  const uint32_t heaps = count();
  for (uint32_t number = 1; number <= heaps; ++number) {
    StreamHeap* heap = heaps_[number];
    if (MayRename(*heap, key) && TryRename(heap, key, timeline, &ensured)) return heap;
  }
  return nullptr;
}

// Gives the heap this key if the heap is vacant; returns false if it is not. A heap may seem to be
// in use only because the pool does not know yet that work has finished. So an event is recorded,
// at most once for all heaps that are tried: *ensured is true after that.
bool HeapTable::TryRename(StreamHeap* heap, const HeapKey& key, uint32_t timeline, bool* ensured) {
  if (heap->stats.live_blocks.load(std::memory_order_relaxed) != 0 && !heap->has_deferred()) {
    return false;
  }
  Fences& fences = *with_.fences;
  HeapLock lock(heap);
  if (fences.HasEnded(heap->timeline)) {
    fences.Ensure(heap->timeline, fences.OpenTick(heap->timeline));
  }
  heap->Settle();
  if (!heap->IsVacant() && !*ensured) {
    *ensured = true;
    fences.Hasten(heap->timeline);
    heap->Settle();
  }
  if (!heap->IsVacant()) return false;
  if (!heap->detached()) Detach(heap);
  --detached_;
  heap->Rename(key, timeline);
  return true;
}

StreamHeap* HeapTable::Add(const HeapKey& key, uint32_t timeline) {
  const uint32_t number = count() + 1;
  void* memory = AllocateHostMemory(sizeof(StreamHeap));
  if (memory == nullptr) return nullptr;
  auto* heap = new (memory) StreamHeap;
  if (!heap->Open(with_, key, static_cast<uint16_t>(number), timeline)) {
    heap->~StreamHeap();
    FreeHostMemory(memory, sizeof(StreamHeap));
    return nullptr;
  }
  {
    MutexLock lock(&heap->mutex);
    heap->next_id = kIdMark | uint64_t{id_space_ & 2047} << 52 | uint64_t{number} << 42;
  }
  heaps_[number] = heap;
  count_.store(number, std::memory_order_release);
  // The only heap of a pool updates the peak without the lock of the credits
  // (PeakTracker::NoteServed). When the first heap's lock has been taken here, a block that it was
  // serving has been counted in that way, and its next block sees two heaps.
  if (number == 2) {
    heaps_[1]->mutex.Lock();
    heaps_[1]->mutex.Unlock();
  }
  return heap;
}

uint64_t HeapTable::AllocatedBytes() const {
  const uint32_t heaps = count();
  uint64_t sum = 0;
  for (uint32_t number = 1; number <= heaps; ++number) {
    sum += heaps_[number]->stats.allocated_bytes.load(std::memory_order_relaxed);
  }
  return sum;
}

uint64_t HeapTable::MappedWithoutStream() const {
  const StreamHeap* heap = Find({kUnknownStream, 0});
  if (heap == nullptr) return 0;
  return heap->mapped_bytes(SpanTable::kSmallZone) + heap->mapped_bytes(SpanTable::kLargeZone);
}

}  // namespace vramstow
