// CustomAllocatorSegments: finds driver memory in which a framework's blocks lie, so that no byte
// is counted twice.
//
// Idea: a program may give PyTorch memory by an allocator of its own (MemPool, vLLM's sleep mode,
// torch_memory_saver, NCCL's pools). The call of the driver looks like any other, but the next
// tensor of the same thread lies in that memory. From then on the memory counts as reserved, as a
// segment of PyTorch's own allocator does. The addresses of such memory are remembered. An
// allocator may replace the memory there by new memory; the tensors are then not allocated anew,
// and lie in the new memory.
//
// Ownership: keeps copies; the accounts and the memory outlive it. Threads: used by one thread at a
// time. Errors: none. Units: bytes, addresses. Memory: the newest kMaxCandidates candidates, and
// one entry for each range in which blocks lay. Cost: one comparison for a tensor, unless the
// driver gave memory since the last tensor.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_CUSTOM_ALLOCATOR_SEGMENTS_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_CUSTOM_ALLOCATOR_SEGMENTS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "tools/analysis/accounts/accounts.h"
#include "tools/analysis/accounts/driver_memory.h"

namespace vramstow {

class CustomAllocatorSegments {
 public:
  CustomAllocatorSegments(Accounts* accounts, DriverMemory* memory)
      : accounts_(*accounts), memory_(*memory) {}

  // Notes a live block that the driver allocated. Only device memory that belongs to no pool is
  // considered.
  void NoteBlock(const Event& event, const LiveBlock& block);
  // Notes that memory was mapped. `memory` is its number in PhysicalMemory.
  void NoteMapping(const Event& event, uint64_t memory);
  // Records that a framework allocates a block of device memory, and examines whether it lies in
  // memory noted before.
  void NoteTensor(const Event& event) {
    if (!candidates_.empty()) Look(event);
  }

 private:
  static constexpr size_t kMaxCandidates = 256;

  struct Candidate {
    uint64_t address = 0;
    uint64_t size = 0;
    // The mapped memory; kUnknownMemory for a block with an address.
    uint64_t memory = kUnknownMemory;
    uint32_t thread = 0;
  };

  void Add(const Candidate& candidate);
  void Look(const Event& tensor);
  void Mark(const Candidate& candidate);

  Accounts& accounts_;
  DriverMemory& memory_;
  std::vector<Candidate> candidates_;                 // since the last tensor of their threads
  absl::flat_hash_map<uint64_t, uint64_t> has_held_;  // mappings: address → size
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_CUSTOM_ALLOCATOR_SEGMENTS_H_
