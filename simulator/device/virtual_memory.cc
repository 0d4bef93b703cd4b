#include "simulator/device/virtual_memory.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/rounding.h"
#include "simulator/device/sizes.h"

namespace vramstow::simulator {
namespace {

// Handles are numbers that cannot be mistaken for addresses or small integers.
constexpr uint64_t kFirstHandle = 0x70000001;

bool IsPaged(uint64_t value) { return value % kDevicePage == 0; }

// The name of a shareable file describes its memory: /memfd:vramstow-physical-CARD-TYPE-LOCATION,
// where CARD is -1 for the host. The file is as long as the memory.
constexpr char kShareableName[] = "vramstow-physical-%d-%d-%d";

int MakeShareableFile(const Physical& physical, const std::vector<int>& cards) {
  char name[64];
  const bool host = physical.device == kHost;
  const int card = host ? kHost : cards[physical.device];
  snprintf(name, sizeof(name), kShareableName, card, physical.location_type,
           host ? physical.location_id : card);
  const int file = memfd_create(name, MFD_CLOEXEC);
  if (file >= 0 && ftruncate(file, static_cast<off_t>(physical.size)) != 0) {
    close(file);
    return -1;
  }
  return file;
}

bool ReadShareableFile(int descriptor, const std::vector<int>& cards, Physical* physical) {
  char link[64];
  char name[128] = {};
  snprintf(link, sizeof(link), "/proc/self/fd/%d", descriptor);
  struct stat state;
  if (readlink(link, name, sizeof(name) - 1) < 0 || fstat(descriptor, &state) != 0) return false;
  if (sscanf(name, "/memfd:vramstow-physical-%d-%d-%d", &physical->device, &physical->location_type,
             &physical->location_id) != 3) {
    return false;
  }
  if (physical->device != kHost) {
    const auto card = std::find(cards.begin(), cards.end(), physical->device);
    if (card == cards.end()) return false;  // the process does not see the GPU
    physical->device = physical->location_id = static_cast<int>(card - cards.begin());
  }
  physical->size = static_cast<uint64_t>(state.st_size);
  physical->handle_types = 1;
  return true;
}

uint64_t InodeOf(int descriptor) {
  struct stat state;
  return fstat(descriptor, &state) == 0 ? state.st_ino : 0;
}

// Copies the written bytes of [offset, offset + size) to the beginning of a file of that size.
bool CopyFile(int from, uint64_t offset, uint64_t size, int to) {
  const uint64_t end = offset + size;
  std::vector<char> buffer(1 << 20);
  uint64_t start = offset;
  uint64_t stop = offset;
  while (stop < end && AddressSpace::NextWritten(from, stop, &start, &stop)) {
    stop = std::min(stop, end);
    while (start < stop) {
      const size_t wanted = std::min<uint64_t>(buffer.size(), stop - start);
      const ssize_t count = pread(from, buffer.data(), wanted, static_cast<off_t>(start));
      if (count <= 0) return false;
      const off_t at = static_cast<off_t>(start - offset);
      if (pwrite(to, buffer.data(), static_cast<size_t>(count), at) != count) return false;
      start += static_cast<uint64_t>(count);
    }
  }
  return true;
}

template <typename Map>
auto FindHolding(Map& map, uint64_t address) -> decltype(&map.begin()->second) {
  auto next = map.upper_bound(address);
  if (next == map.begin()) return nullptr;
  auto& entry = std::prev(next)->second;
  return address - entry.address < entry.size ? &entry : nullptr;
}

}  // namespace

VirtualMemory::VirtualMemory(AddressSpace* space, Memory* memory, std::vector<int> cards)
    : space_(space),
      memory_(memory),
      cards_(std::move(cards)),
      devices_(cards_.size()),
      last_handle_(kFirstHandle) {
  addresses_.Add(space->mapped_base(), space->mapped_size());
}

Result VirtualMemory::Reserve(uint64_t size, uint64_t alignment, uint64_t hint, uint64_t* address) {
  if (size == 0 || !IsPaged(size)) return Result::kInvalidValue;
  if ((alignment & (alignment - 1)) != 0) return Result::kInvalidValue;
  const uint64_t step = std::max(alignment, kDevicePage);
  uint64_t start = 0;
  if (hint != 0 && hint % step == 0 && addresses_.AllocateAt(hint, size)) start = hint;
  if (start == 0) start = addresses_.Take(size, step);
  if (start == 0) return Result::kOutOfMemory;
  reservations_[start] = {start, size};
  *address = start;
  return Result::kSuccess;
}

Result VirtualMemory::Unreserve(uint64_t address, uint64_t size) {
  const auto found = reservations_.find(address);
  if (found == reservations_.end() || found->second.size != size) return Result::kInvalidValue;
  const auto mapping = mappings_.lower_bound(address);
  if (mapping != mappings_.end() && mapping->first < address + size) return Result::kInvalidValue;
  reservations_.erase(found);
  addresses_.Add(address, size);
  return Result::kSuccess;
}

Result VirtualMemory::Create(const Physical& wish, uint64_t* handle) {
  if (wish.size == 0 || !IsPaged(wish.size)) return Result::kInvalidValue;
  if (wish.device != kHost && !memory_->Charge(wish.device, wish.size)) {
    return Result::kOutOfMemory;
  }
  Physical physical = wish;
  if (wish.device != kHost) {
    const auto discharge = [device = wish.device, size = wish.size](Memory* memory) {
      memory->Discharge(device, size);
    };
    physical.charge = std::shared_ptr<Memory>(memory_, discharge);
  }
  physical.file = -1;
  physical.offset = Physical::kNoOffset;
  *handle = AddPhysical(physical);
  return Result::kSuccess;
}

uint64_t VirtualMemory::AddPhysical(const Physical& wish) {
  const uint64_t handle = ++last_handle_;
  Physical& physical = physical_[handle];
  physical = wish;
  physical.handle = handle;
  physical.id = memory_->NewId();
  physical.handles = 1;
  physical.mappings = 0;
  physical.registrations = 0;
  return handle;
}

Result VirtualMemory::Export(uint64_t handle, int* descriptor) {
  Physical* physical = Find(handle);
  if (physical == nullptr || physical->handle_types == 0) return Result::kInvalidValue;
  if (physical->file < 0) {
    if (!GiveOwnFile(physical)) return Result::kOutOfMemory;
    physical->inode = InodeOf(physical->file);
    if (physical->charge != nullptr) charge_of_[physical->inode] = physical->charge;
  }
  *descriptor = fcntl(physical->file, F_DUPFD_CLOEXEC, 0);
  return *descriptor < 0 ? Result::kOutOfMemory : Result::kSuccess;
}

// Most memory that may be exported is never exported, and a process has few descriptors. So memory
// gets a file of its own at its first export. Then its contents move to that file, and its mappings
// show that file.
bool VirtualMemory::GiveOwnFile(Physical* physical) {
  const int common = space_->descriptor(CommonFile(*physical));
  const int file = MakeShareableFile(*physical, cards_);
  if (file < 0) return false;
  if (physical->offset == Physical::kNoOffset) {  // never mapped, so it was never written
    physical->file = file;
    physical->offset = 0;
    return true;
  }
  if (!CopyFile(common, physical->offset, physical->size, file) ||
      !ShowIn(*physical, file, /*offset=*/0)) {
    ShowIn(*physical, common, physical->offset);
    close(file);
    return false;
  }
  space_->PunchFile(CommonFile(*physical), physical->offset, physical->size);
  physical->file = file;
  physical->offset = 0;
  for (const auto& [address, mapping] : mappings_) {
    const Access access = mapping.access[AccessIndex(kHost)];
    if (mapping.physical == physical->handle && access != Access::kNone) {
      ShowToHost(mapping, access);
    }
  }
  return true;
}

// Makes all mappings of the memory show `file`.
bool VirtualMemory::ShowIn(const Physical& physical, int file, uint64_t offset) {
  int left = physical.mappings;
  for (auto at = mappings_.begin(); left > 0 && at != mappings_.end(); ++at) {
    const Mapping& mapping = at->second;
    if (mapping.physical != physical.handle) continue;
    if (!space_->MapDescriptor(mapping.address, mapping.size, file, offset)) return false;
    --left;
  }
  return true;
}

Result VirtualMemory::Import(int descriptor, uint64_t* handle) {
  Physical physical;
  if (!ReadShareableFile(descriptor, cards_, &physical)) return Result::kInvalidValue;
  physical.file = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  if (physical.file < 0) return Result::kOutOfMemory;
  physical.offset = 0;
  physical.inode = InodeOf(physical.file);
  const auto own = charge_of_.find(physical.inode);
  if (own != charge_of_.end()) physical.charge = own->second.lock();
  *handle = AddPhysical(physical);
  return Result::kSuccess;
}

Physical* VirtualMemory::Find(uint64_t handle) {
  const auto found = physical_.find(handle);
  return found == physical_.end() ? nullptr : &found->second;
}

Physical* VirtualMemory::FindMapped(uint64_t address) {
  const Mapping* mapping = FindMapping(address);
  return mapping == nullptr ? nullptr : Find(mapping->physical);
}

// Frees the memory once it has no handles, no mappings and no registrations.
void VirtualMemory::Drop(Physical* physical) {
  if (physical->handles > 0 || physical->mappings > 0 || physical->registrations > 0) return;
  if (physical->file >= 0) {
    close(physical->file);
  } else {
    if (physical->offset != Physical::kNoOffset) {
      space_->PunchFile(CommonFile(*physical), physical->offset, physical->size);
    }
  }
  const uint64_t inode = physical->inode;
  physical_.erase(physical_.find(physical->handle));
  const auto own = charge_of_.find(inode);
  if (own != charge_of_.end() && own->second.expired()) charge_of_.erase(own);
}

Result VirtualMemory::Release(uint64_t handle) {
  Physical* physical = Find(handle);
  if (physical == nullptr || physical->handles == 0) return Result::kInvalidValue;
  --physical->handles;
  Drop(physical);
  return Result::kSuccess;
}

void VirtualMemory::LetGo(uint64_t handle) {
  Physical* physical = Find(handle);
  --physical->registrations;
  Drop(physical);
}

Result VirtualMemory::Retain(uint64_t address, uint64_t* handle) {
  const Mapping* mapping = FindMapping(address);
  if (mapping == nullptr) return Result::kInvalidValue;
  Physical* physical = Find(mapping->physical);
  ++physical->handles;
  *handle = physical->handle;
  return Result::kSuccess;
}

Result VirtualMemory::Map(uint64_t address, uint64_t size, uint64_t offset, uint64_t handle) {
  Physical* physical = Find(handle);
  if (physical == nullptr || physical->handles == 0) return Result::kInvalidValue;
  // The documentation says that the offset "must be zero" and that the size must be that of the
  // allocation.
  if (offset != 0) return Result::kNotSupported;
  if (size == 0 || !IsPaged(size) || !IsPaged(address)) return Result::kInvalidValue;
  if (size != physical->size) return Result::kInvalidValue;
  const Reservation* range = FindReservation(address);
  if (range == nullptr) return Result::kInvalidValue;
  const auto next = mappings_.lower_bound(address);
  if (next != mappings_.end() && next->first < address + size) return Result::kInvalidValue;
  if (FindMapping(address) != nullptr) return Result::kInvalidValue;
  const uint64_t end = range->address + range->size;
  const uint64_t beyond = address + size > end ? address + size - end : 0;
  if (beyond != 0 && !addresses_.AllocateAt(end, beyond)) return Result::kInvalidValue;
  if (!ShowPhysical(address, physical)) {
    if (beyond != 0) addresses_.Add(end, beyond);
    return Result::kOutOfMemory;
  }
  ++physical->mappings;
  if (physical->device == kHost) ++host_mappings_;
  mappings_[address] = {address, size, handle, std::vector<Access>(devices_ + 1, Access::kNone),
                        beyond};
  return Result::kSuccess;
}

bool VirtualMemory::ShowPhysical(uint64_t address, Physical* physical) {
  // Offsets are assigned in the order in which memory is mapped, so that the kernel merges adjacent
  // mappings: a process can have only a limited number of them.
  if (physical->offset == Physical::kNoOffset) {
    physical->offset = space_->NewOffsets(CommonFile(*physical), physical->size);
  }
  return physical->file >= 0
             ? space_->MapDescriptor(address, physical->size, physical->file, physical->offset)
             : space_->Map(address, physical->size, CommonFile(*physical), physical->offset);
}

bool VirtualMemory::Tile(uint64_t address, uint64_t size, std::vector<Mapping*>* tiles) {
  if (!EndsInAddresses(address, size)) return false;
  uint64_t at = address;
  while (at < address + size) {
    const auto found = mappings_.find(at);
    if (found == mappings_.end() || at + found->second.size > address + size) return false;
    tiles->push_back(&found->second);
    at += found->second.size;
  }
  return size != 0;
}

bool VirtualMemory::IsHole(uint64_t address, uint64_t size) const {
  const Reservation* range = FindReservation(address);
  if (size == 0 || !IsPaged(size) || !IsPaged(address) || range == nullptr ||
      size > range->address + range->size - address || FindMapping(address) != nullptr) {
    return false;
  }
  const auto next = mappings_.lower_bound(address);
  return next == mappings_.end() || next->first >= address + size;
}

Result VirtualMemory::Unmap(uint64_t address, uint64_t size) {
  if (IsHole(address, size)) return Result::kSuccess;
  std::vector<Mapping*> tiles;
  if (!Tile(address, size, &tiles)) return Result::kInvalidValue;
  space_->Unmap(address, size);
  for (const Mapping* tile : tiles) ShowToHost(*tile, Access::kNone);
  for (Mapping* tile : tiles) {
    Physical* physical = Find(tile->physical);
    --physical->mappings;
    if (physical->device == kHost) --host_mappings_;
    Drop(physical);
    if (tile->beyond != 0) {
      addresses_.Add(tile->address + tile->size - tile->beyond, tile->beyond);
    }
    mappings_.erase(tile->address);
  }
  return Result::kSuccess;
}

// Makes host memory accessible at its device address if `access` is not kNone. Only for such memory
// may the host use a device address.
void VirtualMemory::ShowToHost(const Mapping& mapping, Access access) {
  const Physical* physical = Find(mapping.physical);
  if (physical->device != kHost) return;
  void* at = reinterpret_cast<void*>(static_cast<uintptr_t>(mapping.address));
  if (access == Access::kNone) {
    constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
    static_cast<void>(mmap(at, mapping.size, PROT_NONE, kFlags, -1, 0));
    return;
  }
  const int descriptor =
      physical->file >= 0 ? physical->file : space_->descriptor(space_->host_file());
  const int protection = access == Access::kRead ? PROT_READ : PROT_READ | PROT_WRITE;
  // If the kernel refuses, the host faults at the address, as it would on a GPU that does not
  // support this.
  static_cast<void>(mmap(at, mapping.size, protection, MAP_SHARED | MAP_FIXED | MAP_NORESERVE,
                         descriptor, static_cast<off_t>(physical->offset)));
}

Result VirtualMemory::SetAccess(uint64_t address, uint64_t size, int device, Access access) {
  std::vector<Mapping*> tiles;
  if (!Tile(address, size, &tiles)) return Result::kInvalidValue;
  for (Mapping* tile : tiles) {
    tile->access[AccessIndex(device)] = access;
    if (device == kHost) ShowToHost(*tile, access);
  }
  return Result::kSuccess;
}

Result VirtualMemory::GetAccess(uint64_t address, int device, Access* access) {
  const Mapping* mapping = FindMapping(address);
  if (mapping == nullptr) return Result::kInvalidValue;
  *access = mapping->access[AccessIndex(device)];
  return Result::kSuccess;
}

bool VirtualMemory::IsOnHost(uint64_t address) const {
  if (host_mappings_ == 0) return false;
  const Mapping* mapping = FindMapping(address);
  return mapping != nullptr && physical_.at(mapping->physical).device == kHost;
}

uint64_t VirtualMemory::BytesOnHost(uint64_t address, uint64_t size) const {
  uint64_t bytes = 0;
  if (host_mappings_ == 0) return bytes;
  const uint64_t end = AddSizes(address, size);
  auto at = mappings_.upper_bound(address);
  if (at != mappings_.begin()) --at;
  for (; at != mappings_.end() && at->first < end; ++at) {
    const Mapping& mapping = at->second;
    if (mapping.address + mapping.size <= address) continue;
    if (physical_.at(mapping.physical).device != kHost) continue;
    bytes += std::min(mapping.address + mapping.size, end) - std::max(mapping.address, address);
  }
  return bytes;
}

const Mapping* VirtualMemory::FindMapping(uint64_t address) const {
  return FindHolding(mappings_, address);
}

const Reservation* VirtualMemory::FindReservation(uint64_t address) const {
  return FindHolding(reservations_, address);
}

uint64_t VirtualMemory::ShowFile(int descriptor, uint64_t offset, uint64_t size) {
  const uint64_t pages = RoundUp(size, kDevicePage);
  const uint64_t address = addresses_.Take(pages, kDevicePage);
  if (address == 0) return 0;
  if (space_->MapDescriptor(address, size, descriptor, offset)) return address;
  addresses_.Add(address, pages);
  return 0;
}

void VirtualMemory::HideFile(uint64_t address, uint64_t size) {
  const uint64_t pages = RoundUp(size, kDevicePage);
  space_->Unmap(address, pages);
  addresses_.Add(address, pages);
}

Result VirtualMemory::Check(uint64_t address, uint64_t size, int device, bool write) const {
  if (!EndsInAddresses(address, size)) return Result::kIllegalAddress;
  const Access needed = write ? Access::kReadWrite : Access::kRead;
  uint64_t at = address;
  while (at < address + size) {
    const Mapping* mapping = FindMapping(at);
    if (mapping == nullptr) return Result::kIllegalAddress;
    const auto have = static_cast<uint8_t>(mapping->access[AccessIndex(device)]);
    if ((have & static_cast<uint8_t>(needed)) != static_cast<uint8_t>(needed)) {
      return Result::kIllegalAddress;
    }
    at = mapping->address + mapping->size;
  }
  return Result::kSuccess;
}

}  // namespace vramstow::simulator
