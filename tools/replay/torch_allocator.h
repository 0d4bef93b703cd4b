// TorchAllocator: models PyTorch's own caching allocator ("native"), with and without expandable
// segments.
//
// Idea: it makes the same decisions in the same order, so that the segments that it allocates and
// releases are those in PyTorch's own history; tests/jobs compares it with real histories, entry by
// entry. In short: blocks of a stream up to 1 MiB come from segments of 2 MiB. Larger blocks up to
// 10 MiB come from segments of 20 MiB, and all others from segments of their own size. The smallest
// free block that is large enough is used; among equal blocks it is the one in the oldest segment,
// and within it the lowest one. The block is split if the rest is large enough; neighbours are
// joined when freed. If no block is large enough, the allocator collects garbage, then asks the
// device, then releases one large block, then releases all free blocks.
//
// Ownership: owns its blocks; the caller owns the device. Threads: used by one thread at a time.
// Errors: Allocate returns false when out of memory. Units: bytes. Sources: PyTorch's documentation
// of the allocator and of PYTORCH_CUDA_ALLOC_CONF, the notes in c10/cuda/CUDACachingAllocator.cpp,
// and observed histories.
#ifndef VRAMSTOW_TOOLS_REPLAY_TORCH_ALLOCATOR_H_
#define VRAMSTOW_TOOLS_REPLAY_TORCH_ALLOCATOR_H_

#include <deque>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "tools/formats/block_rounding.h"
#include "tools/replay/device.h"
#include "tools/replay/model.h"
#include "tools/replay/torch_settings.h"

namespace vramstow {

class TorchAllocator : public AllocatorModel {
 public:
  // `total_bytes` is the size of the device, of which the setting memory_fraction is a part.
  TorchAllocator(ModelDevice* device, const TorchSettings& settings, uint64_t total_bytes);

  bool Allocate(const ModelRequest& request) override;
  void Free(uint32_t block) override;
  void Flush() override { ReleaseCached(); }
  void PoolEnds(uint32_t pool) override;
  uint64_t allocated() const override { return allocated_; }

 private:
  struct Pool;
  // An expandable segment: a range of addresses for all of the device's memory, in which memory is
  // mapped in pages.
  struct Segment {
    uint64_t address = 0;
    uint64_t size = 0;
    uint64_t page = 0;
  };
  struct Block {
    uint64_t address = 0;
    uint64_t size = 0;
    Pool* pool = nullptr;
    Block* prev = nullptr;  // neighbours in the same segment
    Block* next = nullptr;
    const Segment* segment = nullptr;  // of expandable ones
    uint64_t age_base = 0;
    uint64_t birth = 0;  // the number of its segment, in order of allocation
    uint32_t stream = 0;
    bool live = false;
    bool mapped = true;

    bool is_split() const { return prev != nullptr || next != nullptr; }
  };
  // Free blocks that have memory are ordered by stream, size, age of the segment and address. Free
  // blocks without memory are ordered by stream and address.
  struct BySize {
    uint32_t stream;
    uint64_t size;
    uint64_t birth;
    uint64_t address;
    Block* block;
    bool operator<(const BySize& other) const {
      return std::tie(stream, size, birth, address) <
             std::tie(other.stream, other.size, other.birth, other.address);
    }
  };
  struct Pool {
    bool is_small = false;
    uint64_t searches = 0;  // the clock by which blocks age
    std::set<BySize> free;
    std::map<std::pair<uint32_t, uint64_t>, Block*> unmapped;
  };
  struct Pools {
    Pool small;
    Pool large;
    bool ended = false;
  };
  using Position = std::set<BySize>::iterator;

  static BySize KeyOf(Block* block) {
    return {block->stream, block->size, block->birth, block->address, block};
  }
  Pool* PoolFor(uint32_t number, uint64_t size);
  uint64_t SegmentSize(uint64_t size) const;

  // The steps of an allocation. Each returns a block, or null if the next step has to be tried.
  Block* FindFree(Pool* pool, uint64_t size, uint32_t stream);
  Block* NewSegment(Pool* pool, uint64_t size, uint64_t segment_size, uint32_t stream);
  void CollectGarbage(Pool* pool);
  bool ReleaseOneLarge(Pool* pool, uint64_t size, uint32_t stream);
  void ReleaseCached();
  void ReleaseAll(Pool* pool);
  void Release(Block* block);
  Block* Split(Block* block, uint64_t size);

  // Functions for expandable segments, defined in torch_expandable.cc.
  Position BestExpandable(Pool* pool, Position first, uint32_t stream) const;
  Block* NewExpandable(Pool* pool, uint64_t size, uint32_t stream);
  Block* FindRoom(Pool* pool, uint64_t size, uint32_t stream);
  bool MapBlock(Block* block, uint64_t size);
  void UnmapBlock(Block* block);
  void ReleaseSegment(Block* block);

  Block* MakeBlock();
  void DropBlock(Block* block);
  void Insert(Block* block);
  void Splice(Block* block, Block* before, Block* after);
  void TryMerge(Block* into, Block* from);

  ModelDevice* device_;
  const TorchSettings settings_;
  const BlockRounding rounding_;
  const uint64_t total_bytes_;
  const uint64_t limit_bytes_;  // the limit of reserved memory; 0 if there is none
  std::map<uint32_t, Pools> pools_;
  std::deque<Block> blocks_;
  std::vector<Block*> spare_;
  std::deque<Segment> segments_;
  std::vector<Block*> live_;  // by the request's number
  uint64_t segments_taken_ = 0;
  uint64_t allocated_ = 0;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_REPLAY_TORCH_ALLOCATOR_H_
