#include "allocator/offload/quiet_exchange.h"

#include <algorithm>
#include <new>

#include "allocator/core/host_memory.h"

namespace vramstow {

void QuietExchange::Open(PoolPages* pool, Mover* mover, PageList* list) {
  pool_ = pool;
  mover_ = mover;
  list_ = list;
  under_way_ = PagesThatAre::kPaused;
  used_ = 0;
  pool->exchange().SetCopyWait({WaitForCopies, this});
}

// A block may be freed while its pages are copied, and its pages be unmapped.
void QuietExchange::WaitForCopies(void* self, uint64_t address, uint64_t bytes) {
  kDeviceLock.AssertHeld();
  auto* const exchange = static_cast<QuietExchange*>(self);
  for (uint32_t i = 0; i < exchange->used_; ++i) {
    Transfer& transfer = exchange->transfers_[i];
    if (transfer.Has(address, bytes)) transfer.Wait();
  }
}

void QuietExchange::Close(bool alive) {
  pool_->exchange().SetCopyWait({});
  for (uint32_t i = 0; transfers_ != nullptr && i < kMostTransfers; ++i) {
    transfers_[i].Close(alive);
  }
  if (transfers_ != nullptr) FreeHostMemory(transfers_, kMostTransfers * sizeof(Transfer));
  transfers_ = nullptr;
  used_ = 0;
  under_way_ = PagesThatAre::kPaused;
  blocks_.Close();
}

bool QuietExchange::EnsureTransfers() {
  if (transfers_ != nullptr) return true;
  void* memory = AllocateHostMemory(kMostTransfers * sizeof(Transfer));
  if (memory == nullptr) return false;
  transfers_ = static_cast<Transfer*>(memory);
  for (uint32_t i = 0; i < kMostTransfers; ++i) {
    new (&transfers_[i]) Transfer;
    transfers_[i].Open(pool_->driver(), &pool_->events(), &pool_->exchange(), mover_);
  }
  return true;
}

void QuietExchange::Set(const QuietRange* ranges, uint64_t count, uint32_t clock) {
  Cancel();
  blocks_.Set(ranges, count);
  clock_ = clock;
  list_->Fill(PagesThatAre::kThere, PoolPages::kAnyTag, blocks_.Noting(), clock);
}

void QuietExchange::Clear() {
  Cancel();
  blocks_.Clear();
}

uint64_t QuietExchange::List(PagesThatAre which) {
  list_->Fill(which, PoolPages::kAnyTag, blocks_.Known(), clock_);
  list_->DropPinned();
  list_->DropTouchedSince(clock_);
  list_->KeepRank(QuietBlocks::kQuiet);
  return list_->count();
}

uint64_t QuietExchange::Begin(PagesThatAre which, uint64_t most) {
  if (!EnsureTransfers() || pool_->fences().capturing()) return 0;
  // Pages of large chunks move together: they are left to whoever stops for them.
  if (pool_->chunks().any_large()) return 0;
  List(which);
  list_->SortByAddress(list_->count());
  // Those before are under way.
  const uint64_t first = used_ == 0 ? 0 : list_->CountUpTo(last_begun_);
  const uint64_t count = std::min(list_->count() - first, most);
  const ChunkMemory to =
      which == PagesThatAre::kResident ? ChunkMemory::kHost : ChunkMemory::kDevice;
  uint64_t begun = 0;
  while (begun < count && used_ < kMostTransfers) {
    uint64_t pages[Transfer::kMostPages];
    const auto wanted =
        static_cast<uint32_t>(std::min<uint64_t>(count - begun, Transfer::kMostPages));
    for (uint32_t i = 0; i < wanted; ++i) pages[i] = list_->AddressOf(first + begun + i);
    Transfer& transfer = transfers_[used_];
    if (transfer.Begin(pages, wanted, to) != kDriverSuccess) break;
    ++used_;
    begun += transfer.count();
    last_begun_ = transfer.page(transfer.count() - 1);
    if (transfer.count() < wanted) break;
  }
  if (begun != 0) under_way_ = which;
  return begun;
}

void QuietExchange::Cancel() {
  for (uint32_t i = 0; i < used_; ++i) transfers_[i].Cancel();
  used_ = 0;
  under_way_ = PagesThatAre::kPaused;
}

}  // namespace vramstow
