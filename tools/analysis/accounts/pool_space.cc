#include "tools/analysis/accounts/pool_space.h"

#include <algorithm>

namespace vramstow {

void PoolSpace::AddSegment(uint64_t address, uint64_t size) {
  if (!ranges_.Reserve(address, size)) return;
  any_ = true;
  UseWhatCame(address, size);
}

void PoolSpace::EndSegment(uint64_t address) { Shrink(address, ranges_.SizeOf(address)); }

// Marks memory as used that was mapped at addresses where blocks lie already. These blocks were
// offloaded before.
void PoolSpace::UseWhatCame(uint64_t address, uint64_t size) {
  if (used_outside_.empty()) return;
  for (const AddressRange& range : used_outside_.Inside(address, address + size)) {
    ranges_.Fill(range.from, range.size());
  }
  used_outside_.Cut(address, address + size);
}

void PoolSpace::Grow(uint64_t address, uint64_t size) {
  if (!ranges_.Grow(address, size)) return;
  any_ = true;
  UseWhatCame(address, size);
}

void PoolSpace::Shrink(uint64_t address, uint64_t size) {
  const std::vector<AddressRange> used = ranges_.Used(address, size);
  ranges_.Shrink(address, size);
  for (const AddressRange& range : used) used_outside_.Add(range.from, range.to);
}

void PoolSpace::AddHandle(uint64_t handle, uint64_t size, bool on_host) {
  if (on_host) {
    host_handles_.insert(handle);
    return;
  }
  EndHandle(handle, false);  // has an effect only if its end was not seen
  any_ = true;
  chunks_[handle].size = size;
  unmapped_bytes_ += size;
}

void PoolSpace::EndHandle(uint64_t handle, bool on_host) {
  if (on_host) {
    host_handles_.erase(handle);
    return;
  }
  changes_.clear();
  const auto known = chunks_.find(handle);
  if (known == chunks_.end()) return;
  while (!known->second.pages.empty()) RemovePage(pages_.find(known->second.pages.back()));
  unmapped_bytes_ -= known->second.size;
  chunks_.erase(known);
}

void PoolSpace::Map(uint64_t address, uint64_t size, uint64_t handle) {
  changes_.clear();
  if (!IsRange(address, size)) return;
  if (handle == 0) {
    Grow(address, size);
    return;
  }
  Unmap(address, size);  // has an effect only if its end was not seen
  if (host_handles_.contains(handle)) return;
  if (unit_ == 0) {
    unit_ = size;
    origin_ = address;
    ranges_.MovesUnits(unit_, origin_);
  }
  any_ = true;
  Chunk& chunk = chunks_[handle];
  pages_[address] = {size, handle};
  hidden_[address] = size;
  chunk.pages.push_back(address);
  // While live memory is being copied to a new page, it still counts at the page where its blocks
  // are.
  if (chunk.has_place) {
    PlaceBlocks();
    if (!ranges_.Used(chunk.place, pages_[chunk.place].size).empty()) return;
  }
  Show(address, &chunk);
}

void PoolSpace::Unmap(uint64_t address, uint64_t size) {
  changes_.clear();
  if (!IsRange(address, size)) return;
  const uint64_t end = address + size;
  auto page = FirstEndingAfter(&pages_, address, [](const auto& it) { return it.second.size; });
  while (page != pages_.end() && page->first < end) {
    page = RemovePage(page);  // a chunk is unmapped whole
  }
  Shrink(address, size);
}

absl::btree_map<uint64_t, PoolSpace::Page>::iterator PoolSpace::RemovePage(
    absl::btree_map<uint64_t, Page>::iterator page) {
  const uint64_t address = page->first;
  Chunk& chunk = chunks_[page->second.handle];
  if (chunk.has_place && chunk.place == address) Hide(&chunk);
  hidden_.erase(address);
  chunk.pages.erase(std::find(chunk.pages.begin(), chunk.pages.end(), address));
  return pages_.erase(page);
}

// Records that the chunk counts at this page, and at no other page.
void PoolSpace::Show(uint64_t address, Chunk* chunk) {
  if (chunk->has_place) {
    if (chunk->place == address) return;
    Hide(chunk);
  }
  const uint64_t size = pages_[address].size;
  hidden_.erase(address);
  chunk->place = address;
  chunk->has_place = true;
  unmapped_bytes_ -= std::min(chunk->size, size);
  Grow(address, size);
  changes_.push_back({address, size, true});
}

void PoolSpace::Hide(Chunk* chunk) {
  const uint64_t size = pages_[chunk->place].size;
  hidden_[chunk->place] = size;
  chunk->has_place = false;
  unmapped_bytes_ += std::min(chunk->size, size);
  Shrink(chunk->place, size);
  changes_.push_back({chunk->place, size, false});
}

void PoolSpace::Put(uint64_t address, uint64_t size) {
  changes_.clear();
  if (!IsRange(address, size) || size > BlockNotes::kMaxBytes) return;
  if (!hidden_.empty()) {
    std::vector<uint64_t> called;  // a copy, because Show changes the map
    for (auto page = FirstEndingAfter(&hidden_, address, [](const auto& it) { return it.second; });
         page != hidden_.end() && page->first < address + size; ++page) {
      called.push_back(page->first);
    }
    for (const uint64_t place : called) Show(place, &chunks_[pages_[place].handle]);
  }
  notes_.Came(address, size);
  if (notes_.full()) PlaceBlocks();
}

void PoolSpace::Take(uint64_t address, uint64_t size) {
  if (!IsRange(address, size) || size > BlockNotes::kMaxBytes) return;
  notes_.Went(address, size);
  if (notes_.full()) PlaceBlocks();
}

// Handles removals before additions, because a new block may lie where an old one was.
void PoolSpace::PlaceBlocks() const {
  if (notes_.empty()) return;
  notes_.DeliverAll([this](const std::vector<BlockNote>& notes) {
    for (const BlockNote& note : notes) {
      if (note.taken != 0) Go(note.address, note.taken);
    }
    for (const BlockNote& note : notes) {
      if (note.size != 0) Come(note.address, note.size);
    }
  });
}

void PoolSpace::Come(uint64_t address, uint64_t size) const {
  if (ranges_.Fill(address, size) == size) return;
  for (const AddressRange& range : ranges_.Unknown(address, size)) {
    used_outside_.Add(range.from, range.to);
  }
}

void PoolSpace::Go(uint64_t address, uint64_t size) const {
  ranges_.Clear(address, size);
  if (!used_outside_.empty()) used_outside_.Cut(address, address + size);
}

RangeSet PoolSpace::HolesIn(const std::vector<AddressRange>& parts) const {
  RangeSet holes;
  if (unit_ != 0) holes.MovesUnits(unit_, origin_);
  for (const AddressRange& part : parts) {
    for (const AddressRange& hole : Holes().Inside(part.from, part.to)) {
      holes.Add(hole.from, hole.to, part.from, part.to);
    }
  }
  return holes;
}

uint64_t PoolSpace::UnplacedBytes(uint64_t handle) const {
  const auto known = chunks_.find(handle);
  return known == chunks_.end() || known->second.has_place ? 0 : known->second.size;
}

FreeMemory PoolSpace::Free(uint64_t request) const {
  return Holes().Free(request, unmapped_bytes_);
}

}  // namespace vramstow
