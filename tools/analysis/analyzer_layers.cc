// What pools and frameworks tell: a pool's memory is reserved, what it hands out is allocated.
#include <algorithm>

#include "tools/analysis/analyzer.h"

namespace vramstow {

void Analyzer::AddMove(const Event& event) {
  counts_.gate_ns += event.requested;
  counts_.longest_gate_ns = std::max(counts_.longest_gate_ns, event.requested);
  if (event.kind == EventKind::kReturn) {
    counts_.returned_bytes += event.size;
    residency_.End(event.address, event.size, events_, now_ns_);
    return;
  }
  const auto reason = static_cast<OffloadReason>(event.object);
  if (reason != OffloadReason::kDiscarded) counts_.offloaded_bytes += event.size;
  residency_.Leave(event, events_, now_ns_);
}

void Analyzer::AddPool(const Event& event) {
  if (event.kind == EventKind::kTouch) return;  // for replay
  if (event.kind == EventKind::kOffload || event.kind == EventKind::kReturn) return AddMove(event);
  if (residency_.any() && (event.kind == EventKind::kMap || event.kind == EventKind::kUnmap)) {
    residency_.End(event.address, event.size, events_, now_ns_);
  }
  reserved_known_ = true;
  if (is_flushing_ && event.kind == EventKind::kCacheTrim) {
    flush_.by = event.library != kUnknownName ? "empty_cache" : "vramstow";
  }
  if (event.kind != EventKind::kFree && event.kind != EventKind::kUnmap) EndFlush();
  switch (event.kind) {
    case EventKind::kAllocate:
      if (event.result != 0) return;
      return AddSegment(event, false);
    case EventKind::kFree:
      return EndSegment(event, false);
    case EventKind::kMap:
      if (event.result != 0) return;
      return AddSegment(event, true);
    case EventKind::kUnmap:
      return EndSegment(event, true);
    case EventKind::kRefused:
      ++counts_.unmatched_refusals;
      return;
    case EventKind::kMemoryInfo:
      return AddMemoryInfo(event);
    case EventKind::kCacheMiss:
      ++cache_.misses;
      return;
    case EventKind::kCacheStitch:
      ++cache_.stitches;
      return;
    case EventKind::kCacheFenceWait:
      ++cache_.fence_waits;
      cache_.fence_wait_ns += event.size;
      return;
    default:
      return;  // counted by kind
  }
}

// One that comes into being by this event.
Analyzer::Segment Analyzer::SegmentOf(const Event& event, uint64_t size, bool grows) {
  Segment segment;
  segment.size = size;
  segment.birth = events_;
  segment.birth_ns = now_ns_;
  segment.device = event.device;
  segment.stream = event.stream;
  segment.site = sites_.Find(stack_, event.library, event.call);
  segment.opened = IsOpening(event);
  segment.grows = grows;
  return segment;
}

// `grows`: addresses are added to a range; where they have a handle, it was counted when it was
// made.
void Analyzer::AddSegment(const Event& event, bool grows) {
  Segment segment = SegmentOf(event, event.size, grows);
  if (event.memory == MemoryKind::kHostPinned) return;
  if (event.memory == MemoryKind::kHostPhysical) {
    pool_space_.AddHandle(event.address, event.size, true);
    return;
  }
  const bool is_handle = !grows && event.memory == MemoryKind::kPhysical;
  segment.counts = !grows || event.object == 0;
  if (segment.counts) {
    levels_.Reserved(event.device, event.size);
    if (!segment.opened) {
      ++cache_.segments_taken;
      cache_.taken_bytes += event.size;
      if (!cache_.flushes.empty()) {
        FlushFacts& flush = cache_.flushes.back();
        flush.taken_again_bytes = std::min(flush.bytes, flush.taken_again_bytes + event.size);
      }
    }
  }
  KeepPeakFragmentation();
  if (is_handle) {
    pool_space_.AddHandle(event.address, event.size, false);
    FollowChunks(event);
    const auto [known, inserted] = pool_handles_.try_emplace(event.address, segment);
    if (inserted) return;
    levels_.Unreserved(known->second.device, known->second.size);
    ++counts_.frees_missed;
    known->second = segment;
    return;
  }
  if (grows) {
    pool_space_.Map(event.address, event.size, event.object);
    FollowChunks(event);
    if (event.object != 0) return;
  } else {
    pool_space_.AddSegment(event.address, event.size);
  }
  const auto [known, inserted] = segments_.try_emplace(event.address, segment);
  if (inserted) return;
  if (known->second.counts) levels_.Unreserved(known->second.device, known->second.size);
  ++counts_.frees_missed;
  known->second = segment;
}

void Analyzer::EndSegment(const Event& event, bool shrinks) {
  if (event.memory == MemoryKind::kHostPhysical) {  // offload's: never counted
    pool_space_.EndHandle(event.address, true);
    return;
  }
  const bool is_handle = !shrinks && event.memory == MemoryKind::kPhysical;
  auto& table = is_handle ? pool_handles_ : segments_;
  uint64_t given_back = 0;
  const auto end = [&](uint64_t address, Segment* segment, uint64_t size) {
    if (segment->counts) {
      levels_.Unreserved(segment->device, size);
      given_back += size;
    }
    if (!is_handle) EndLife(address, size, *segment);
  };
  KeepPeakFragmentation();
  if (!shrinks) {
    const auto known = table.find(event.address);
    if (known == table.end()) {
      ++counts_.frees_of_unseen;
      return;
    }
    end(event.address, &known->second, known->second.size);
    if (is_handle) {
      pool_space_.EndHandle(event.address, false);
      FollowChunks(event);
    } else {
      pool_space_.EndSegment(event.address);
    }
    table.erase(event.address);
  } else {
    pool_space_.Unmap(event.address, event.size);
    FollowChunks(event);
    if (event.object == 0) EndMapped(event.address, event.size, end);
  }
  if (given_back == 0) return;
  ++cache_.segments_given_back;
  cache_.given_back_bytes += given_back;
  CountFlush(event, given_back);
}

void Analyzer::EndLife(uint64_t address, uint64_t size, const Segment& segment) {
  Life life;
  life.address = address;
  life.size = size;
  life.birth = segment.birth;
  life.birth_ns = segment.birth_ns;
  life.death = events_;
  life.death_ns = now_ns_;
  life.site = segment.site;
  life.device = segment.device;
  life.stream = segment.stream;
  life.opened = segment.opened;
  life.pending = segment.grows;
  segment_lives_.Add(life);
}

// Chunks came to other pages, or went from them.
void Analyzer::FollowChunks(const Event& event) {
  for (const PoolSpace::Change& change : pool_space_.changes()) {
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

// A pool may unmap a part of what it mapped, or several mappings at once.
void Analyzer::EndMapped(uint64_t address, uint64_t size,
                         const std::function<void(uint64_t, Segment*, uint64_t)>& end) {
  const uint64_t to = address + size;
  const auto exact = segments_.find(address);
  if (exact != segments_.end() && exact->second.size == size) {
    end(address, &exact->second, size);
    segments_.erase(exact);
    return;
  }
  std::vector<std::pair<uint64_t, Segment>> left;
  absl::erase_if(segments_, [&](auto& entry) {
    const uint64_t from = entry.first;
    Segment& segment = entry.second;
    if (from >= to || from + segment.size <= address) return false;
    const uint64_t cut_from = std::max(from, address);
    const uint64_t cut_to = std::min(from + segment.size, to);
    end(cut_from, &segment, cut_to - cut_from);
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

// Segments that are given back one directly after the other are one flush.
void Analyzer::CountFlush(const Event& event, uint64_t bytes) {
  if (!is_flushing_) {
    flush_ = {};
    flush_.time_ns = now_ns_;
    is_flushing_ = true;
    flush_site_ = sites_.Find(stack_, event.library, event.call);
  }
  ++flush_.segments;
  flush_.bytes += bytes;
  flush_.duration_ns = now_ns_ - flush_.time_ns;
}

void Analyzer::EndFlush() {
  if (!is_flushing_) return;
  is_flushing_ = false;
  ++cache_.flush_count;
  if (cache_.flushes.size() == kMostFlushes) return;
  cache_.flushes.push_back(flush_);
  flush_sites_.push_back(flush_site_);
}

void Analyzer::AddFramework(const Event& event) {
  EndFlush();
  if (!IsOpening(event)) {
    ++levels_.Library(event.library).calls;
    ++levels_.Call(event.call).calls;
    ++levels_.Kind(event.memory).calls;
  }
  switch (event.kind) {
    case EventKind::kAllocate:
      break;
    case EventKind::kFree:
      return AddFrameworkFree(event);
    case EventKind::kFreeCompleted:
      return EndPending(event.address);
    default:
      return;
  }
  if (event.result != 0) {
    AddFailed(event);
    return;
  }
  LiveBlock block = BlockOf(event);
  block.pooled = true;
  block.opened = IsOpening(event);
  if (IsDeviceMemory(event.memory)) {
    largest_request_ = std::max(largest_request_, block.requested);
  }
  if (!block.opened) {
    ++counts_.allocations;
    CountAllocation(block);
  }
  Insert(BlockPlace::kFramework, block, Now(event));
  PlaceInPool(event, block);
}

// A block that is counted already. If that made a peak, the one before it is of no interest any
// more.
void Analyzer::PlaceInPool(const Event& event, const LiveBlock& block) {
  if (!pool_space_.any()) return;
  if (levels_.peak_event() != events_) KeepPeakFragmentation();
  pool_space_.Put(block.address, block.size);
  FollowChunks(event);
}

void Analyzer::AddFrameworkFree(const Event& event) {
  ++counts_.frees;
  ++levels_.Library(event.library).frees;
  ++levels_.Call(event.call).frees;
  LiveBlock block;
  if (!blocks_.Take(event.address, &block)) {
    if (event.address != 0) ++counts_.frees_of_unseen;
    ++levels_.Kind(event.memory).frees;
    return;
  }
  ++levels_.Kind(block.memory).frees;
  if (block.opened) ++counts_.frees_of_unseen;
  free_site_ = stack_ != 0 ? sites_.Find(stack_, event.library, event.call) : 0;
  Die(block);
  free_site_ = 0;
  if (!tells_free_completed_) {
    if (!pool_space_.any()) return;
    KeepPeakFragmentation();
    pool_space_.Take(block.address, block.size);
    return;
  }
  pending_.insert_or_assign(block.address, Pending{block, events_, now_ns_});
  pending_bytes_ += block.size;
  pending_peak_bytes_ = std::max(pending_peak_bytes_, pending_bytes_);
}

void Analyzer::EndPending(uint64_t address) {
  const auto known = pending_.find(address);
  if (known == pending_.end()) return;
  const Pending pending = known->second;
  pending_.erase(known);
  pending_bytes_ -= pending.block.size;
  if (pool_space_.any()) {
    KeepPeakFragmentation();
    pool_space_.Take(pending.block.address, pending.block.size);
  }
  // As a rule the memory may be used again at once; that is not worth writing down.
  if (pending.since + 1 >= events_) return;
  Life life = LifeOf(pending.block);
  life.pending = true;
  life.birth = pending.since;
  life.birth_ns = pending.since_ns;
  life.death = events_;
  life.death_ns = now_ns_;
  lives_.Add(life);
}

}  // namespace vramstow
