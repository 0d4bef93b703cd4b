#include "allocator/pool/heap_table.h"

#include <new>

#include "allocator/core/host_memory.h"

namespace vramstow {
namespace {

// Ids of blocks: this mark, which the driver's own never have, 11 bits of the pool, 10 of the heap,
// and a count that lasts for years.
constexpr uint64_t kIdMark = uint64_t{1} << 63;

}  // namespace

void HeapTable::Open(const HeapDependencies& with, uint32_t id_space) {
  with_ = with;
  id_space_ = id_space;
}

uint32_t HeapTable::Forget() {
  const uint32_t heaps = count();
  for (std::atomic<StreamHeap*>& entry : table_) entry.store(nullptr);
  count_.store(0);
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
  return mixed >> 53;  // 11 bits: kPlaces places
}

StreamHeap* HeapTable::Find(const HeapKey& key) const {
  for (uint64_t place = PlaceOf(key);; place = (place + 1) & (kPlaces - 1)) {
    StreamHeap* heap = table_[place].load(std::memory_order_acquire);
    if (heap == nullptr || heap->key == key) return heap;
  }
}

StreamHeap* HeapTable::Get(const HeapKey& key) {
  StreamHeap* heap = Find(key);
  if (heap != nullptr) return heap->paused() ? Get({key.stream, key.pool}) : heap;
  // The last place is kept for callers without a stream: that heap waits for everything, so it is
  // right for any stream that finds no place of its own.
  constexpr HeapKey kCommon{kUnknownStream, 0};
  if (key != kCommon && count() + 1 >= kMaxHeaps) return Get(kCommon);
  return Make(key);
}

StreamHeap* HeapTable::Make(const HeapKey& key) {
  const uint32_t number = count() + 1;
  void* memory = AllocateHostMemory(sizeof(StreamHeap));
  if (memory == nullptr) return nullptr;
  auto* heap = new (memory) StreamHeap;
  const uint32_t timeline =
      key.stream == kUnknownStream ? Fences::kEverything : with_.fences->TimelineOf(key.stream);
  if (!heap->Open(with_, key, static_cast<uint16_t>(number), timeline)) {
    heap->~StreamHeap();
    FreeHostMemory(memory, sizeof(StreamHeap));
    return nullptr;
  }
  {
    MutexLock lock(&heap->mutex);
    heap->set_graph_pinned(key.pool != 0);
    heap->next_id = kIdMark | uint64_t{id_space_ & 2047} << 52 | uint64_t{number} << 42;
  }
  heaps_[number] = heap;
  count_.store(number, std::memory_order_release);
  // From here on the first heap knows that it is not alone: a block of it that is being served
  // (PeakTracker::NoteServed) has been counted as if it were.
  if (number == 2) {
    heaps_[1]->mutex.Lock();
    heaps_[1]->mutex.Unlock();
  }
  uint64_t place = PlaceOf(key);
  while (table_[place].load(std::memory_order_relaxed) != nullptr) {
    place = (place + 1) & (kPlaces - 1);
  }
  table_[place].store(heap, std::memory_order_release);
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
