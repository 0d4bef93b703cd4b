// Offload policies: which pages leave first when the device is full.
//
// Idea: what is known of a page is when it was last touched, how long it was between the touches
// before, and how large the block is that lies there. A policy makes one number of that; the pages
// with the smallest leave. No policy can make a result wrong: what has left is read over the link.
//
// - coldest: what was not touched for longest (least recently used). A loop that goes through all
//   of its memory in turn gets the worst of it: the coldest page is the one that is needed next.
// - size: age times size: of pages that are about as cold those of large blocks leave, so that
//   fewer blocks are hit.
// - next-use: what is expected to be touched latest. In a loop the touches of a page repeat, so
//   after a gap comes what came the last time after a gap like this one. (The offline optimum,
//   Belady's, replaces what is used furthest in the future: IBM Systems Journal 5(2), 1966.)
//
// Ownership: values. Threads: pure functions. Errors: none. Units: clock: sixteen submissions of
// work; bytes.
#ifndef VRAMSTOW_ALLOCATOR_OFFLOAD_POLICY_H_
#define VRAMSTOW_ALLOCATOR_OFFLOAD_POLICY_H_

#include <cstdint>

#include "base/options.h"

namespace vramstow {

// Facts about a page from which a policy chooses.
struct PageUse {
  uint64_t block_address;  // of the block that was touched last, of those on the page
  uint64_t block_bytes;
  uint64_t block_id;  // grows from allocation to allocation of a heap
  uint64_t gaps;      // AddressSpace::Touches::gaps of that block
  uint32_t touched;   // by the clock; 0: never
  uint32_t now;
  uint32_t born = 0;     // by the clock; 0: nobody watched then
  uint32_t exposed = 0;  // when somebody last got its address to keep; 0: never
};

struct OffloadPolicy {
  uint64_t (*rank)(const void* self, const PageUse& use);
  const void* self = nullptr;  // of the function's
};

uint64_t RankColdest(const void* self, const PageUse& use);
uint64_t RankSizeWeighted(const void* self, const PageUse& use);
uint64_t RankNextUse(const void* self, const PageUse& use);

// When the page is expected to be touched next, later than `use.now`; by the clock.
uint64_t ExpectedTouch(const PageUse& use);

OffloadPolicy MakeOffloadPolicy(OffloadChoice choice);

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_OFFLOAD_POLICY_H_
