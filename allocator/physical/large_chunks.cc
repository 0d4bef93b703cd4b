// The functions of ChunkTable for large chunks: one handle under several neighbouring pages.
#include "allocator/core/counter.h"
#include "allocator/physical/chunk_table.h"

namespace vramstow {

void ChunkTable::AddLarge(uint64_t handle, uint32_t order) {
  const uint32_t lead = chunks_.New();
  uint32_t last = lead;
  for (uint32_t i = 0; i < uint32_t{1} << order; ++i) {
    const uint32_t index = i == 0 ? lead : chunks_.New();
    chunks_[index].kind = ChunkMemory::kDevice;
    chunks_[index].handle = handle;
    chunks_[index].order = static_cast<uint8_t>(order);
    chunks_[index].lead = lead;
    if (i != 0) chunks_[last].follow = index;
    last = index;
  }
  ++large_;
  LinkLarge(lead);
}

void ChunkTable::RemoveLarge(uint32_t lead) {
  UnlinkLarge(lead);
  --large_;
  for (uint32_t index = lead, following = 0; index != 0; index = following) {
    following = chunks_[index].follow;
    chunks_.Delete(index);
  }
}

void ChunkTable::LinkLarge(uint32_t lead) {
  Chunk& chunk = chunks_[lead];
  uint32_t* head = &idle_large_[chunk.order];
  for (uint32_t index = lead; index != 0; index = chunks_[index].follow) chunks_[index].place = 0;
  chunk.previous = 0;
  chunk.next = *head;
  if (*head != 0) chunks_[*head].previous = lead;
  *head = lead;
  Bump(&idle_large_pages_, PagesOf(lead));
}

void ChunkTable::UnlinkLarge(uint32_t lead) {
  const Chunk& chunk = chunks_[lead];
  if (chunk.next != 0) chunks_[chunk.next].previous = chunk.previous;
  if (chunk.previous != 0) {
    chunks_[chunk.previous].next = chunk.next;
  } else {
    idle_large_[chunk.order] = chunk.next;
  }
  Subtract(&idle_large_pages_, PagesOf(lead));
}

uint32_t ChunkTable::FindIdleLarge(uint64_t most_pages) const {
  for (uint32_t order = kLargestOrder; order > 0; --order) {
    if (uint64_t{1} << order <= most_pages && idle_large_[order] != 0) return idle_large_[order];
  }
  return 0;
}

DriverResult ChunkTable::MapLarge(uint32_t lead) {
  const uint32_t first = chunks_[lead].place;
  const uint64_t size = PagesOf(lead) * chunk_bytes();
  const uint64_t address = space_->AddressOf(first);
  const DriverResult result = driver_->map(driver_->self, address, size, chunks_[lead].handle);
  events_->Mapping(EventKind::kMap, address, size, chunks_[lead].handle, result);
  if (result != kDriverSuccess) return result;
  uint32_t number = first;
  for (uint32_t index = lead; index != 0; index = chunks_[index].follow, ++number) {
    Page& page = (*space_)[number];
    page.mapped = index;
    page.next = 0;
    page.fresh = true;
    chunks_[index].pages = number;
    chunks_[index].mappings = 1;
  }
  mappings_ += PagesOf(lead);
  return kDriverSuccess;
}

DriverResult ChunkTable::UnmapLarge(uint32_t lead) {
  const uint32_t first = chunks_[lead].place;
  const uint64_t size = PagesOf(lead) * chunk_bytes();
  const uint64_t address = space_->AddressOf(first);
  const uint64_t sequence =
      events_->Mapping(EventKind::kUnmap, address, size, chunks_[lead].handle, kDriverSuccess);
  const DriverResult result = driver_->unmap(driver_->self, address, size);
  if (result != kDriverSuccess) {
    events_->Refused(sequence, result);
    return result;
  }
  uint32_t number = first;
  for (uint32_t index = lead; index != 0; index = chunks_[index].follow, ++number) {
    Page& page = (*space_)[number];
    page.mapped = 0;
    page.fresh = false;
    chunks_[index].pages = 0;
    chunks_[index].mappings = 0;
  }
  mappings_ -= PagesOf(lead);
  return kDriverSuccess;
}

DriverResult ChunkTable::PlaceLarge(uint32_t lead, uint32_t number) {
  chunks_[lead].place = number;
  const DriverResult result = MapLarge(lead);
  if (result != kDriverSuccess) {
    chunks_[lead].place = 0;
    return result;
  }
  UnlinkLarge(lead);
  for (uint32_t index = lead; index != 0; index = chunks_[index].follow) BeginUse(index, number++);
  return kDriverSuccess;
}

DriverResult ChunkTable::DetachLarge(uint32_t lead) {
  const uint32_t first = chunks_[lead].place;
  const DriverResult result = (*space_)[first].mapped != 0 ? UnmapLarge(lead) : kDriverSuccess;
  if (result != kDriverSuccess) return result;
  for (uint32_t i = 0; i < PagesOf(lead); ++i) EndUse(&(*space_)[first + i]);
  PutIdle(lead);
  return kDriverSuccess;
}

DriverResult ChunkTable::GivePagesAccess(uint32_t number, uint32_t count, bool host) {
  const uint32_t from = FirstPageOf(number);
  const uint32_t last = FirstPageOf(number + count - 1);
  const uint32_t to = last + PagesOf((*space_)[last].chunk);
  const DriverResult result =
      GiveAccess(space_->AddressOf(from), (to - from) * chunk_bytes(), host);
  if (result != kDriverSuccess) return result;
  for (uint32_t i = from; i < to; ++i) (*space_)[i].fresh = false;
  return kDriverSuccess;
}

}  // namespace vramstow
