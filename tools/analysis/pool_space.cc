#include "tools/analysis/pool_space.h"

#include <algorithm>

namespace vramstow {

void PoolSpace::AddSegment(uint64_t address, uint64_t size) {
  any_ |= ranges_.Reserve(address, size);
}

void PoolSpace::EndSegment(uint64_t address) { ranges_.Unreserve(address); }

void PoolSpace::AddHandle(uint64_t handle, uint64_t size, bool on_host) {
  if (on_host) {
    host_handles_.insert(handle);
    return;
  }
  EndHandle(handle, false);  // where that was not seen
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
  if (size == 0 || address + size < address) return;
  if (handle == 0) {
    any_ |= ranges_.Grow(address, size);
    return;
  }
  Unmap(address, size);  // where that was not seen
  if (host_handles_.contains(handle)) return;
  if (unit_ == 0) {
    unit_ = size;
    ranges_.MovesUnits(unit_, address);
  }
  any_ = true;
  Chunk& chunk = chunks_[handle];
  pages_[address] = {size, handle};
  hidden_[address] = size;
  chunk.pages.push_back(address);
  // While it is copied somewhere else, live memory stays where its blocks are.
  const bool is_used = chunk.has_place && ranges_.AnyMapped(chunk.place, pages_[chunk.place].size);
  if (!is_used) Show(address, &chunk);
}

void PoolSpace::Unmap(uint64_t address, uint64_t size) {
  changes_.clear();
  if (size == 0 || address + size < address) return;
  const uint64_t end = address + size;
  auto page = pages_.upper_bound(address);
  if (page != pages_.begin() && std::prev(page)->first + std::prev(page)->second.size > address) {
    --page;
  }
  while (page != pages_.end() && page->first < end) {
    page = RemovePage(page);  // a chunk is unmapped whole
  }
  ranges_.Shrink(address, size);
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

// The chunk is at this page, and at no other.
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
  ranges_.Grow(address, size);
  changes_.push_back({address, size, true});
}

void PoolSpace::Hide(Chunk* chunk) {
  const uint64_t size = pages_[chunk->place].size;
  hidden_[chunk->place] = size;
  chunk->has_place = false;
  unmapped_bytes_ += std::min(chunk->size, size);
  ranges_.Shrink(chunk->place, size);
  changes_.push_back({chunk->place, size, false});
}

void PoolSpace::Put(uint64_t address, uint64_t size, uint64_t holder) {
  changes_.clear();
  if (!hidden_.empty()) {
    auto page = hidden_.upper_bound(address);
    if (page != hidden_.begin() && std::prev(page)->first + std::prev(page)->second > address) {
      --page;
    }
    std::vector<uint64_t> called;  // to show one changes the map
    for (; page != hidden_.end() && page->first < address + size; ++page) {
      called.push_back(page->first);
    }
    for (const uint64_t place : called) Show(place, &chunks_[pages_[place].handle]);
  }
  ranges_.Displace(address, size);
  ranges_.Map({address, size, holder});
}

FreeMemory PoolSpace::Free(uint64_t request) const {
  return ranges_.Free(request, unmapped_bytes_);
}

}  // namespace vramstow
