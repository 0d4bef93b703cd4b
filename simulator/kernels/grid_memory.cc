#include "simulator/kernels/grid_memory.h"

#include <sys/mman.h>

#include <algorithm>

#include "simulator/driver/host_budget.h"
#include "simulator/driver/host_memory.h"

namespace vramstow::simulator {
namespace {

// The sizes of the window around an address that are tried in this order. Small blocks share a page
// in units of 512 bytes.
constexpr uint64_t kWindows[] = {1ull << 20, 64ull << 10, 4ull << 10, kSmallUnit};
constexpr size_t kWrittenMax = 1u << 16;

}  // namespace

ptx::Memory::Window GridMemory::Find(uint64_t address, uint64_t bytes, bool write) {
  Contents& contents = state_->machine->contents;
  if (address + bytes < address) return {};
  if (!contents.IsDevice(address)) return FindHost(address, bytes);
  const bool peers = !context_->peers.empty();
  Window window = {address, bytes, nullptr};
  for (const uint64_t size : kWindows) {
    const uint64_t start = address & ~(size - 1);
    if (address + bytes > start + size || !contents.IsDevice(start)) continue;
    if (contents.Check(start, size, context_->device, write, peers) != Result::kSuccess) continue;
    window = {start, size, nullptr};
    break;
  }
  if (contents.Check(window.address, window.bytes, context_->device, write, peers) !=
      Result::kSuccess) {
    return {};
  }
  const Contents::Piece piece = {window.address, window.bytes};
  if (write && !HostBudget::Global().Allows(*state_, {&piece, 1}, window.bytes)) {
    Refuse();
    return {};
  }
  window.host = static_cast<char*>(contents.Translate(window.address, window.bytes, write));
  return window;
}

// A kernel may access host memory if the driver pinned or registered it. A GPU that reaches all
// host memory (pageable) may also access any mapped page; a write to a read-only page then faults
// on the host.
ptx::Memory::Window GridMemory::FindHost(uint64_t address, uint64_t bytes) const {
  const Block* block = state_->machine->memory.FindAround(address);
  if (!IsPinned(block) || bytes > block->size - (address - block->address)) {
    return state_->machine->spec().pageable ? FindPageable(address, bytes) : Window();
  }
  return {block->address, block->size,
          reinterpret_cast<char*>(static_cast<uintptr_t>(block->address))};
}

ptx::Memory::Window GridMemory::FindPageable(uint64_t address, uint64_t bytes) {
  constexpr uint64_t kPage = 4096;
  const uint64_t start = address & ~(kPage - 1);
  unsigned char resident[2];
  if (address + bytes > start + sizeof(resident) * kPage) return {};
  char* const host = reinterpret_cast<char*>(static_cast<uintptr_t>(start));
  if (mincore(host, address + bytes - start, resident) != 0) return {};
  return {address, bytes, host + (address - start)};
}

void GridMemory::Note(uint64_t address, uint64_t bytes, bool write) {
  if (!write) {
    const UncomputedRanges& uncomputed = state_->machine->contents.uncomputed();
    if (origin_ == nullptr && !uncomputed.empty()) origin_ = uncomputed.Find(address, bytes);
    return;
  }
  if (!written_.empty() && written_.back().second == address) {
    written_.back().second += bytes;
    return;
  }
  if (!written_.empty() && address >= written_.back().first &&
      address + bytes <= written_.back().second) {
    return;
  }
  if (written_.size() >= kWrittenMax) Join();
  written_.emplace_back(address, address + bytes);
}

// Merges adjacent ranges. If many ranges remain, also merges ranges with gaps between them: first
// with gaps of up to a page, then with larger ones.
void GridMemory::Join() {
  std::sort(written_.begin(), written_.end());
  for (uint64_t gap = 0; written_.size() > kWrittenMax / 2; gap = gap == 0 ? 4096 : gap * 16) {
    size_t kept = 0;
    for (size_t k = 1; k < written_.size(); ++k) {
      if (written_[k].first <= written_[kept].second + gap) {
        written_[kept].second = std::max(written_[kept].second, written_[k].second);
      } else {
        written_[++kept] = written_[k];
      }
    }
    written_.resize(kept + 1);
  }
}

void GridMemory::Conclude(const char* by) {
  UncomputedRanges& uncomputed = state_->machine->contents.uncomputed();
  if (by == nullptr && uncomputed.empty()) return;
  Join();
  for (const auto& [start, end] : written_) {
    if (by == nullptr) {
      uncomputed.Clear(start, end - start);
    } else {
      uncomputed.Mark(start, end - start, by);
    }
  }
}

}  // namespace vramstow::simulator
