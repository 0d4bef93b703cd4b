#include "tools/analysis/analyzer.h"

#include <algorithm>
#include <charconv>

namespace vramstow {
namespace {

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

// Whether memory that our own pool holds served it.
bool IsServedByPool(const Event& event) {
  constexpr uint64_t kPlain = 5;  // allocator/events.h: by the driver, past the pool
  return event.layer == Layer::kDriver && event.memory == MemoryKind::kDevice &&
         event.object != 0 && event.object < kPlain;
}

}  // namespace

Analyzer::Analyzer(const EventSource& source)
    : opening_call_(source.OpeningCall()), tells_free_completed_(source.TellsFreeCompleted()) {
  constexpr std::string_view kBegin = "device.";
  constexpr std::string_view kEnd = ".free_bytes_at_start";
  for (const auto& [key, value] : source.facts()) {
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

void Analyzer::Add(const Event& event, uint32_t stack) {
  ++events_;
  now_ns_ = std::max(now_ns_, event.time_ns);
  stack_ = stack;
  if (IsOpening(event)) {
    ++opening_events_;
  } else {
    ++counts_.by_kind[static_cast<uint8_t>(event.kind)];
  }
  if (timeline_.IsBeyond(now_ns_)) CloseInterval(now_ns_);
  switch (event.layer) {
    case Layer::kDriver:
      AddDriver(event);
      break;
    case Layer::kPool:
      AddPool(event);
      break;
    case Layer::kFramework:
      AddFramework(event);
      break;
    default:
      ++counts_.other_layers;
      break;
  }
  timeline_.Note(levels_.allocated(), levels_.reserved(), levels_.host(), levels_.managed());
  level_log_.Note(now_ns_, levels_.allocated(), levels_.reserved(), levels_.requested());
}

void Analyzer::AddBatch(const EventBatch& batch) {
  // How many events ahead memory is asked for: first what says where a block is, then the block.
  constexpr size_t kPlacesAhead = 32;
  constexpr size_t kBlocksAhead = 16;
  auto text = batch.texts.begin();
  auto reserved = batch.reserved.begin();
  for (size_t i = 0; i < std::min(kPlacesAhead, batch.count); ++i) PrefetchPlace(batch.events[i]);
  for (size_t i = 0; i < batch.count; ++i) {
    if (i + kPlacesAhead < batch.count) PrefetchPlace(batch.events[i + kPlacesAhead]);
    if (i + kBlocksAhead < batch.count) PrefetchBlock(batch.events[i + kBlocksAhead]);
    const Event& event = batch.events[i];
    Add(event, event.stack);
    if (text != batch.texts.end() && text->first == i) AddText(event, (text++)->second);
    if (reserved != batch.reserved.end() && reserved->first == i) SetReserved((reserved++)->second);
  }
}

void Analyzer::AddDriver(const Event& event) {
  if (event.kind == EventKind::kRefused) {
    AddRefused(event);
    return;
  }
  if (event.kind == EventKind::kLaunch) return;  // AddText
  any_driver_ = true;
  ++levels_.Library(event.library).calls;
  ++levels_.Call(event.call).calls;
  ++levels_.Kind(event.memory).calls;
  if (event.result != 0) {
    AddFailed(event);
  } else {
    Apply(event);
  }
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

LiveBlock Analyzer::BlockOf(const Event& event) {
  LiveBlock block;
  block.site = sites_.Find(stack_, event.library, event.call);
  block.address = event.address;
  block.size = event.size;
  block.requested = RequestedBytes(event);
  block.time_ns = now_ns_;
  block.birth = events_;
  block.library = event.library;
  block.call = event.call;
  block.device = event.device;
  block.memory = event.memory;
  return block;
}

void Analyzer::CountAllocation(const LiveBlock& block) {
  levels_.CountAllocation(block);
  if (!IsDeviceMemory(block.memory)) return;
  if (block.site >= site_allocations_.size()) {
    site_allocations_.resize(sites_.sites().size());
    site_bytes_.resize(sites_.sites().size());
  }
  ++site_allocations_[block.site];
  site_bytes_[block.site] += block.size;
}

Life Analyzer::LifeOf(const LiveBlock& block) const {
  Life life;
  life.address = block.address;
  life.size = block.size;
  life.requested = block.requested;
  life.birth = block.birth;
  life.birth_ns = block.time_ns;
  life.site = block.site;
  life.device = block.device;
  life.opened = block.opened;
  return life;
}

void Analyzer::Die(const LiveBlock& block) {
  levels_.Died(block);
  if (block.imported || !IsDeviceMemory(block.memory)) return;
  Life life = LifeOf(block);
  life.death = events_;
  life.death_ns = now_ns_;
  life.free_site = free_site_;
  lives_.Add(life);
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

BlockTable* Analyzer::Table(BlockPlace place) {
  switch (place) {
    case BlockPlace::kArrays:
      return &arrays_;
    case BlockPlace::kRegistered:
      return &registered_;
    case BlockPlace::kImports:
      return &imports_;
    case BlockPlace::kFramework:
      return &blocks_;
    default:
      return &addresses_;
  }
}

void Analyzer::Insert(BlockPlace place, const LiveBlock& block, const Moment& now) {
  LiveBlock* known;
  if (!Table(place)->Insert(block, &known)) [[unlikely]] {
    // The address was given out again, so what was there is gone; its free was not seen.
    ++counts_.frees_missed;
    if (known->pooled) {
      KeepPeakFragmentation();
      pool_space_.Take(known->address, known->size);
    }
    Die(*known);
    *known = block;
  }
  levels_.Born(block, now);
}

BlockPlace Analyzer::Take(uint64_t address, MemoryKind memory, LiveBlock* block) {
  // Imports last: memory of another process may be closed by the call that frees one's own.
  for (BlockPlace place : {PlaceOf(memory), BlockPlace::kImports}) {
    if (Table(place)->Take(address, block)) return place;
  }
  return BlockPlace::kNowhere;
}

void Analyzer::AddAllocate(const Event& event) {
  LiveBlock block = BlockOf(event);
  block.pooled = IsServedByPool(event);
  ++counts_.allocations;
  CountAllocation(block);
  if (IsDeviceMemory(event.memory)) {
    largest_request_ = std::max(largest_request_, block.requested);
  }
  if (!IsHandleMemory(event.memory)) {
    Insert(PlaceOf(event.memory), block, Now(event));
    if (block.pooled) PlaceInPool(event, block);
    return;
  }
  const PhysicalChange displaced = physical_.Create(block);
  if (displaced.memory != kUnknownMemory) ++counts_.frees_missed;
  if (displaced.died) Die(displaced.block);
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
    if (announcement->physical.died) Die(announcement->physical.block);
  } else {
    const MemoryKind memory =
        event.kind == EventKind::kUnregister ? MemoryKind::kHostRegistered : event.memory;
    announcement->place = Take(event.address, memory, &announcement->block);
    if (announcement->place != BlockPlace::kNowhere) {
      Die(announcement->block);
      if (announcement->block.pooled) {
        KeepPeakFragmentation();
        pool_space_.Take(announcement->block.address, announcement->block.size);
      }
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
  if (displaced.died) Die(displaced.block);
  levels_.Born(block, Now(event));
}

void Analyzer::ForgetMapping(const Mapping& mapping, RemovedMapping* removed) {
  removed->mapping = mapping;
  removed->change = physical_.Unmap(mapping.memory);
  if (removed->change.died) Die(removed->change.block);
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
    table->TakeIf([this, device](const LiveBlock& block) {
      if (block.device != device || !GoesWithContext(block.memory)) return false;
      Die(block);
      ++counts_.freed_with_context;
      return true;
    });
  }
}

TimelinePoint Analyzer::State() const {
  TimelinePoint state;
  state.allocated_last = levels_.allocated();
  state.reserved_highest = levels_.reserved();
  state.requested_last = levels_.requested();
  state.host_highest = levels_.host();
  state.managed_highest = levels_.managed();
  state.ranges = FreeNow();
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
  peak_ranges_ = FreeNow();
}

}  // namespace vramstow
