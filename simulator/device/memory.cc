#include "simulator/device/memory.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/rounding.h"

namespace vramstow::simulator {
namespace {

uint64_t PageOf(uint64_t address) { return address & ~(kDevicePage - 1); }

bool IsSmall(const Block& block) { return block.size <= kSmallMax; }

}  // namespace

Memory::Memory(AddressSpace* space, int devices, uint64_t device_bytes)
    : space_(space), devices_(devices) {
  for (int device = 0; device < devices; ++device) {
    devices_[device].total = device_bytes;
    // The first page stays unused, so that no block begins at the edge of an area.
    devices_[device].pages.Add(space->plain_base(device) + kDevicePage,
                               space->plain_size() - kDevicePage);
  }
}

void Memory::Share(Tenancy* tenancy, std::vector<int> cards) {
  tenancy_ = tenancy;
  cards_ = std::move(cards);
}

uint64_t Memory::used(int device) const {
  return tenancy_ == nullptr ? own(device) : tenancy_->Used(cards_[device]);
}

uint64_t Memory::free(int device) const {
  const uint64_t taken = used(device);
  return taken < total(device) ? total(device) - taken : 0;
}

bool Memory::Charge(int device, uint64_t bytes) {
  Device& memory = devices_[device];
  if (bytes > memory.total - memory.used) return false;
  if (tenancy_ != nullptr && !tenancy_->Take(cards_[device], bytes, memory.total)) return false;
  memory.used += bytes;
  return true;
}

void Memory::Discharge(int device, uint64_t bytes) {
  devices_[device].used -= bytes;
  if (tenancy_ != nullptr) tenancy_->Give(cards_[device], bytes);
}

uint64_t Memory::AllocateCharged(int device, uint64_t size) {
  if (!Charge(device, size)) return 0;
  const uint64_t address = devices_[device].pages.Take(size, kDevicePage);
  if (address == 0) Discharge(device, size);
  return address;
}

uint64_t Memory::AllocateSmall(int number, uint64_t size) {
  Device& device = devices_[number];
  uint64_t address = device.small.Take(size, kSmallUnit);
  if (address == 0) {
    const uint64_t page = AllocateCharged(number, kDevicePage);
    if (page == 0) return 0;
    device.small.Add(page, kDevicePage);
    device.shared[page] = SharedPage();
    address = device.small.Take(size, kSmallUnit);
  }
  // The allocator joins neighbouring shared pages, so a block may extend from one page into the
  // next.
  for (uint64_t at = address; at < address + size;) {
    const uint64_t stop = std::min(PageOf(at) + kDevicePage, address + size);
    device.shared[PageOf(at)].bytes += stop - at;
    at = stop;
  }
  return address;
}

void Memory::ReleaseSmall(const Block& block) {
  Device& device = devices_[block.device];
  device.small.Add(block.address, block.size);
  for (uint64_t at = block.address; at < block.address + block.size;) {
    const uint64_t page = PageOf(at);
    const uint64_t stop = std::min(page + kDevicePage, block.address + block.size);
    SharedPage& shared = device.shared[page];
    shared.bytes -= stop - at;
    shared.touched |= block.touched;
    at = stop;
    if (shared.bytes != 0 || !device.small.AllocateAt(page, kDevicePage)) continue;
    if (shared.touched) space_->Punch(page, kDevicePage);
    device.shared.erase(page);
    device.pages.Add(page, kDevicePage);
    Discharge(block.device, kDevicePage);
  }
}

Result Memory::Allocate(int device, uint64_t bytes, BlockKind kind, const void* owner,
                        Block** block) {
  if (bytes > total(device)) return Result::kOutOfMemory;
  const bool small = bytes <= kSmallMax;
  const uint64_t size = RoundUp(bytes, small ? kSmallUnit : kDevicePage);
  const uint64_t address = small ? AllocateSmall(device, size) : AllocateCharged(device, size);
  if (address == 0) return Result::kOutOfMemory;
  *block = &blocks_[address];
  **block = Block{.address = address,
                  .size = size,
                  .requested = bytes,
                  .id = NewId(),
                  .owner = owner,
                  .device = device,
                  .kind = kind};
  return Result::kSuccess;
}

uint64_t Memory::AllocatePages(int device, uint64_t bytes, bool charge) {
  if (bytes > total(device)) return 0;
  const uint64_t size = RoundUp(bytes, kDevicePage);
  const uint64_t address =
      charge ? AllocateCharged(device, size) : devices_[device].pages.Take(size, kDevicePage);
  if (address == 0) return 0;
  pool_pages_[address] = {size, device};
  return address;
}

void Memory::ReturnPages(int device, uint64_t address, uint64_t bytes, bool charged) {
  const uint64_t size = RoundUp(bytes, kDevicePage);
  space_->Punch(address, size);
  pool_pages_.erase(address);
  devices_[device].pages.Add(address, size);
  if (charged) Discharge(device, size);
}

Block* Memory::AddPoolBlock(int device, uint64_t address, uint64_t size, uint64_t bytes,
                            const void* owner, void* pool) {
  Block* block = &blocks_[address];
  *block = Block{.address = address,
                 .size = size,
                 .requested = bytes,
                 .id = NewId(),
                 .owner = owner,
                 .pool = pool,
                 .device = device,
                 .kind = BlockKind::kPool,
                 .touched = true};
  return block;
}

int Memory::PoolDevice(uint64_t address, uint64_t size) const {
  auto next = pool_pages_.upper_bound(address);
  if (next == pool_pages_.begin()) return kHost;
  auto pages = std::prev(next);
  if (address - pages->first >= pages->second.size) return kHost;
  const int device = pages->second.device;
  // A block may span several adjacent page ranges of a pool.
  uint64_t end = pages->first + pages->second.size;
  while (end - address < size) {
    ++pages;
    const bool goes_on =
        pages != pool_pages_.end() && pages->first == end && pages->second.device == device;
    if (!goes_on) return kHost;
    end += pages->second.size;
  }
  return device;
}

Block* Memory::AddHost(uint64_t address, uint64_t bytes, BlockKind kind, const void* owner) {
  Block* block = &blocks_[address];
  *block = Block{.address = address,
                 .size = bytes,
                 .requested = bytes,
                 .id = NewId(),
                 .owner = owner,
                 .kind = kind,
                 .touched = true};
  return block;
}

Block* Memory::AddImported(const Block& wish) {
  Block* block = &blocks_[wish.address];
  *block = wish;
  block->id = NewId();
  block->kind = BlockKind::kImported;
  block->touched = true;  // another process may write to it
  return block;
}

void Memory::Release(Block* block) {
  if (block->OnDevice() && block->kind != BlockKind::kPool && block->kind != BlockKind::kImported) {
    if (IsSmall(*block)) {
      // Bytes in a shared page keep their contents until the page is released, as they do on a GPU.
      ReleaseSmall(*block);
    } else {
      const uint64_t pages = RoundUp(block->size, kDevicePage);
      if (block->touched) space_->Punch(block->address, pages);
      devices_[block->device].pages.Add(block->address, pages);
      Discharge(block->device, pages);
    }
  }
  blocks_.erase(block->address);
}

Block* Memory::FindExact(uint64_t address) {
  const auto found = blocks_.find(address);
  return found == blocks_.end() ? nullptr : &found->second;
}

Block* Memory::FindAround(uint64_t address) {
  auto next = blocks_.upper_bound(address);
  if (next == blocks_.begin()) return nullptr;
  Block& block = std::prev(next)->second;
  return address - block.address < block.size ? &block : nullptr;
}

bool Memory::Overlaps(uint64_t address, uint64_t bytes) const {
  auto next = blocks_.lower_bound(address);
  if (next != blocks_.end() && next->first < address + bytes) return true;
  if (next == blocks_.begin()) return false;
  const Block& before = std::prev(next)->second;
  return before.address + before.size > address;
}

std::vector<Block*> Memory::BlocksOf(const void* owner) {
  std::vector<Block*> blocks;
  for (auto& [address, block] : blocks_) {
    if (block.owner == owner) blocks.push_back(&block);
  }
  return blocks;
}

}  // namespace vramstow::simulator
