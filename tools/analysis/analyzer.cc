#include "tools/analysis/analyzer.h"

#include <algorithm>
#include <charconv>

namespace vramstow {
namespace {

constexpr int32_t kOutOfMemoryResult = 2;  // CUDA_ERROR_OUT_OF_MEMORY

bool IsHandleMemory(MemoryKind memory) {
  return memory == MemoryKind::kPhysical || memory == MemoryKind::kHostPhysical ||
         memory == MemoryKind::kMulticast;
}

// Bindings to multicast objects and tiles of sparse arrays are mappings, too, but to no address.
bool IsAddressRange(MemoryKind memory) {
  return memory == MemoryKind::kAddressRange || memory == MemoryKind::kNone;
}

// Memory that a context takes with it. Physical memory and that of pools belongs to no context.
bool GoesWithContext(MemoryKind memory) {
  switch (memory) {
    case MemoryKind::kDevice:
    case MemoryKind::kDevicePitched:
    case MemoryKind::kArray:
    case MemoryKind::kMipmappedArray:
    case MemoryKind::kManaged:
    case MemoryKind::kHostPinned:
    case MemoryKind::kHostRegistered:
      return true;
    default:
      return false;
  }
}

uint64_t Requested(const Event& event) {
  return event.requested != 0 ? event.requested : event.size;
}

}  // namespace

Analyzer::Analyzer(const std::map<std::string, std::string>& source_facts) {
  constexpr std::string_view kBegin = "device.";
  constexpr std::string_view kEnd = ".free_bytes_at_start";
  for (const auto& [key, value] : source_facts) {
    if (!key.starts_with(kBegin) || !key.ends_with(kEnd)) continue;
    int16_t device = kNoDevice;
    uint64_t bytes = 0;
    const char* number = key.data() + kBegin.size();
    const char* number_end = key.data() + key.size() - kEnd.size();
    if (number >= number_end || std::from_chars(number, number_end, device).ptr != number_end ||
        device < 0 ||
        std::from_chars(value.data(), value.data() + value.size(), bytes).ec != std::errc()) {
      continue;
    }
    DeviceLevel& level = levels_.Device(device);
    level.free_from = FreeKnownFrom::kStart;
    level.free = bytes;
  }
}

void Analyzer::Add(const Event& event) {
  ++events_;
  now_ns_ = std::max(now_ns_, event.time_ns);
  ++counts_.by_kind[static_cast<uint8_t>(event.kind)];
  if (event.layer != Layer::kDriver) {
    ++counts_.other_layers;
    return;
  }
  if (timeline_.IsBeyond(now_ns_)) CloseInterval(now_ns_);
  if (event.kind == EventKind::kRefused) {
    AddRefused(event);
  } else {
    ++levels_.Library(event.library).calls;
    ++levels_.Call(event.call).calls;
    ++levels_.Kind(event.memory).calls;
    if (event.result != 0) {
      AddFailed(event);
    } else {
      Apply(event);
    }
  }
  timeline_.Note(levels_.allocated(), levels_.host(), levels_.managed());
}

void Analyzer::Apply(const Event& event) {
  switch (event.kind) {
    case EventKind::kAllocate:
      return AddAllocate(event);
    case EventKind::kFree:
    case EventKind::kUnregister:
    case EventKind::kCloseImport:
      return AddFree(event);
    case EventKind::kReserve:
      KeepPeakFragmentation();
      address_space_.Reserve(event.address, event.size);
      return;
    case EventKind::kUnreserve:
      return AddUnreserve(event);
    case EventKind::kMap:
      if (IsAddressRange(event.memory)) AddMap(event);
      return;
    case EventKind::kUnmap:
      if (IsAddressRange(event.memory)) AddUnmap(event);
      return;
    case EventKind::kRetain:
      physical_.Retain(event.object, address_space_.MemoryAt(event.address));
      return;
    case EventKind::kRegister:
      return AddRegister(event);
    case EventKind::kImport:
      return AddImport(event);
    case EventKind::kMemoryInfo:
      return AddMemoryInfo(event);
    case EventKind::kContextCreate:
      ++contexts_[event.device];
      return;
    case EventKind::kContextDestroy:
    case EventKind::kDeviceReset:
      return AddContextEnd(event);
    default:
      return;  // counted, and of no effect on what is live
  }
}

LiveBlock Analyzer::BlockOf(const Event& event) const {
  LiveBlock block;
  block.address = event.address;
  block.size = event.size;
  block.requested = Requested(event);
  block.time_ns = now_ns_;
  block.birth = events_;
  block.library = event.library;
  block.call = event.call;
  block.device = event.device;
  block.memory = event.memory;
  return block;
}

BlockPlace Analyzer::PlaceOf(MemoryKind memory) {
  switch (memory) {
    case MemoryKind::kArray:
    case MemoryKind::kMipmappedArray:
      return BlockPlace::kArrays;
    case MemoryKind::kHostRegistered:
      return BlockPlace::kRegistered;
    default:
      return BlockPlace::kAddresses;
  }
}

Analyzer::BlockTable* Analyzer::Table(BlockPlace place) {
  switch (place) {
    case BlockPlace::kArrays:
      return &arrays_;
    case BlockPlace::kRegistered:
      return &registered_;
    case BlockPlace::kImports:
      return &imports_;
    default:
      return &addresses_;
  }
}

void Analyzer::Insert(BlockPlace place, const LiveBlock& block, const Moment& now) {
  const auto [known, inserted] = Table(place)->try_emplace(block.address, block);
  if (!inserted) {
    // The address was given out again, so what was there is gone; its free was not seen.
    ++counts_.frees_missed;
    levels_.Died(known->second);
    known->second = block;
  }
  levels_.Born(block, now);
}

BlockPlace Analyzer::Take(uint64_t address, MemoryKind memory, LiveBlock* block) {
  // Imports last: memory of another process may be closed by the call that frees one's own.
  for (BlockPlace place : {PlaceOf(memory), BlockPlace::kImports}) {
    BlockTable* table = Table(place);
    auto known = table->find(address);
    if (known == table->end()) continue;
    *block = known->second;
    table->erase(known);
    return place;
  }
  return BlockPlace::kNowhere;
}

void Analyzer::AddAllocate(const Event& event) {
  const LiveBlock block = BlockOf(event);
  ++counts_.allocations;
  levels_.CountAllocation(block);
  if (IsDeviceMemory(event.memory)) {
    largest_request_ = std::max(largest_request_, block.requested);
  }
  if (!IsHandleMemory(event.memory)) {
    Insert(PlaceOf(event.memory), block, Now(event));
    return;
  }
  const PhysicalChange displaced = physical_.Create(block);
  if (displaced.memory != kUnknownMemory) ++counts_.frees_missed;
  if (displaced.died) levels_.Died(displaced.block);
  levels_.Born(block, Now(event));
}

void Analyzer::AddFree(const Event& event) {
  Announcement* announcement = announcements_.Begin(event.thread);
  announcement->sequence = event.sequence;
  announcement->event = events_;
  announcement->kind = event.kind;
  announcement->address = event.address;
  announcement->library = event.library;
  announcement->call = event.call;
  announcement->memory = event.memory;
  if (IsHandleMemory(event.memory)) {
    announcement->physical = physical_.Release(event.address);
    const bool known = announcement->physical.memory != kUnknownMemory;
    announcement->place = known ? BlockPlace::kPhysical : BlockPlace::kNowhere;
    if (announcement->physical.died) levels_.Died(announcement->physical.block);
  } else {
    const MemoryKind memory =
        event.kind == EventKind::kUnregister ? MemoryKind::kHostRegistered : event.memory;
    announcement->place = Take(event.address, memory, &announcement->block);
    if (announcement->place != BlockPlace::kNowhere) {
      levels_.Died(announcement->block);
      announcement->memory = announcement->block.memory;
    }
  }
  if (event.kind != EventKind::kFree) return;
  ++counts_.frees;
  ++levels_.Library(event.library).frees;
  ++levels_.Call(event.call).frees;
  ++levels_.Kind(announcement->memory).frees;
  // Freeing nothing is legal.
  if (announcement->place == BlockPlace::kNowhere && event.address != 0) ++counts_.frees_of_unseen;
}

void Analyzer::AddRegister(const Event& event) {
  LiveBlock block = BlockOf(event);
  block.memory = MemoryKind::kHostRegistered;
  Insert(BlockPlace::kRegistered, block, Now(event));
}

void Analyzer::AddImport(const Event& event) {
  LiveBlock block = BlockOf(event);
  block.imported = true;
  if (!IsHandleMemory(event.memory)) {
    // An imported pool has no address, and is no memory yet.
    if (event.address != 0) Insert(BlockPlace::kImports, block, Now(event));
    return;
  }
  block.address = event.object != 0 ? event.object : event.address;
  const PhysicalChange displaced = physical_.Create(block);
  if (displaced.memory != kUnknownMemory) ++counts_.frees_missed;
  if (displaced.died) levels_.Died(displaced.block);
  levels_.Born(block, Now(event));
}

void Analyzer::ForgetMapping(const Mapping& mapping, RemovedMapping* removed) {
  removed->mapping = mapping;
  removed->change = physical_.Unmap(mapping.memory);
  if (removed->change.died) levels_.Died(removed->change.block);
}

void Analyzer::AddMap(const Event& event) {
  KeepPeakFragmentation();
  RemovedMapping displaced;
  for (const Mapping& mapping : address_space_.Displace(event.address, event.size)) {
    ++counts_.frees_missed;
    ForgetMapping(mapping, &displaced);
  }
  const Mapping mapping = {event.address, event.size, physical_.Map(event.object)};
  if (!address_space_.Map(mapping)) ForgetMapping(mapping, &displaced);
}

void Analyzer::AddUnmap(const Event& event) {
  KeepPeakFragmentation();
  Announcement* announcement = announcements_.Begin(event.thread);
  announcement->sequence = event.sequence;
  announcement->event = events_;
  announcement->kind = event.kind;
  announcement->call = event.call;
  announcement->library = event.library;
  announcement->memory = event.memory;
  for (const Mapping& mapping : address_space_.Unmap(event.address, event.size)) {
    ForgetMapping(mapping, &announcement->mappings.emplace_back());
  }
}

void Analyzer::AddUnreserve(const Event& event) {
  KeepPeakFragmentation();
  Announcement* announcement = announcements_.Begin(event.thread);
  announcement->sequence = event.sequence;
  announcement->event = events_;
  announcement->kind = event.kind;
  announcement->call = event.call;
  announcement->library = event.library;
  announcement->memory = event.memory;
  announcement->address = event.address;
  announcement->range_size = address_space_.Unreserve(event.address);
}

void Analyzer::AddRefused(const Event& event) {
  Announcement* announcement = announcements_.Find(event.thread, event.object);
  if (announcement == nullptr) {
    ++counts_.unmatched_refusals;
    return;
  }
  ++levels_.Library(announcement->library).failed;
  ++levels_.Call(announcement->call).failed;
  ++levels_.Kind(announcement->memory).failed;
  switch (announcement->kind) {
    case EventKind::kUnmap:
      UndoUnmap(*announcement, Now(event));
      break;
    case EventKind::kUnreserve:
      KeepPeakFragmentation();
      address_space_.Reserve(announcement->address, announcement->range_size);
      break;
    default:
      UndoFree(*announcement, Now(event));
      break;
  }
  announcement->sequence = 0;
}

void Analyzer::UndoFree(const Announcement& announcement, const Moment& now) {
  if (announcement.kind == EventKind::kFree) {
    --counts_.frees;
    ++counts_.refused_frees;
    --levels_.Library(announcement.library).frees;
    --levels_.Call(announcement.call).frees;
    --levels_.Kind(announcement.memory).frees;
    if (announcement.place == BlockPlace::kNowhere && announcement.address != 0) {
      --counts_.frees_of_unseen;
    }
  }
  if (announcement.place == BlockPlace::kNowhere) return;
  if (announcement.place != BlockPlace::kPhysical) {
    const LiveBlock block = levels_.Revived(announcement.block, announcement.event, now);
    auto [known, inserted] = Table(announcement.place)->try_emplace(block.address, block);
    if (inserted) return;
    // Somebody else was given the address in between: then it was free after all.
    levels_.Died(block);
    return;
  }
  const PhysicalChange& change = announcement.physical;
  if (!physical_.UndoRelease(change, announcement.address)) return;
  physical_.Replace(change.memory, levels_.Revived(change.block, announcement.event, now));
}

void Analyzer::UndoUnmap(const Announcement& announcement, const Moment& now) {
  KeepPeakFragmentation();
  for (const auto& [mapping, change] : announcement.mappings) {
    if (!address_space_.Map(mapping)) continue;
    if (!physical_.UndoUnmap(change)) continue;
    physical_.Replace(change.memory, levels_.Revived(change.block, announcement.event, now));
  }
}

void Analyzer::AddFailed(const Event& event) {
  ++levels_.Library(event.library).failed;
  ++levels_.Call(event.call).failed;
  ++levels_.Kind(event.memory).failed;
  if (event.kind == EventKind::kAllocate) {
    ++counts_.failed_allocations;
    if (IsDeviceMemory(event.memory)) {
      largest_request_ = std::max(largest_request_, Requested(event));
    }
  }
  if (event.result != kOutOfMemoryResult) return;
  ++counts_.out_of_memory;
  DeviceLevel& device = levels_.Device(event.device);
  ++device.out_of_memory;
  if (out_of_memory_.size() == kMostOutOfMemory) return;
  OutOfMemory failure;
  failure.call = event.call;
  failure.library = event.library;
  OutOfMemoryFacts& facts = failure.facts;
  facts.time_ns = now_ns_;
  facts.sequence = event.sequence;
  facts.requested_bytes = Requested(event);
  facts.device = event.device;
  facts.thread = event.thread;
  facts.memory = event.memory;
  facts.allocated_bytes = device.allocated;
  facts.free_from = device.free_from;
  facts.free_known_at_ns = device.free_time_ns;
  if (device.free_from != FreeKnownFrom::kNothing) {
    // Free then, plus what has been freed since, minus what has been taken.
    const uint64_t then = device.free + device.allocated_at_free;
    facts.free_bytes = then > device.allocated ? then - device.allocated : 0;
  }
  if (address_space_.any_ranges()) {
    facts.largest_free_range_bytes = address_space_.Free(0).largest_bytes;
  }
  out_of_memory_.push_back(std::move(failure));
}

void Analyzer::AddMemoryInfo(const Event& event) {
  DeviceLevel& device = levels_.Device(event.device);
  device.free_from = FreeKnownFrom::kMemoryInfo;
  device.free = event.size;
  device.free_time_ns = now_ns_;
  device.allocated_at_free = device.allocated;
  if (device.lowest_free.has_value() && *device.lowest_free <= event.size) return;
  device.lowest_free = event.size;
  device.lowest_free_time_ns = now_ns_;
}

void Analyzer::AddContextEnd(const Event& event) {
  if (event.device == kNoDevice) return;
  int64_t& contexts = contexts_[event.device];
  // With others left it is not known whose the blocks are; nor if this is one from before the
  // trace, except that a reset is of the one context that nearly every process has.
  const bool is_reset = event.kind == EventKind::kDeviceReset;
  if (contexts == 0 ? !is_reset : --contexts > 0) return;
  DropContext(event.device);
}

void Analyzer::DropContext(int16_t device) {
  for (BlockTable* table : {&addresses_, &arrays_, &registered_}) {
    absl::erase_if(*table, [this, device](const BlockTable::value_type& entry) {
      if (entry.second.device != device || !GoesWithContext(entry.second.memory)) return false;
      levels_.Died(entry.second);
      ++counts_.freed_with_context;
      return true;
    });
  }
}

TimelinePoint Analyzer::State() const {
  TimelinePoint state;
  state.allocated_last = levels_.allocated();
  state.requested_last = levels_.requested();
  state.host_highest = levels_.host();
  state.managed_highest = levels_.managed();
  if (address_space_.any_ranges()) state.ranges = address_space_.Free(largest_request_);
  return state;
}

void Analyzer::CloseInterval(uint64_t time_ns) {
  const TimelinePoint state = State();
  if (state.ranges.unusable_bytes > worst_ranges_.unusable_bytes) {
    worst_ranges_ = state.ranges;
    worst_ranges_time_ns_ = time_ns;
  }
  timeline_.Close(state, time_ns);
}

void Analyzer::KeepPeakFragmentation() {
  if (peak_ranges_of_ == levels_.peak_event()) return;
  peak_ranges_of_ = levels_.peak_event();
  peak_ranges_ = address_space_.Free(largest_request_);
}

}  // namespace vramstow
