// Offload policies: rules that choose which pages leave first when the device is full.
//
// Idea: three facts about a page are known: the time of its last touch, the intervals between its
// earlier touches, and the size of its block. A policy computes a rank from them; the pages with
// the smallest rank leave. No policy can make a result wrong: memory on the host is read over PCIe
// or NVLink.
//
// - coldest: the page that was not touched for the longest time (least recently used). For a loop
//   that goes through all of its memory in turn this is the worst choice: the coldest page is the
//   one that is needed next.
//
// - size: age times size. Of pages of about the same age, pages of large blocks leave, so that
//   fewer blocks are affected.
//
// - next-use: the page whose next touch is expected latest. In a loop the touches of a page repeat,
//   so an interval is expected to be followed by the one that followed it last time. (The offline
//   optimum, Belady's, replaces the page that is used furthest in the future: IBM Systems Journal
//   5(2), 1966.)
//
// Ownership: values. Threads: pure functions. Errors: none. Units: bytes; the clock counts sixteen
// submissions of work as one.
#ifndef VRAMSTOW_ALLOCATOR_OFFLOAD_POLICY_H_
#define VRAMSTOW_ALLOCATOR_OFFLOAD_POLICY_H_

#include <cstdint>

#include "base/options.h"

namespace vramstow {

// The facts from which a policy computes the rank of a page.
struct PageUse {
  uint64_t block_address;  // of the page's block that was touched last
  uint64_t block_bytes;
  uint64_t block_id;  // grows from allocation to allocation of a heap
  uint64_t gaps;      // AddressSpace::Touches::gaps of that block
  uint32_t touched;   // by the clock of touches; 0 means never
  uint32_t now;
  uint32_t born = 0;     // by the clock of touches; 0 if not observed
  uint32_t exposed = 0;  // when its address was last stored; 0 means never
  uint32_t uses = 0;     // AddressSpace::Touches::uses of the page with most of them
};

struct OffloadPolicy {
  uint64_t (*rank)(const void* self, const PageUse& use);
  const void* self = nullptr;  // argument of the function
};

uint64_t RankColdest(const void* self, const PageUse& use);
inline constexpr OffloadPolicy kColdest = {RankColdest};
uint64_t RankSizeWeighted(const void* self, const PageUse& use);
uint64_t RankNextUse(const void* self, const PageUse& use);

// The number of uses: the pages with the largest rank are used most often.
uint64_t RankUses(const void* self, const PageUse& use);

// Returns the number of the clock at which the next touch of the page is expected. It is later than
// `use.now`.
uint64_t ExpectedTouch(const PageUse& use);

OffloadPolicy MakeOffloadPolicy(OffloadChoice choice);

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_OFFLOAD_POLICY_H_
