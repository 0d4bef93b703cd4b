// MeshBound: computes how few chunks could hold the live blocks if pages could share chunks.
//
// Idea: two pages whose live blocks do not overlap, each counted from the start of its page, can be
// mapped to one chunk (Powers et al., "Mesh", PLDI 2019). In a chunk, each unit of 512 bytes is
// then used by at most one page. So the unit that most pages use is a lower bound for every scheme
// that leaves blocks at their addresses. Combining pages greedily, the fullest first, shows what
// pairs and larger groups can reach.
//
// Ownership: copies. Threads: one. Errors: none. Units: pages of one chunk each, and bytes.
#ifndef VRAMSTOW_BENCH_MESH_BOUND_H_
#define VRAMSTOW_BENCH_MESH_BOUND_H_

#include <cstdint>
#include <map>

namespace vramstow {

struct MeshCounts {
  uint64_t pages = 0;   // pages that live blocks touch
  uint64_t pairs = 0;   // chunks for them, if two pages may share one
  uint64_t groups = 0;  // if six pages may, the pool's limit of mappings of a chunk
  uint64_t least = 0;   // no scheme needs fewer
};

class MeshBound {
 public:
  explicit MeshBound(uint64_t page_bytes) : page_bytes_(page_bytes) {}

  // These functions add and remove a live block.
  void Add(uint64_t address, uint64_t size) { live_[address] = size; }
  void Remove(uint64_t address) { live_.erase(address); }
  MeshCounts Look() const;

 private:
  uint64_t page_bytes_;
  std::map<uint64_t, uint64_t> live_;  // address: size
};

}  // namespace vramstow

#endif  // VRAMSTOW_BENCH_MESH_BOUND_H_
