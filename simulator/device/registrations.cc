#include "simulator/device/registrations.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "simulator/device/sizes.h"

namespace vramstow::simulator {
namespace {

// Returns the inode of the pipe that a descriptor is an end of, or 0 if it is not a pipe.
uint64_t PipeOf(int descriptor) {
  struct stat state;
  if (fstat(descriptor, &state) != 0 || !S_ISFIFO(state.st_mode)) return 0;
  return state.st_ino;
}

}  // namespace

Result Registrations::FindPieces(uint64_t address, uint64_t size, std::vector<Piece>* pieces) {
  const Block* block = memory_->FindAround(address);
  if (block != nullptr) {
    const uint64_t offset = address - block->address;
    const bool plain = block->kind == BlockKind::kDevice || block->kind == BlockKind::kPitched;
    if (!plain || size > block->size - offset) return Result::kInvalidValue;
    pieces->push_back({0, block->address, block->id, offset, size});
    return Result::kSuccess;
  }
  if (!EndsInAddresses(address, size)) return Result::kInvalidValue;
  for (uint64_t at = address; at < address + size;) {
    const Mapping* mapping = virtual_->FindMapping(at);
    if (mapping == nullptr) return Result::kInvalidValue;
    const Physical* physical = virtual_->Find(mapping->physical);
    if (physical->device == kHost || !physical->rdma) return Result::kNotSupported;
    const uint64_t offset = at - mapping->address;
    const uint64_t bytes = std::min(mapping->size - offset, address + size - at);
    pieces->push_back({mapping->physical, 0, 0, offset, bytes});
    at += bytes;
  }
  return Result::kSuccess;
}

Result Registrations::Add(uint64_t address, uint64_t size, int* descriptor) {
  Sweep();
  Entry entry;
  const Result found = FindPieces(address, size, &entry.pieces);
  if (found != Result::kSuccess) return found;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return Result::kOutOfMemory;
  entry.other_end = ends[1];
  for (const Piece& piece : entry.pieces) {
    if (piece.handle != 0) virtual_->Keep(piece.handle);
  }
  entries_[PipeOf(ends[0])] = std::move(entry);
  *descriptor = ends[0];
  return Result::kSuccess;
}

void Registrations::Sweep() {
  for (auto at = entries_.begin(); at != entries_.end();) {
    pollfd end = {at->second.other_end, 0, 0};
    if (poll(&end, 1, 0) != 1 || (end.revents & POLLERR) == 0) {
      ++at;
      continue;
    }
    for (const Piece& piece : at->second.pieces) {
      if (piece.handle != 0) virtual_->LetGo(piece.handle);
    }
    close(at->second.other_end);
    at = entries_.erase(at);
  }
}

const Registrations::Entry* Registrations::Find(int descriptor) const {
  const auto found = entries_.find(PipeOf(descriptor));
  return found == entries_.end() ? nullptr : &found->second;
}

bool Registrations::Locate(const Piece& piece, FilePosition* place) {
  if (piece.handle == 0) {
    Block* block = memory_->FindExact(piece.address);
    if (block == nullptr || block->id != piece.id) return false;
    block->touched = true;
    *place = {space_->descriptor(block->device),
              block->address - space_->plain_base(block->device) + piece.offset};
    return true;
  }
  const Physical* physical = virtual_->Find(piece.handle);
  const int common = space_->descriptor(physical->device);
  *place = {physical->file >= 0 ? physical->file : common, physical->offset + piece.offset};
  return true;
}

// Calls move(position, bytes done before, bytes) for each piece of the requested range.
template <typename Move>
Result Registrations::Access(int descriptor, uint64_t offset, uint64_t size, Move move) {
  const Entry* entry = Find(descriptor);
  if (entry == nullptr) return Result::kIllegalAddress;
  uint64_t done = 0;
  for (const Piece& piece : entry->pieces) {
    if (done == size) break;
    if (offset >= piece.size) {
      offset -= piece.size;
      continue;
    }
    FilePosition place = {};
    if (!Locate(piece, &place)) return Result::kIllegalAddress;
    place.offset += offset;
    const uint64_t bytes = std::min(piece.size - offset, size - done);
    if (!move(place, done, bytes)) return Result::kIllegalAddress;
    done += bytes;
    offset = 0;
  }
  return done == size ? Result::kSuccess : Result::kIllegalAddress;
}

Result Registrations::Read(int descriptor, uint64_t offset, char* bytes, uint64_t size) {
  return Access(descriptor, offset, size,
                [&](const FilePosition& place, uint64_t done, uint64_t count) {
                  return pread(place.file, bytes + done, count, static_cast<off_t>(place.offset)) ==
                         static_cast<ssize_t>(count);
                });
}

Result Registrations::Write(int descriptor, uint64_t offset, const char* bytes, uint64_t size) {
  return Access(
      descriptor, offset, size, [&](const FilePosition& place, uint64_t done, uint64_t count) {
        return pwrite(place.file, bytes + done, count, static_cast<off_t>(place.offset)) ==
               static_cast<ssize_t>(count);
      });
}

}  // namespace vramstow::simulator
