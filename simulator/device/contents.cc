#include "simulator/device/contents.h"

#include <string.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/rounding.h"
#include "simulator/device/sizes.h"

namespace vramstow::simulator {
namespace {

constexpr uint64_t kSparseMin =
    64 * 1024;  // below this size, a search for holes costs more than it saves

char* HostPointer(uint64_t address) {
  return reinterpret_cast<char*>(static_cast<uintptr_t>(address));
}

}  // namespace

Contents::Contents(AddressSpace* space, Memory* memory, VirtualMemory* virtual_memory, bool keep,
                   uint64_t most)
    : space_(space),
      memory_(memory),
      virtual_(virtual_memory),
      keep_(keep),
      most_(most),
      left_out_("a copy beyond contents=" + (most >= kLarge ? std::to_string(most >> 20) + "MiB"
                                                            : std::to_string(most >> 10) + "KiB")) {
}

Result Contents::Check(uint64_t address, uint64_t size, int device, bool write,
                       bool peer_ok) const {
  if (!EndsInAddresses(address, size)) return Result::kIllegalAddress;
  if (!IsDevice(address) || size == 0) return Result::kSuccess;
  const Block* block = memory_->FindAround(address);
  // Pages of a pool stay usable for work that was submitted before a block in them was freed.
  if (block != nullptr && block->kind != BlockKind::kPool) {
    const bool inside = size <= block->size - (address - block->address);
    if (!inside) return Result::kIllegalAddress;
    if (write && block->read_only) return Result::kIllegalAddress;
    return block->device == device || peer_ok ? Result::kSuccess : Result::kIllegalAddress;
  }
  if (memory_->PoolDevice(address, size) != kHost) return Result::kSuccess;
  return virtual_->Check(address, size, device, write);
}

bool Contents::Locate(uint64_t address, uint64_t size, Extent* extent) const {
  const Block* block = memory_->FindAround(address);
  if (block != nullptr && block->kind == BlockKind::kImported) {
    extent->file = block->file;
    extent->offset = block->file_offset + (address - block->address);
    extent->size = size;
    return true;
  }
  const int plain = block != nullptr ? block->device : memory_->PoolDevice(address, 1);
  if (plain != kHost) {
    extent->file = space_->descriptor(plain);
    extent->offset = address - space_->plain_base(plain);
    extent->size = size;
    return true;
  }
  const Mapping* mapping = virtual_->FindMapping(address);
  if (mapping == nullptr) return false;
  const Physical* physical = virtual_->Find(mapping->physical);
  const uint64_t inside = address - mapping->address;
  const int own = physical->device == kHost ? space_->host_file() : physical->device;
  extent->file = physical->file >= 0 ? physical->file : space_->descriptor(own);
  extent->offset = physical->offset + inside;
  extent->size = std::min(size, mapping->size - inside);
  return true;
}

void Contents::Touch(uint64_t address) {
  if (Block* block = memory_->FindAround(address)) block->touched = true;
}

bool Contents::IsUntouched(uint64_t address) const {
  const Block* block = memory_->FindAround(address);
  return block != nullptr && !block->touched && block->size > kSmallMax;
}

uint64_t Contents::CountUnwritten(uint64_t address, uint64_t size) {
  if (IsUntouched(address)) return size;
  uint64_t unwritten = 0;
  for (uint64_t done = 0; done < size;) {
    Extent extent;
    if (!Locate(address + done, size - done, &extent)) break;
    const uint64_t end = extent.offset + extent.size;
    for (uint64_t at = extent.offset; at < end;) {
      uint64_t start = end;
      uint64_t stop = end;
      if (!NextWritten(extent.file, at, end, &start, &stop)) start = stop = end;
      unwritten += start - at;
      at = std::max(stop, at + 1);
    }
    done += extent.size;
  }
  return unwritten;
}

bool Contents::HasRoom(std::span<const Piece> pieces, uint64_t most) {
  const uint64_t held = space_->HeldBytes() + staged_;
  const uint64_t room = most - std::min(most, held);
  uint64_t written = 0;
  for (const Piece& piece : pieces) written += piece.size;
  if (written <= room) return true;
  uint64_t added = 0;
  for (const Piece& piece : pieces) added += CountUnwritten(piece.address, piece.size);
  return added <= room;
}

bool Contents::LeavesOut(uint64_t to, uint64_t from, uint64_t size) {
  if (!keep_ || size <= kLarge || !IsDevice(to) || IsDevice(from) || !KeepsMarks(to)) return false;
  std::vector<Piece> pieces;
  for (const HostRun& run : RunsOf(from, size)) {
    if (run.is_written) pieces.push_back({to + run.offset, run.size});
  }
  return !HasRoom(pieces, most_ / 2);
}

HostOwner Contents::OwnerOf(uint64_t address, uint64_t size) const {
  const Block* block = memory_->FindAround(address);
  const bool is_driver =
      block != nullptr &&
      (block->kind == BlockKind::kHostPinned || block->kind == BlockKind::kManaged) &&
      size <= block->size - (address - block->address);
  return is_driver ? HostOwner::kDriver : HostOwner::kProgram;
}

// True if some pages of host memory may be unwritten. A query of the kernel costs more than a small
// copy, so it is made only if the memory begins and ends with zeros.
bool Contents::MayHaveHoles(uint64_t host, uint64_t size) const {
  if (OwnerOf(host, size) != HostOwner::kDriver) return false;
  if (on_host_.Find(host, size) != nullptr) return true;
  constexpr uint64_t kSample = 64;
  return size >= kSparseMin && IsZero(HostPointer(host), kSample) &&
         IsZero(HostPointer(host + size - kSample), kSample);
}

void Contents::GiveBackZeros(uint64_t host, uint64_t size) {
  if (size <= kLarge || !MayHaveHoles(host, size)) return;
  for (const HostRun& run : FindHostRuns(HostPointer(host), size)) {
    char* const bytes = HostPointer(host + run.offset);
    if (!run.is_written || !IsZero(bytes, run.size)) continue;
    on_host_.Clear(host + run.offset, run.size);
    ZeroHost(bytes, run.size, HostOwner::kDriver);
  }
}

std::vector<HostRun> Contents::RunsOf(uint64_t host, uint64_t size) const {
  if (!MayHaveHoles(host, size)) return {{0, size, true}};
  return FindHostRuns(HostPointer(host), size);
}

// True if the marks (which record the bytes that were not computed) are reliable at this address.
// Marks are stored by address. So they are not reliable for memory that may be mapped at another
// address, or for memory of other processes.
bool Contents::KeepsMarks(uint64_t address) const {
  const Block* block = memory_->FindAround(address);
  if (block != nullptr) return block->kind != BlockKind::kImported;
  return memory_->PoolDevice(address, 1) != kHost;
}

void Contents::LeaveOut(uint64_t to, uint64_t size) {
  Zero(space_->Shadow(to), size, true, to);
  uncomputed_.Mark(to, size, left_out_.c_str());
}

void Contents::Zero(char* to, uint64_t size, bool to_device, uint64_t to_address) {
  if (to_device && IsUntouched(to_address)) return;
  if (!to_device) return ZeroHost(to, size, OwnerOf(to_address, size));
  if (size < kSparseMin) {
    memset(to, 0, size);
    return;
  }
  const uint64_t start = RoundUp(to_address, kSmallPage);
  const uint64_t stop = (to_address + size) & ~(kSmallPage - 1);
  memset(to, 0, start - to_address);
  space_->Punch(start, stop - start);
  memset(to + (stop - to_address), 0, to_address + size - stop);
}

// The kernel searches for the end of a run of written bytes page by page, even far behind `end`. So
// the run that the kernel found is cached. If a hole was made in the run since then, the hole is
// copied as zeros, which it contains.
bool Contents::NextWritten(int file, uint64_t offset, uint64_t end, uint64_t* start,
                           uint64_t* stop) {
  if (written_.file != file || written_.punches != space_->punches() || offset < written_.start ||
      offset >= written_.stop) {
    written_ = {file, 0, 0, space_->punches()};
    if (!AddressSpace::NextWritten(file, offset, &written_.start, &written_.stop)) return false;
  }
  *start = std::max(written_.start, offset);
  *stop = std::min(written_.stop, end);
  return *start < end;
}

void Contents::CopyFromDevice(char* to, uint64_t from, uint64_t size, bool to_device,
                              uint64_t to_address) {
  if (IsUntouched(from)) {
    Zero(to, size, to_device, to_address);
    return;
  }
  uint64_t done = 0;
  while (done < size) {
    Extent extent;
    if (!Locate(from + done, size - done, &extent)) return;
    const uint64_t end = extent.offset + extent.size;
    uint64_t at = extent.offset;
    while (at < end) {
      uint64_t start = end;
      uint64_t stop = end;
      if (!NextWritten(extent.file, at, end, &start, &stop)) start = stop = end;
      if (start > at) {
        const uint64_t gap = done + (at - extent.offset);
        Zero(to + gap, start - at, to_device, to_address + gap);
      }
      if (stop > start) {
        const uint64_t run = done + (start - extent.offset);
        memcpy(to + run, space_->Shadow(from + run), stop - start);
        if (to_device) Touch(to_address);
      }
      at = std::max(stop, at + 1);
    }
    done += extent.size;
  }
}

void Contents::CopyMarks(uint64_t to, uint64_t from, uint64_t size) {
  if (!IsDevice(to)) on_host_.Clear(to, size);
  if (uncomputed_.empty()) return;
  if (!IsDevice(from)) {
    uncomputed_.Clear(to, size);
  } else if (IsDevice(to)) {
    uncomputed_.Copy(to, from, size);
    NoteMove(to, from, size);
  } else if (const char* by = uncomputed_.Find(from, size)) {
    uncomputed_.NoteRead(by);
    if (OwnerOf(to, size) == HostOwner::kDriver) on_host_.CopyOf(uncomputed_, to, from, size);
  }
}

void Contents::NoteMove(uint64_t to, uint64_t from, uint64_t size) {
  if (size < kDevicePage) return;
  const Physical* source = virtual_->FindMapped(from);
  if (source == nullptr || source->device != kHost) return;
  Physical* target = virtual_->FindMapped(to);
  if (target != nullptr) target->came_from_host = true;
}

void Contents::BeginMapping(uint64_t address, uint64_t size) {
  uncomputed_.Clear(address, size);
  Physical* physical = virtual_->FindMapped(address);
  if (physical == nullptr) return;
  if (physical->uncomputed != nullptr) {
    uncomputed_.CopyOf(*physical->uncomputed, address, 0, size);
  }
  physical->uncomputed.reset();
  physical->came_from_host = false;
}

void Contents::EndMapping(uint64_t address, uint64_t size) {
  if (uncomputed_.empty()) return;
  for (uint64_t at = address; at < address + size;) {
    const Mapping* mapping = virtual_->FindMapping(at);
    if (mapping == nullptr) return;
    at = mapping->address + mapping->size;
    Physical* physical = virtual_->Find(mapping->physical);
    // Memory that has a file of its own is skipped, because other processes may write to it.
    if (physical->file >= 0) continue;
    if (physical->device != kHost && !physical->came_from_host) continue;
    auto marks = std::make_shared<UncomputedRanges>();
    marks->CopyOf(uncomputed_, 0, mapping->address, mapping->size);
    physical->uncomputed = std::move(marks);
  }
}

// The caller has checked that `to` is on a device and `from` is in memory that the driver
// allocated.
void Contents::CopyFromHost(uint64_t to, uint64_t from, uint64_t size) {
  for (const HostRun& run : RunsOf(from, size)) {
    const uint64_t target = to + run.offset;
    const uint64_t source = from + run.offset;
    if (run.is_written) {
      on_host_.Clear(source, run.size);
      Touch(target);
      memcpy(space_->Shadow(target), HostPointer(source), run.size);
    } else {
      Zero(space_->Shadow(target), run.size, true, target);
    }
    uncomputed_.CopyOf(on_host_, target, source, run.size);
  }
}

void Contents::Copy(uint64_t to, uint64_t from, uint64_t size) {
  const bool to_device = IsDevice(to);
  const bool from_device = IsDevice(from);
  if (size == 0) return;
  CopyMarks(to, from, size);
  if (!keep_) {
    if (to_device) return;
    if (from_device) return ZeroHost(HostPointer(to), size, OwnerOf(to, size));
  }
  if (to_device && !from_device && MayHaveHoles(from, size)) return CopyFromHost(to, from, size);
  // An unwritten host page keeps its mark, which says that its bytes were not computed. So zeros
  // are not written to such a page, because it reads as zeros anyway.
  if (!to_device && on_host_.Find(to, size) != nullptr && size < kSparseMin &&
      IsZero(space_->Shadow(from), size)) {
    return ZeroHost(HostPointer(to), size, HostOwner::kDriver);
  }
  char* destination = to_device ? space_->Shadow(to) : HostPointer(to);
  const bool overlap = to < from + size && from < to + size;
  if (from_device && size >= kSparseMin && !overlap) {
    CopyFromDevice(destination, from, size, to_device, to);
    return;
  }
  if (to_device) Touch(to);
  memmove(destination, from_device ? space_->Shadow(from) : HostPointer(from), size);
}

void Contents::Fill(uint64_t to, uint32_t value, int width, uint64_t count) {
  const bool to_device = IsDevice(to);
  const uint64_t size = count * width;
  if (size == 0 || (to_device && !keep_)) return;
  (to_device ? uncomputed_ : on_host_).Clear(to, size);
  char* bytes = to_device ? space_->Shadow(to) : HostPointer(to);
  if (value == 0) {
    Zero(bytes, size, to_device, to);
    return;
  }
  if (to_device) Touch(to);
  if (width == 1) {
    memset(bytes, static_cast<int>(value), size);
    return;
  }
  for (uint64_t i = 0; i < count; ++i) memcpy(bytes + i * width, &value, width);
}

void* Contents::Translate(uint64_t address, uint64_t size, bool write) {
  if (!IsDevice(address)) return HostPointer(address);
  if (!EndsInAddresses(address, size)) return nullptr;
  const Block* block = memory_->FindAround(address);
  if (block != nullptr && block->kind != BlockKind::kPool) {
    if (size > block->size - (address - block->address)) return nullptr;
  } else if (memory_->PoolDevice(address, size) == kHost) {
    for (uint64_t at = address; at < address + std::max<uint64_t>(size, 1);) {
      const Mapping* mapping = virtual_->FindMapping(at);
      if (mapping == nullptr) return nullptr;
      at = mapping->address + mapping->size;
    }
  }
  if (write) Touch(address);
  return space_->Shadow(address);
}

}  // namespace vramstow::simulator
