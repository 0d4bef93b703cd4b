#include "allocator/offload/quiet_parking.h"

#include <algorithm>
#include <new>
#include <utility>

#include "allocator/core/host_memory.h"

namespace vramstow {

void QuietParking::Open(PoolPages* pool, Mover* mover, PageList* list) {
  pool_ = pool;
  mover_ = mover;
  list_ = list;
  leaving_ = 0;
  returning_ = 0;
  laid_ = 0;
  pool->exchange().SetCopyWait({WaitForCopies, this});
}

// A block may be freed, and its pages unmapped, while its pages are being copied.
void QuietParking::WaitForCopies(void* self, uint64_t address, uint64_t bytes) {
  kDeviceLock.AssertHeld();
  auto* const parking = static_cast<QuietParking*>(self);
  for (uint32_t i = 0; i < parking->leaving_; ++i) {
    Transfer& transfer = parking->transfers_[i];
    if (transfer.Has(address, bytes)) transfer.Wait();
  }
}

void QuietParking::Close(bool alive) {
  pool_->exchange().SetCopyWait({});
  for (uint32_t i = 0; alive && i < returning_; ++i) {
    DriverResult result = kDriverSuccess;
    mover_->End(&returns_[i], &result);
  }
  for (uint32_t i = 0; transfers_ != nullptr && i < kMax; ++i) transfers_[i].Close(alive);
  if (transfers_ != nullptr) FreeHostMemory(transfers_, kMax * sizeof(Transfer));
  if (returns_ != nullptr) FreeHostMemory(returns_, kMax * sizeof(Mover::Return));
  transfers_ = nullptr;
  returns_ = nullptr;
  leaving_ = 0;
  returning_ = 0;
  laid_ = 0;
  blocks_.Close();
  away_.Close();
}

bool QuietParking::EnsureGroups() {
  if (returns_ == nullptr) {
    returns_ = static_cast<Mover::Return*>(AllocateHostMemory(kMax * sizeof(Mover::Return)));
    for (uint32_t i = 0; returns_ != nullptr && i < kMax; ++i) new (&returns_[i]) Mover::Return;
  }
  if (transfers_ == nullptr) {
    transfers_ = static_cast<Transfer*>(AllocateHostMemory(kMax * sizeof(Transfer)));
    for (uint32_t i = 0; transfers_ != nullptr && i < kMax; ++i) {
      new (&transfers_[i]) Transfer;
      transfers_[i].Open(pool_->driver(), &pool_->exchange(), mover_);
    }
  }
  return returns_ != nullptr && transfers_ != nullptr;
}

void QuietParking::Set(const QuietRange* ranges, uint64_t count, uint32_t clock) {
  CancelLeaving();
  // Without memory for the away ranges (the addresses that must be restored before use), work could
  // use pages that are parked. So no block is treated as quiet.
  if (!away_.Reserve(count + QuietBlocks::kMaxIdle)) count = 0;
  blocks_.Set(ranges, count, clock);
  clock_ = clock;
  list_->Fill(PagesThatAre::kThere, PoolPages::kAnyTag, blocks_.Noting(), clock);
}

void QuietParking::Clear() {
  CancelLeaving();
  blocks_.Clear();
}

uint64_t QuietParking::List(PagesThatAre which) { return List(which, blocks_.Known()); }

uint64_t QuietParking::List(PagesThatAre which, const OffloadPolicy& policy) {
  list_->Fill(which, PoolPages::kAnyTag, policy, clock_);
  list_->DropPinned();
  list_->KeepRank(QuietBlocks::kQuiet);
  list_->KeepFull();
  return list_->count();
}

uint64_t QuietParking::ListParked() {
  list_->Fill(PagesThatAre::kParked, PoolPages::kAnyTag, blocks_.Known(), clock_);
  list_->SortByAddress(list_->count());
  return list_->count();
}

// True if a parked page (evicted to the host, and mapped nowhere) belongs to none of the recorded
// blocks, because its block was freed.
bool QuietParking::HasFreed() {
  if (parked() == 0) return false;
  ListParked();
  list_->DropRank(QuietBlocks::kQuiet);
  return list_->count() != 0;
}

// True if pages may be copied to be parked. Pages of large chunks must move together, which is
// possible only in a standstill (standstill.h).
bool QuietParking::MayLeave() {
  return EnsureGroups() && !pool_->fences().capturing() && !pool_->chunks().any_large();
}

uint64_t QuietParking::BeginLeaving(uint64_t most) {
  if (!MayLeave()) return 0;
  List(PagesThatAre::kResident);
  list_->SortByAddress(list_->count());
  const uint64_t first = leaving_ == 0 ? 0 : list_->CountUpTo(last_leaving_);
  // Work that was submitted since the quiet time began does not use the pages from `first` on.
  return BeginGroups(first, std::min(list_->count() - first, most), After::kFirstGroup);
}

// Begins to copy `count` pages of the list, which is sorted by address, from index `first` on to
// the host. Returns how many.
uint64_t QuietParking::BeginGroups(uint64_t first, uint64_t count, After after) {
  uint64_t begun = 0;
  while (begun < count && leaving_ < kMax) {
    uint64_t pages[Transfer::kMaxPages];
    const auto wanted =
        static_cast<uint32_t>(std::min<uint64_t>(count - begun, Transfer::kMaxPages));
    for (uint32_t i = 0; i < wanted; ++i) pages[i] = list_->AddressOf(first + begun + i);
    Transfer& transfer = transfers_[leaving_];
    const bool is_behind = after == After::kFirstGroup && leaving_ != 0;
    const Transfer* const previous = is_behind ? &transfers_[leaving_ - 1] : nullptr;
    if (transfer.Begin(pages, wanted, previous) != kDriverSuccess) break;
    ++leaving_;
    begun += transfer.count();
    last_leaving_ = transfer.page(transfer.count() - 1);
    if (transfer.count() < wanted) break;
  }
  return begun;
}

uint64_t QuietParking::AddIdle(uint64_t pages, uint32_t touched_before, uint32_t clock) {
  // Idle blocks are added only if Set has recorded quiet blocks. Set records none if it has no
  // memory for the away ranges (the addresses that must be restored before use).
  if (blocks_.empty() || !MayLeave()) return 0;
  const uint64_t wanted = pages * pool_->page_bytes();
  const uint64_t open = blocks_.OpenBytes();
  if (open < wanted) {
    list_->Consider(blocks_.Considering(touched_before), clock);
    blocks_.Choose(wanted - open, clock, [&](const QuietRange& range) {
      kDeviceLock.AssertHeld();
      // An earlier copy of the pages in this range belongs to another block.
      for (uint32_t i = 0; i < leaving_; ++i) transfers_[i].Forget(range.address, range.bytes);
    });
  }
  if (blocks_.OpenBytes() == 0) return 0;
  List(PagesThatAre::kResident, blocks_.Open());
  list_->SortByAddress(list_->count());
  return list_->count();
}

uint64_t QuietParking::BeginLeavingIdle(uint64_t most) {
  uint64_t begun = 0;
  while (begun < most && leaving_ < kMax) {
    QuietBlocks::Entry* const entry = blocks_.FirstOpen();
    if (entry == nullptr) break;
    const uint64_t end = entry->range.address + entry->range.bytes;
    const uint64_t first = list_->CountUpTo(entry->begun_up_to - 1);
    const uint64_t listed = list_->CountUpTo(end - 1) - first;
    const uint64_t count = std::min(listed, most - begun);
    const uint64_t one = BeginGroups(first, count, After::kAllWork);
    begun += one;
    if (one == listed) {
      entry->begun_up_to = end;
    } else if (one != 0) {
      entry->begun_up_to = last_leaving_ + pool_->page_bytes();
    }
    if (one < count) break;
  }
  return begun;
}

void QuietParking::CancelLeaving() {
  for (uint32_t i = 0; i < leaving_; ++i) transfers_[i].Cancel();
  leaving_ = 0;
}

// Lists the quiet pages on the device, in order of address. Their blocks are marked as offloaded
// first: if another thread frees a block before its pages are parked, no request may get its
// memory. The second list has only pages of marked blocks that are still there.
void QuietParking::ListToPark() {
  List(PagesThatAre::kResident);
  list_->SortByAddress(list_->count());
  pool_->MarkLeaving([&](uint64_t page) {
    kDeviceLock.AssertHeld();
    return list_->HasAddress(page);
  });
  List(PagesThatAre::kResident);
  list_->SortByAddress(list_->count());
}

// A block that was allocated on free host memory is not marked as offloaded. No block on a parked
// page may be reused before the page is back, so all are marked first.
void QuietParking::ParkHost() {
  pool_->MarkOffloaded();
  List(PagesThatAre::kOffloaded);
  list_->SortByAddress(list_->count());
  const uint64_t size = pool_->page_bytes();
  for (uint64_t i = 0; i < list_->count();) {
    uint32_t run = list_->RunFrom(i, size);
    if (pool_->exchange().ParkHost(list_->AddressOf(i), &run) != kDriverSuccess) break;
    i += run;
  }
  NoteAway();
}

// Records the ranges of blocks that have a page which is parked or being restored. The submission
// gate is closed.
void QuietParking::NoteAway() {
  away_.Clear();
  const uint64_t size = pool_->page_bytes();
  blocks_.Visit([&](const QuietBlocks::Entry& entry) {
    kDeviceLock.AssertHeld();
    if (entry.is_back) return;
    const QuietRange& range = entry.range;
    const uint64_t end = range.address + range.bytes;
    for (uint64_t at = range.address / size * size; at < end; at += size) {
      if (pool_->chunks().Parked(at)) return away_.Add(range.address, range.bytes);
    }
  });
  away_.Publish();
}

// Clears the away ranges (the addresses that must be restored before use) once no page is parked,
// and work waits for every page that is being restored. Until then all recorded blocks stay in the
// ranges.
void QuietParking::NoteBack() {
  const bool is_ordered =
      std::all_of(returns_, returns_ + returning_,
                  [](const Mover::Return& coming) { return coming.is_ordered; });
  if (is_ordered && parked_at_rest() == 0) away_.Clear();
}

// Begins to restore the given parked pages. Returns false unless all of them are being restored.
bool QuietParking::BeginGroup(const uint64_t* pages, uint32_t count) {
  if (returning_ == kMax) return false;
  Mover::Return& coming = returns_[returning_];
  coming.count = count;
  coming.is_after_work = true;
  std::copy(pages, pages + count, coming.pages);
  std::sort(coming.pages, coming.pages + count);
  mover_->Lay(&coming);
  if (mover_->Begin(&coming) != kDriverSuccess || coming.count == 0) return false;
  ++returning_;
  laid_ += coming.count;
  return coming.count == count;
}

template <typename Visitor>
void QuietParking::VisitParked(const QuietRange& block, Visitor visit) {
  const uint64_t size = pool_->page_bytes();
  const uint64_t end = block.address + block.bytes;
  for (uint64_t at = block.address / size * size; at < end; at += size) {
    if (pool_->exchange().IsParked(at)) visit(at);
  }
}

uint64_t QuietParking::CountParked(const QuietRange& block) {
  uint64_t count = 0;
  VisitParked(block, [&](uint64_t) { ++count; });
  return count;
}

// Begins to restore up to `most` of the pages that visit_all(visit) visits. Returns how many.
template <typename VisitAll>
uint64_t QuietParking::BeginGroups(uint64_t most, VisitAll visit_all) {
  const uint64_t before = laid_;
  uint64_t pages[Mover::kMaxPages];
  uint32_t count = 0;
  bool goes_on = EnsureGroups();
  visit_all([&](uint64_t page) {
    kDeviceLock.AssertHeld();
    if (!goes_on || laid_ - before + count == most) return;
    pages[count++] = page;
    if (count == Mover::kMaxPages) goes_on = BeginGroup(pages, std::exchange(count, 0));
  });
  if (goes_on && count != 0) BeginGroup(pages, count);
  return laid_ - before;
}

uint64_t QuietParking::BeginReturning(const QuietRange& block, uint64_t most) {
  return BeginGroups(most, [&](auto visit) {
    kDeviceLock.AssertHeld();
    VisitParked(block, visit);
  });
}

// Restores the youngest blocks first, because a backward pass uses the youngest blocks first.
uint64_t QuietParking::ReturnIdle(uint64_t most) {
  uint64_t begun = 0;
  const QuietBlocks::Entry* next = blocks_.IdleBefore(~uint64_t{0});
  while (next != nullptr && begun < most) {
    begun += BeginReturning(next->range, most - begun);
    next = blocks_.IdleBefore(next->birth);
  }
  return begun;
}

uint64_t QuietParking::idle_at_rest() {
  uint64_t count = 0;
  if (parked_at_rest() == 0) return count;
  blocks_.Visit([&](const QuietBlocks::Entry& entry) {
    kDeviceLock.AssertHeld();
    if (entry.is_idle) count += CountParked(entry.range);
  });
  return std::min(count, parked_at_rest());
}

uint64_t QuietParking::BeginReturning(uint64_t idle, uint64_t others) {
  const uint64_t begun = ReturnIdle(idle);
  if (others == 0) return begun;
  ListParked();
  return begun + BeginGroups(others, [&](auto visit) {
           kDeviceLock.AssertHeld();
           for (uint64_t i = 0; i < list_->count(); ++i) {
             if (blocks_.FindIdle(list_->AddressOf(i)) == nullptr) visit(list_->AddressOf(i));
           }
         });
}

bool QuietParking::OrderReturning() {
  const bool is_ordered = OrderReturning({0, ~uint64_t{0}});
  if (is_ordered && parked_at_rest() == 0) away_.Clear();
  return is_ordered;
}

// The pages of a group are in order of address.
bool QuietParking::OrderReturning(const QuietRange& range) {
  if (pool_->fences().capturing()) return false;
  const uint64_t end = range.address + range.bytes;
  const uint64_t size = pool_->page_bytes();
  return std::all_of(returns_, returns_ + returning_, [&](Mover::Return& coming) {
    kDeviceLock.AssertHeld();
    const uint64_t* const pages = coming.pages;
    const uint64_t* const last = pages + coming.count;
    const uint64_t* const at = std::lower_bound(pages, last, range.address / size * size);
    return at == last || *at >= end || coming.is_ordered || mover_->Order(&coming);
  });
}

DriverResult QuietParking::MapParked() { return MapParked({0, ~uint64_t{0}}); }

DriverResult QuietParking::MapParked(const QuietRange& range) {
  ListParked();
  list_->KeepRange(range.address, range.address + range.bytes);
  const uint64_t size = pool_->page_bytes();
  DriverResult result = kDriverSuccess;
  for (uint64_t i = 0; i < list_->count();) {
    const uint32_t wanted = list_->RunFrom(i, size);
    uint32_t run = wanted;
    const DriverResult one = pool_->exchange().MapParked(list_->AddressOf(i), &run);
    if (one != kDriverSuccess) result = one;
    i += one == kDriverSuccess ? run : std::max<uint32_t>(run, 1);
  }
  NoteBack();
  return result;
}

QuietRange QuietParking::IdleBlockAt(uint64_t address) {
  const QuietBlocks::Entry* const entry = blocks_.FindIdle(address);
  return entry == nullptr ? QuietRange{} : entry->range;
}

uint64_t QuietParking::CountIdle(const uint64_t* pages, uint32_t count) {
  return static_cast<uint64_t>(std::count_if(pages, pages + count, [&](uint64_t page) {
    kDeviceLock.AssertHeld();
    return blocks_.FindIdle(page) != nullptr;
  }));
}

void QuietParking::NoteBlockBack(const QuietRange& block) {
  QuietBlocks::Entry* const entry = blocks_.FindIdle(block.address);
  if (entry == nullptr) return;
  entry->is_back = true;
  away_.Remove(block.address);
}

}  // namespace vramstow
