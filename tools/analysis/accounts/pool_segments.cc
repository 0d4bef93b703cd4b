#include "tools/analysis/accounts/pool_segments.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace vramstow {

// Returns a segment whose life begins with this event.
PoolSegments::Segment PoolSegments::SegmentOf(const Event& event, uint64_t size, bool grows) {
  Segment segment;
  segment.size = size;
  segment.birth = accounts_.events();
  segment.birth_ns = accounts_.now_ns();
  segment.device = event.device;
  segment.stream = event.stream;
  segment.site = accounts_.SiteOf(event);
  segment.opened = accounts_.IsOpening(event);
  segment.grows = grows;
  return segment;
}

std::optional<uint64_t> PoolSegments::Take(const Event& event, bool grows) {
  Segment segment = SegmentOf(event, event.size, grows);
  if (event.memory == MemoryKind::kHostPinned) return std::nullopt;
  if (event.memory == MemoryKind::kHostPhysical) {
    space_.pool().AddHandle(event.address, event.size, true);
    return std::nullopt;
  }
  const bool is_handle = !grows && event.memory == MemoryKind::kPhysical;
  segment.counts = !grows || event.object == 0;
  std::optional<uint64_t> taken;
  if (segment.counts) {
    accounts_.levels().Reserved(event.device, event.size);
    taken = event.size;
  }
  space_.KeepPeak();
  if (is_handle) {
    space_.pool().AddHandle(event.address, event.size, false);
    FollowChunks(event);
    Insert(&handles_, event.address, segment);
    return taken;
  }
  if (grows) {
    space_.pool().Map(event.address, event.size, event.object);
    FollowChunks(event);
    if (event.object != 0) return taken;
  } else {
    space_.pool().AddSegment(event.address, event.size);
  }
  Insert(&segments_, event.address, segment);
  return taken;
}

void PoolSegments::Insert(Segments* table, uint64_t address, const Segment& segment) {
  const auto [known, inserted] = table->try_emplace(address, segment);
  if (inserted) return;
  // The free of the earlier segment at this address was not seen.
  if (known->second.counts) accounts_.levels().Unreserved(known->second.device, known->second.size);
  ++accounts_.counts().frees_missed;
  known->second = segment;
}

uint64_t PoolSegments::GiveBack(const Event& event, bool shrinks) {
  if (event.memory == MemoryKind::kHostPhysical) {  // host memory of the offloader: never counted
    space_.pool().EndHandle(event.address, true);
    return 0;
  }
  const bool is_handle = !shrinks && event.memory == MemoryKind::kPhysical;
  uint64_t given_back = 0;
  space_.KeepPeak();
  if (!shrinks) {
    if (!EndWhole(event, is_handle, &given_back)) ++accounts_.counts().frees_of_unseen;
    return given_back;
  }
  space_.pool().Unmap(event.address, event.size);
  FollowChunks(event);
  if (event.object == 0) EndMapped(event.address, event.size, &given_back);
  return given_back;
}

// Subtracts `size` from the reserved memory and adds it to *given_back, if the segment counts as
// reserved.
void PoolSegments::Unreserve(const Segment& segment, uint64_t size, uint64_t* given_back) {
  if (!segment.counts) return;
  accounts_.levels().Unreserved(segment.device, size);
  *given_back += size;
}

// Ends a whole segment. Returns false if it is not known.
bool PoolSegments::EndWhole(const Event& event, bool is_handle, uint64_t* given_back) {
  Segments& table = is_handle ? handles_ : segments_;
  const auto known = table.find(event.address);
  if (known == table.end()) return false;
  Unreserve(known->second, known->second.size, given_back);
  if (is_handle) {
    space_.pool().EndHandle(event.address, false);
    FollowChunks(event);
  } else {
    EndLife(event.address, known->second.size, known->second);
    space_.pool().EndSegment(event.address);
  }
  table.erase(event.address);
  return true;
}

void PoolSegments::Lose(uint64_t address) {
  const auto known = segments_.find(address);
  if (known == segments_.end()) return;
  space_.KeepPeak();
  uint64_t given_back = 0;
  Unreserve(known->second, known->second.size, &given_back);
  EndLife(address, known->second.size, known->second);
  space_.pool().EndSegment(address);
  segments_.erase(known);
}

// Ends mappings: a pool may unmap a part of a mapping, or several mappings at once.
void PoolSegments::EndMapped(uint64_t address, uint64_t size, uint64_t* given_back) {
  const auto end = [&](uint64_t from, const Segment& segment, uint64_t bytes) {
    Unreserve(segment, bytes, given_back);
    EndLife(from, bytes, segment);
  };
  const uint64_t to = address + size;
  const auto exact = segments_.find(address);
  if (exact != segments_.end() && exact->second.size == size) {
    end(address, exact->second, size);
    segments_.erase(exact);
    return;
  }
  std::vector<std::pair<uint64_t, Segment>> left;
  absl::erase_if(segments_, [&](auto& entry) {
    const uint64_t from = entry.first;
    const Segment& segment = entry.second;
    if (from >= to || from + segment.size <= address) return false;
    const uint64_t cut_from = std::max(from, address);
    const uint64_t cut_to = std::min(from + segment.size, to);
    end(cut_from, segment, cut_to - cut_from);
    Segment rest = segment;
    if (from < cut_from) {
      rest.size = cut_from - from;
      left.emplace_back(from, rest);
    }
    if (cut_to < from + segment.size) {
      rest.size = from + segment.size - cut_to;
      left.emplace_back(cut_to, rest);
    }
    return true;
  });
  for (const auto& [from, rest] : left) segments_[from] = rest;
}

// Updates the segments after chunks of a pool were moved to other pages.
void PoolSegments::FollowChunks(const Event& event) {
  for (const PoolSpace::Change& change : space_.pool().changes()) {
    if (!change.is_there) {
      const auto known = segments_.find(change.address);
      if (known == segments_.end()) continue;
      EndLife(change.address, known->second.size, known->second);
      segments_.erase(known);
      continue;
    }
    Segment segment = SegmentOf(event, change.size, true);
    segment.counts = false;
    segments_.insert_or_assign(change.address, segment);
  }
}

void PoolSegments::Place(const Event& event, const LiveBlock& block) {
  if (!space_.pool().any()) return;
  // If the block set a new peak, the free memory at the previous peak is no longer needed.
  if (accounts_.levels().peak_event() != accounts_.events()) space_.KeepPeak();
  space_.pool().Put(block.address, block.size);
  FollowChunks(event);
}

PoolSegments::FreeOnDevice PoolSegments::FreeOn(int16_t device) const {
  std::map<uint64_t, const Segment*> by_address;
  for (const auto& [address, segment] : segments_) {
    if (segment.device == device) by_address.emplace(address, &segment);
  }
  std::vector<AddressRange> parts;
  bool grows = false;
  for (const auto& [address, segment] : by_address) {
    const uint64_t end = address + segment->size;
    if (grows && segment->grows && parts.back().to == address) {
      parts.back().to = end;
    } else {
      parts.push_back({address, end});
    }
    grows = segment->grows;
  }
  FreeOnDevice free = {space_.pool().HolesIn(parts)};
  for (const auto& [handle, segment] : handles_) {
    if (segment.device == device) free.unplaced_bytes += space_.pool().UnplacedBytes(handle);
  }
  return free;
}

Life PoolSegments::LifeOf(uint64_t address, uint64_t size, const Segment& segment) {
  Life life;
  life.address = address;
  life.size = size;
  life.birth = segment.birth;
  life.birth_ns = segment.birth_ns;
  life.site = segment.site;
  life.device = segment.device;
  life.stream = segment.stream;
  life.opened = segment.opened;
  life.pending = segment.grows;
  return life;
}

void PoolSegments::EndLife(uint64_t address, uint64_t size, const Segment& segment) {
  Life life = LifeOf(address, size, segment);
  life.death = accounts_.events();
  life.death_ns = accounts_.now_ns();
  lives_.Add(life);
}

Lives PoolSegments::MoveOutLives() {
  for (const auto& [address, segment] : segments_) {
    lives_.Add(LifeOf(address, segment.size, segment));
  }
  return std::move(lives_);
}

}  // namespace vramstow
