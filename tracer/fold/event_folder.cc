#include "tracer/fold/event_folder.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "base/typed_event.h"

namespace vramstow {
namespace {

void* Memory(size_t bytes) {
  void* const memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

bool IsHandleMemory(MemoryKind memory) {
  return memory == MemoryKind::kPhysical || memory == MemoryKind::kHostPhysical ||
         memory == MemoryKind::kMulticast;
}

FoldSpace SpaceOf(MemoryKind memory) {
  return memory == MemoryKind::kArray || memory == MemoryKind::kMipmappedArray
             ? FoldSpace::kArrays
             : FoldSpace::kAddresses;
}

bool IsOfDriver(FoldSpace space) {
  return space == FoldSpace::kAddresses || space == FoldSpace::kArrays ||
         space == FoldSpace::kRegistered;
}

bool LiesInPool(const Event& event) {
  if (event.memory != MemoryKind::kDevice) return false;
  const Served served = ServedOf(event);
  return served != Served::kUnknown && served != Served::kPlain;
}

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

}  // namespace

EventFolder* EventFolder::Create() {
  void* const memory = Memory(sizeof(EventFolder));
  return memory == nullptr ? nullptr : new (memory) EventFolder;  // zeros are its beginning
}

bool EventFolder::Begin() {
  fates_ = static_cast<uint8_t*>(Memory(kMaxEvents));
  died_ = static_cast<Pair*>(Memory(kMaxDied * sizeof(Pair)));
  if (fates_ == nullptr || died_ == nullptr || !table_.Start()) {
    End();
    return false;
  }
  levels_.Begin();
  count_ = odd_ = odd_left_out_ = 0;
  is_full_ = false;
  died_count_ = free_count_ = candidate_count_ = 0;
  died_peak_ = 0;
  std::memset(contexts_, 0, sizeof contexts_);
  std::memset(extremes_, 0, sizeof extremes_);
  return true;
}

void EventFolder::End() {
  if (fates_ != nullptr) munmap(fates_, kMaxEvents);
  if (died_ != nullptr) munmap(died_, kMaxDied * sizeof(Pair));
  fates_ = nullptr;
  died_ = nullptr;
  table_.Stop();
}

bool EventFolder::Look(const Event& event, bool was_kept) {
  if (count_ == kMaxEvents || is_full_) return false;
  now_ = static_cast<uint32_t>(count_++);
  if (!was_kept) levels_.Pass(event.time_ns);
  // There is one of these for nearly each free. The analysis does not use them in a trace with
  // sums.
  bool is_understood = event.kind == EventKind::kFreeCompleted;
  if (event.kind == EventKind::kRefused && event.layer == Layer::kDriver) {
    Refuse(event);
  } else if (is_understood) {
  } else if (event.result == 0 && FoldTable::CanBeKey(event.address)) {
    switch (event.layer) {
      case Layer::kDriver:
        is_understood = LookAtDriver(event);
        break;
      case Layer::kPool:
        is_understood = LookAtPool(event);
        break;
      case Layer::kFramework:
        is_understood = LookAtTensor(event);
        break;
      default:
        break;
    }
  }
  if (!is_understood) KeepOdd();
  if (!was_kept) levels_.Note(event.time_ns);
  return !is_full_;
}

void EventFolder::KeepOdd() {
  if (odd_ == kMaxOdd) {
    ++odd_left_out_;
    return;
  }
  ++odd_;
  Keep(now_);
}

bool EventFolder::LookAtDriver(const Event& event) {
  switch (event.kind) {
    case EventKind::kAllocate:
    case EventKind::kFree:
      return LookAtDriverMemory(event);
    case EventKind::kMemoryInfo:
      LookAtMemoryInfo(event);
      return true;
    case EventKind::kMark: {
      // A census (a reference scan) and similar records are stored as marks of kind kMoment without
      // a number.
      const MarkEvent mark = MarkEvent::Of(event);
      return mark.kind != MarkKind::kMoment || mark.number != 0;
    }
    case EventKind::kContextCreate:
      ++contexts_[FoldLevels::DeviceNumber(event.device)];
      return false;
    case EventKind::kContextDestroy:
    case EventKind::kDeviceReset:
      EndContext(event);
      return false;
    case EventKind::kRegister: {
      FoldBlock block = BlockOf(FoldSpace::kRegistered, event);
      block.memory = MemoryKind::kHostRegistered;
      return Born(block);
    }
    case EventKind::kUnregister:
      return FreeAt(FoldSpace::kRegistered, event);
    case EventKind::kCloseImport:
    case EventKind::kUnmap:
    case EventKind::kUnreserve:
      Remember(event, FoldBlock());
      return false;
    case EventKind::kAccess:
    case EventKind::kAdvise:
    case EventKind::kPoolTrim:
    case EventKind::kPoolSelect:
    case EventKind::kActivity:
    case EventKind::kCorrelation:
    case EventKind::kLaunch:
    case EventKind::kTouch:
    case EventKind::kModelClock:
    case EventKind::kModelWork:
      return true;
    default:
      return false;
  }
}

bool EventFolder::LookAtDriverMemory(const Event& event) {
  if (IsHandleMemory(event.memory)) {
    if (event.kind == EventKind::kFree) Remember(event, FoldBlock());
    return false;
  }
  if (event.kind == EventKind::kFree) return FreeAt(SpaceOf(event.memory), event);
  if (event.memory == MemoryKind::kHostRegistered) return false;
  FoldBlock block = BlockOf(SpaceOf(event.memory), event);
  block.is_pooled = LiesInPool(event);
  if (IsFoldedDeviceMemory(event.memory)) block.site = sums_.SiteNumber(event);
  const bool is_ordinary = Born(block);
  if (event.memory != MemoryKind::kDevice || block.is_pooled || event.device == kNoDevice) {
    return is_ordinary;
  }
  if (candidate_count_ == kCandidates) {
    std::memmove(candidates_, candidates_ + 1, sizeof candidates_ - sizeof candidates_[0]);
    --candidate_count_;
  }
  candidates_[candidate_count_++] = {event.address, event.size, event.thread, now_, 0};
  return is_ordinary;
}

bool EventFolder::LookAtTensor(const Event& event) {
  if (event.kind == EventKind::kFree) return FreeAt(FoldSpace::kTensors, event);
  if (event.kind != EventKind::kAllocate) return false;
  const bool is_proof = candidate_count_ != 0 && LookForHolders(event);
  FoldBlock block = BlockOf(FoldSpace::kTensors, event);
  block.is_pooled = true;
  block.is_kept = is_proof;
  if (IsFoldedDeviceMemory(event.memory)) block.site = sums_.SiteNumber(event);
  return Born(block);
}

bool EventFolder::LookAtPool(const Event& event) {
  switch (event.kind) {
    case EventKind::kAllocate:
    case EventKind::kMap:
    case EventKind::kFree:
    case EventKind::kUnmap:
      return LookAtPoolMemory(event);
    case EventKind::kMemoryInfo:
      LookAtMemoryInfo(event);
      return true;
    case EventKind::kReserve:
    case EventKind::kUnreserve:
    case EventKind::kAccess:
    case EventKind::kCacheMiss:
    case EventKind::kCacheStitch:
    case EventKind::kCacheGrow:
    case EventKind::kCacheTrim:
    case EventKind::kCacheHook:
    case EventKind::kCacheFenceWait:
    case EventKind::kTouch:
      return true;
    default:
      return false;
  }
}

bool EventFolder::LookAtPoolMemory(const Event& event) {
  if (event.memory == MemoryKind::kHostPinned || event.memory == MemoryKind::kHostPhysical) {
    return false;
  }
  const bool is_handle = event.memory == MemoryKind::kPhysical;
  switch (event.kind) {
    case EventKind::kAllocate:
      return Reserve(is_handle ? FoldSpace::kHandles : FoldSpace::kSegments, event, true);
    case EventKind::kFree:
      return Unreserve(is_handle ? FoldSpace::kHandles : FoldSpace::kSegments, event);
    case EventKind::kMap:
      return event.object == 0 ? Reserve(FoldSpace::kSegments, event, true)
                               : Reserve(FoldSpace::kMappings, event, false);
    default:
      return UnmapPool(event);
  }
}

// Retains the sample with the least free memory and, for the host, also the sample with the most
// resident memory.
void EventFolder::LookAtMemoryInfo(const Event& event) {
  Extremes& extremes = extremes_[FoldLevels::DeviceNumber(event.device)];
  if (!extremes.is_known || event.size < extremes.least_free) {
    extremes.least_free = event.size;
    extremes.least_event = now_;
  }
  if (!extremes.is_known || event.object > extremes.most_resident) {
    extremes.most_resident = event.object;
    extremes.most_event = now_;
  }
  extremes.is_known = true;
}

FoldBlock EventFolder::BlockOf(FoldSpace space, const Event& event) const {
  FoldBlock block;
  block.key = FoldTable::KeyOf(space, event.address);
  block.size = event.size;
  block.requested = event.requested != 0 ? event.requested : event.size;
  block.birth = now_;
  block.library = event.library;
  block.call = event.call;
  block.device = event.device;
  block.memory = event.memory;
  return block;
}

// Adds a block that is allocated by the current event. Returns false if this event has to be
// retained. If the table still contains an older block at this address, the event that ended the
// older block is missing. The events of both blocks are then retained.
bool EventFolder::Born(const FoldBlock& block) {
  FoldBlock born = block;
  FoldBlock known;
  if (Take(block.key, &known)) {
    Keep(known.birth);
    levels_.Died(known);
    born.is_kept = true;
  }
  if (!table_.Insert(born)) {
    is_full_ = true;
    return true;
  }
  levels_.Born(born, now_);
  return !born.is_kept;
}

bool EventFolder::Take(uint64_t key, FoldBlock* block) {
  FoldBlock* const found = table_.Find(key);
  if (found == nullptr) return false;
  *block = *found;
  table_.Erase(found);
  return true;
}

// Ends `block`, which was removed from the table, at the current event.
void EventFolder::End(const FoldBlock& block) {
  if (block.is_kept) {
    Keep(block.birth);
    Keep(now_);
    return;
  }
  if (!levels_.WasBornBeforePeak(block.birth)) return;
  if (died_peak_ != levels_.peaks()) died_count_ = 0;
  died_peak_ = levels_.peaks();
  if (died_count_ == kMaxDied) {
    is_full_ = true;
    return;
  }
  died_[died_count_++] = {block.birth, now_};
}

bool EventFolder::FreeAt(FoldSpace space, const Event& event) {
  FoldBlock block;
  const bool is_known = Take(FoldTable::KeyOf(space, event.address), &block);
  const MemoryKind freed = is_known ? block.memory : event.memory;
  fates_[now_] = static_cast<uint8_t>(static_cast<unsigned>(freed) << kFreedShift);
  if (event.layer == Layer::kDriver) Remember(event, is_known ? block : FoldBlock());
  if (!is_known) return event.address == 0;
  levels_.Died(block);
  if (candidate_count_ != 0) NoteDeath(block);
  End(block);
  return true;
}

void EventFolder::NoteDeath(const FoldBlock& block) {
  for (size_t i = 0; i < candidate_count_; ++i) {
    if (candidates_[i].birth == block.birth) candidates_[i].death = now_;
  }
}

void EventFolder::KeepCandidate(const Candidate& candidate) {
  Keep(candidate.birth);
  if (candidate.death != 0) Keep(candidate.death);
}

void EventFolder::Remember(const Event& event, const FoldBlock& block) {
  frees_[free_count_++ % kRemembered] = {event.sequence, event.thread, now_, block};
}

// Handles an event which reports that the driver refused a free: undoes that free. The free is
// among the last frees of its thread.
void EventFolder::Refuse(const Event& event) {
  size_t of_thread = 0;
  const size_t oldest = free_count_ - std::min(free_count_, kRemembered);
  for (size_t i = free_count_; i > oldest && of_thread < kFreesOfThread; --i) {
    Free& free = frees_[(i - 1) % kRemembered];
    if (free.thread != event.thread) continue;
    ++of_thread;
    if (free.sequence != RefusedSequence(event)) continue;
    free.sequence = 0;
    Keep(free.event);
    if (free.block.key == 0) return;
    Keep(free.block.birth);
    FoldBlock block = free.block;
    block.is_kept = true;
    levels_.Born(block, now_);
    if (table_.Find(block.key) != nullptr) return levels_.Died(block);
    if (!table_.Insert(block)) is_full_ = true;
    return;
  }
}

bool EventFolder::Reserve(FoldSpace space, const Event& event, bool counts) {
  FoldBlock block = BlockOf(space, event);
  block.counts = counts;
  if (counts) levels_.Reserved(event.device, event.size);
  FoldBlock known;
  if (Take(block.key, &known)) {
    Keep(known.birth);
    if (known.counts) levels_.Unreserved(known.device, known.size);
    block.is_kept = true;
  }
  if (!table_.Insert(block)) is_full_ = true;
  return !block.is_kept;
}

bool EventFolder::Unreserve(FoldSpace space, const Event& event) {
  FoldBlock block;
  if (!Take(FoldTable::KeyOf(space, event.address), &block)) return false;
  if (block.counts) levels_.Unreserved(block.device, block.size);
  End(block);
  return true;
}

// Handles an unmapping. If it ends exactly one mapping, the event that made the mapping and this
// one are treated as a pair. Otherwise the event is retained, with the events of all memory that
// overlaps the unmapped range.
bool EventFolder::UnmapPool(const Event& event) {
  const FoldSpace space = event.object == 0 ? FoldSpace::kSegments : FoldSpace::kMappings;
  FoldBlock* const exact = table_.Find(FoldTable::KeyOf(space, event.address));
  if (exact != nullptr && exact->size == event.size) return Unreserve(space, event);
  const uint64_t from = event.address;
  const uint64_t to = event.address + event.size;
  for (size_t slot = 0; slot < table_.slots() && !is_full_; ++slot) {
    const FoldBlock block = table_.at(slot);
    if (block.key == 0 || FoldTable::SpaceOf(block) != space) continue;
    const uint64_t begin = FoldTable::AddressOf(block);
    const uint64_t end = begin + block.size;
    if (begin >= to || end <= from) continue;
    Keep(block.birth);
    table_.Erase(&table_.at(slot));
    if (block.counts) levels_.Unreserved(block.device, std::min(end, to) - std::max(begin, from));
    FoldBlock rest = block;
    rest.is_kept = true;
    rest.size = from - std::min(begin, from);
    if (rest.size != 0 && !table_.Insert(rest)) is_full_ = true;
    rest.size = end - std::min(end, to);
    rest.key = FoldTable::KeyOf(space, to);
    if (rest.size != 0 && !table_.Insert(rest)) is_full_ = true;
    slot = static_cast<size_t>(-1);  // other entries may have moved
  }
  return false;
}

// Examines the blocks that the tensor's thread got from the driver before. Such a block contains
// the tensor or does not; the tensor's event is the proof in both cases. Returns true if there was
// such a block, because the tensor's event then has to be retained.
bool EventFolder::LookForHolders(const Event& tensor) {
  size_t left = 0;
  bool is_proof = false;
  for (size_t i = 0; i < candidate_count_; ++i) {
    const Candidate one = candidates_[i];
    if (one.thread != tensor.thread) {
      candidates_[left++] = one;
      continue;
    }
    is_proof = true;
    KeepCandidate(one);
    FoldBlock* const own = table_.Find(FoldTable::KeyOf(FoldSpace::kAddresses, one.address));
    if (own != nullptr && own->birth == one.birth) own->is_kept = true;
    const bool overlaps =
        one.address < tensor.address + tensor.size && tensor.address < one.address + one.size;
    if (!overlaps) continue;
    FoldBlock* const block = table_.Find(FoldTable::KeyOf(FoldSpace::kAddresses, one.address));
    if (block == nullptr || block->holds) continue;
    levels_.Holds(block);
    block->is_kept = true;
  }
  candidate_count_ = left;
  return is_proof;
}

// Ends the blocks of a context, as DriverLayer of the analysis does. Nothing ends while the device
// has other contexts, because it is unknown which context owns a block.
void EventFolder::EndContext(const Event& event) {
  if (event.device == kNoDevice) return;
  int64_t& contexts = contexts_[FoldLevels::DeviceNumber(event.device)];
  const bool is_reset = event.kind == EventKind::kDeviceReset;
  if (contexts == 0 ? !is_reset : --contexts > 0) return;
  for (size_t slot = 0; slot < table_.slots();) {
    const FoldBlock block = table_.at(slot);
    const bool goes = block.key != 0 && IsOfDriver(FoldTable::SpaceOf(block)) &&
                      block.device == event.device && GoesWithContext(block.memory);
    if (!goes) {
      ++slot;
      continue;
    }
    Keep(block.birth);
    levels_.Died(block);
    table_.Erase(&table_.at(slot));  // another entry may move here
  }
}

void EventFolder::Decide() {
  for (size_t slot = 0; slot < table_.slots(); ++slot) {
    if (table_.at(slot).key != 0) Keep(table_.at(slot).birth);
  }
  if (died_peak_ == levels_.peaks()) {
    for (size_t i = 0; i < died_count_; ++i) {
      Keep(died_[i].birth);
      Keep(died_[i].death);
    }
  }
  KeepWhatMayBeRefused();
  for (size_t i = 0; i < candidate_count_; ++i) KeepCandidate(candidates_[i]);
  for (const Extremes& extremes : extremes_) {
    if (!extremes.is_known) continue;
    Keep(extremes.least_event);
    Keep(extremes.most_event);
  }
  for (size_t i = 0; i < odd_left_out_; ++i) sums_.CountLeftOut();
  count_ = 0;
}

// Retains the latest frees, because an event after the folded part may report that the driver
// refused one of them.
void EventFolder::KeepWhatMayBeRefused() {
  const size_t oldest = free_count_ - std::min(free_count_, kRemembered);
  for (size_t i = free_count_; i > oldest; --i) {
    const Free& free = frees_[(i - 1) % kRemembered];
    size_t newer = 0;
    for (size_t j = i; j < free_count_; ++j) newer += frees_[j % kRemembered].thread == free.thread;
    if (newer >= kFreesOfThread) continue;
    Keep(free.event);
    if (free.block.key != 0) Keep(free.block.birth);
  }
}

bool EventFolder::Keeps(const Event& event) {
  const uint8_t fate = fates_[count_++];
  sums_.LookedUntil(event.time_ns);
  if ((fate & kKeep) != 0) return true;
  sums_.Add(event, static_cast<MemoryKind>(fate >> kFreedShift), &levels_);
  return false;
}

}  // namespace vramstow
