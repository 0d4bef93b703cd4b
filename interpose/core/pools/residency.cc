#include "interpose/core/pools/residency.h"

#include "interpose/core/core.h"
#include "interpose/core/pools/pool_trace.h"
#include "interpose/core/runtime/keep_errno.h"

#define VRAMSTOW_IMPLEMENTATION
#include "include/vramstow/vramstow.h"

namespace vramstow {
namespace {

int CodeOf(OffloadResult result) {
  switch (result) {
    case OffloadResult::kDone:
      return VRAMSTOW_OK;
    case OffloadResult::kNoRoom:
      return VRAMSTOW_OUT_OF_MEMORY;
    case OffloadResult::kBusy:
      return VRAMSTOW_BUSY;
    case OffloadResult::kNotThere:
      return VRAMSTOW_NOT_SUPPORTED;
    case OffloadResult::kFailed:
      break;
  }
  return VRAMSTOW_FAILED;
}

// Calls ask(offloader) for every open pool that has one; it gives a code.
template <typename Ask>
int AskAll(Ask ask) {
  Pools& pools = TheCore().pools;
  if (!TheCore().offloading.wanted()) return VRAMSTOW_NOT_ACTIVE;
  const KeepErrno keep_errno;
  const PoolCall call;
  int code = VRAMSTOW_NOT_ACTIVE;
  for (int i = 0; i < pools.count(); ++i) {
    const Pools::Use use = pools.At(i);
    if (!use || use.offloader() == nullptr) continue;
    const int said = ask(use.offloader());
    if (code == VRAMSTOW_NOT_ACTIVE || code == VRAMSTOW_OK) code = said;
  }
  return code;
}

// The tag of a region; null is everything. False: there is no such region.
bool FindTag(const char* region, uint32_t* tag) {
  *tag = region == nullptr ? Offloader::kAnyTag : TheCore().regions.TagOf(region);
  return *tag != 0;
}

template <typename Move>
int AskForRegion(const char* region, uint64_t* bytes, Move move) {
  uint32_t tag = 0;
  *bytes = 0;
  if (!FindTag(region, &tag)) return VRAMSTOW_INVALID;
  return AskAll([&](Offloader* offloader) {
    uint64_t moved = 0;
    const OffloadResult result = move(offloader, tag, &moved);
    *bytes += moved;
    return CodeOf(result);
  });
}

}  // namespace

int PushRegion(const char* name) { return TheCore().regions.Push(name); }
int PopRegion() { return TheCore().regions.Pop(); }

int Offload(const char* region, uint64_t* bytes) {
  return AskForRegion(region, bytes, [](Offloader* offloader, uint32_t tag, uint64_t* moved) {
    return offloader->Offload(tag, moved);
  });
}

int Resume(const char* region, uint64_t* bytes) {
  return AskForRegion(region, bytes, [](Offloader* offloader, uint32_t tag, uint64_t* moved) {
    return offloader->Resume(tag, ~uint64_t{0}, moved);
  });
}

int OffloadRegion(const char* region) {
  uint64_t bytes = 0;
  return Offload(region, &bytes);
}

int ResumeRegion(const char* region) {
  uint64_t bytes = 0;
  return Resume(region, &bytes);
}

// Not for everything: what is allocated meanwhile needs a place.
int PauseRegion(const char* region, int contents) {
  const bool keep = contents == VRAMSTOW_KEEP;
  if (region == nullptr || (!keep && contents != VRAMSTOW_DISCARD)) return VRAMSTOW_INVALID;
  uint64_t bytes = 0;
  return AskForRegion(region, &bytes, [keep](Offloader* offloader, uint32_t tag, uint64_t* moved) {
    return offloader->Pause(tag, keep, moved);
  });
}

int OffloadIdle(uint64_t most_bytes, uint64_t mark, uint64_t* bytes) {
  *bytes = 0;
  return AskAll([&](Offloader* offloader) {
    uint64_t moved = 0;
    const auto before = mark < ~uint32_t{0} ? static_cast<uint32_t>(mark) : ~uint32_t{0};
    const OffloadResult result = offloader->OffloadIdle(most_bytes - *bytes, before, &moved);
    *bytes += moved < most_bytes - *bytes ? moved : most_bytes - *bytes;
    return CodeOf(result);
  });
}

int MarkIdle(uint64_t watch_ns, uint64_t* mark) {
  *mark = ~uint64_t{0};
  return AskAll([&](Offloader* offloader) {
    // The earliest: what it takes for idle is idle.
    const uint64_t made = offloader->Mark(watch_ns);
    if (made < *mark) *mark = made;
    return VRAMSTOW_OK;
  });
}

}  // namespace vramstow
