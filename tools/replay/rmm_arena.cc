#include "tools/replay/rmm_arena.h"

#include <algorithm>

#include "base/rounding.h"
#include "base/units.h"

namespace vramstow {
namespace {

constexpr uint64_t kArenaAlignment = 256;
constexpr uint64_t kSuperblock = 256 * kKiB;
constexpr uint64_t kArena = uint64_t{1} << 48;  // bytes of addresses

}  // namespace

RmmArenaModel::RmmArenaModel(ModelDevice* device) : device_(device) {
  base_ = device_->Reserve(kArena);
  global_.Add(base_, kArena);
}

uint64_t RmmArenaModel::AllocateGlobal(uint64_t size) {
  const auto run = global_.FirstFit(size);
  if (!run) return 0;
  const uint64_t end = run->address + size - base_;
  if (end > reach_) {
    if (!device_->Map(base_ + reach_, end - reach_, 1, 0)) return 0;
    reach_ = end;
  }
  global_.Take(*run, size);
  return run->address;
}

bool RmmArenaModel::Allocate(const ModelRequest& request) {
  const uint64_t size = RoundUp(std::max<uint64_t>(request.bytes, 1), kArenaAlignment);
  uint64_t address = 0;
  if (size > kSuperblock) {
    address = AllocateGlobal(size);
  } else {
    FreeRanges& own = free_[request.stream];
    auto run = own.FirstFit(size);
    if (!run) {
      const uint64_t superblock = AllocateGlobal(kSuperblock);
      if (superblock == 0) return false;
      superblocks_[superblock] = kSuperblock;
      run = own.Add(superblock, kSuperblock);
      // The free range may begin at a lower address than before, because it was joined with the
      // free range before it. So it is searched again.
      run = own.FirstFit(size);
    }
    own.Take(*run, size);
    address = run->address;
  }
  if (address == 0) return false;
  live_.Put(request.block, {address, size, request.stream});
  return true;
}

void RmmArenaModel::Free(uint32_t number) {
  const PlacedBlock block = live_.Take(number);
  if (block.size > kSuperblock) {
    global_.Add(block.address, block.size);
    return;
  }
  FreeRanges& own = free_[block.stream];
  const FreeRanges::Range run = own.Add(block.address, block.size);
  if (run.size < kSuperblock) return;
  // Releases the whole superblocks within the range, and retains the rest of it.
  auto superblock = superblocks_.lower_bound(run.address);
  if (superblock == superblocks_.end()) return;
  const uint64_t from = superblock->first;
  uint64_t to = from;
  while (superblock != superblocks_.end() && superblock->first == to &&
         to + kSuperblock <= run.address + run.size) {
    to += kSuperblock;
    superblock = superblocks_.erase(superblock);
  }
  if (to == from) return;
  own.Take(run, run.size);
  if (from > run.address) own.Add(run.address, from - run.address);
  if (to < run.address + run.size) own.Add(to, run.address + run.size - to);
  global_.Add(from, to - from);
}

}  // namespace vramstow
