#include "interpose/core/pools/residency.h"

#include "allocator/core/host_memory.h"
#include "base/keep_errno.h"
#include "base/units.h"
#include "interpose/core/pools/offloaders.h"
#include "interpose/core/pools/open_collectives.h"
#include "interpose/core/pools/pool_trace.h"
#include "interpose/core/pools/pools.h"
#include "interpose/core/pools/regions.h"
#include "interpose/core/runtime/log.h"
#include "interpose/core/runtime/process.h"
#include "interpose/core/runtime/settings.h"

#define VRAMSTOW_IMPLEMENTATION
#include "include/vramstow/vramstow.h"

namespace vramstow {
namespace {

int ResidencyCode(OffloadResult result) {
  switch (result) {
    case OffloadResult::kDone:
      return VRAMSTOW_OK;
    case OffloadResult::kNoRoom:
      return VRAMSTOW_OUT_OF_MEMORY;
    case OffloadResult::kBusy:
      return VRAMSTOW_BUSY;
    case OffloadResult::kCapturing:
      return VRAMSTOW_CAPTURING;
    case OffloadResult::kOfGraph:
      return VRAMSTOW_OF_GRAPH;
    case OffloadResult::kHeld:
      return VRAMSTOW_HELD;
    case OffloadResult::kNotThere:
      return VRAMSTOW_NOT_SUPPORTED;
    case OffloadResult::kFailed:
      break;
  }
  return VRAMSTOW_FAILED;
}

}  // namespace

// Calls ask(offloader) for every open pool that has an offloader; ask() returns a code of the C
// API. Returns the first code that is not OK.
template <typename Ask>
int Residency::AskAll(Ask ask) const {
  if (!offloaders_.wanted()) return VRAMSTOW_NOT_ACTIVE;
  const KeepErrno keep_errno;
  const ScopedCallContext call;
  int code = VRAMSTOW_NOT_ACTIVE;
  for (int i = 0; i < pools_.count(); ++i) {
    const Pools::Use use = pools_.At(i);
    if (!use || use.offloader() == nullptr) continue;
    const int said = ask(use.offloader());
    if (code == VRAMSTOW_NOT_ACTIVE || code == VRAMSTOW_OK) code = said;
  }
  return code;
}

// Calls `move` for the memory of a region in every pool and adds up the moved bytes. A null region
// means all memory.
template <typename Move>
int Residency::AskForRegion(const char* region, uint64_t* bytes, Move move) const {
  *bytes = 0;
  if (!offloaders_.wanted()) return VRAMSTOW_NOT_ACTIVE;  // then the region is not known either
  const uint32_t tag = region == nullptr ? Offloader::kAnyTag : regions_.TagOf(region);
  if (tag == 0) return VRAMSTOW_INVALID;
  return AskAll([&](Offloader* offloader) {
    uint64_t moved = 0;
    const OffloadResult result = move(offloader, tag, &moved);
    *bytes += moved;
    return ResidencyCode(result);
  });
}

// Begins a quiet time, in which the program promises not to use the ranges. Ranges that contain
// buffers of collectives whose work is not submitted yet are left out.
void Residency::BeginQuiet(Offloader* offloader, const vramstow_range* ranges,
                           uint64_t count) const {
  static_assert(sizeof(vramstow_range) == sizeof(QuietRange));
  const auto* const all = reinterpret_cast<const QuietRange*>(ranges);
  open_collectives_.WhileNoneOpens([&] {
    if (!open_collectives_.any()) return offloader->BeginQuiet(all, count);
    auto* const left = static_cast<QuietRange*>(AllocateHostMemory(count * sizeof(QuietRange)));
    if (left == nullptr) return;
    uint64_t kept = 0;
    for (uint64_t i = 0; i < count; ++i) {
      if (!open_collectives_.Uses(all[i].address, all[i].bytes)) left[kept++] = all[i];
    }
    if (kept != 0) offloader->BeginQuiet(left, kept);
    FreeHostMemory(left, count * sizeof(QuietRange));
  });
}

int Residency::Quiet(const vramstow_range* ranges, uint64_t count) const {
  if (ranges == nullptr && count != 0) return VRAMSTOW_INVALID;
  if (!offloaders_.automatic()) return VRAMSTOW_NOT_ACTIVE;
  return AskAll([&](Offloader* offloader) {
    offloader->EndQuiet();
    if (count != 0) BeginQuiet(offloader, ranges, count);
    return VRAMSTOW_OK;
  });
}

int Residency::PushRegion(const char* name) const {
  return regions_.Push(name, WantsPool(process_.options()));
}
int Residency::PopRegion() const { return Regions::Pop(); }

int Residency::Offload(const char* region, uint64_t* bytes) const {
  return AskForRegion(region, bytes, [](Offloader* offloader, uint32_t tag, uint64_t* moved) {
    return offloader->Offload(tag, moved);
  });
}

// Restores the memory of a region. It logs in the program's own output how much memory is lacking,
// even if the request came through the control socket.
int Residency::Resume(const char* region, uint64_t* bytes) const {
  uint64_t paused = 0;
  uint64_t lacking = 0;
  const auto resume = [&](Offloader* offloader, uint32_t tag, uint64_t* moved) {
    const OffloadResult result = offloader->Resume(tag, ~uint64_t{0}, moved);
    const OffloadStats stats = offloader->Stats();
    if (result != OffloadResult::kDone) paused += stats.paused_bytes;
    if (result != OffloadResult::kDone) lacking += stats.lacking_bytes;
    return result;
  };
  const int code = AskForRegion(region, bytes, resume);
  if (lacking != 0) {
    Log("memory stays paused (%llu MiB): the device needs %llu MiB more free memory to bring it "
        "back. Nothing is lost; vramstow_resume can be called again when there is enough free "
        "memory.",
        static_cast<unsigned long long>(paused / kMiB),
        static_cast<unsigned long long>((lacking + kMiB - 1) / kMiB));
  }
  return code;
}

int Residency::OffloadRegion(const char* region) const {
  uint64_t bytes = 0;
  return Offload(region, &bytes);
}

int Residency::ResumeRegion(const char* region) const {
  uint64_t bytes = 0;
  return Resume(region, &bytes);
}

// Refuses to pause all memory, because the program needs a heap for its next allocations.
int Residency::PauseRegion(const char* region, int contents) const {
  if (region == nullptr || (contents & ~(VRAMSTOW_DISCARD | VRAMSTOW_GRAPHS)) != 0) {
    return VRAMSTOW_INVALID;
  }
  // A sharing process resumes what is paused at each of its turns.
  if (WantsShare(process_.options())) return VRAMSTOW_NOT_SUPPORTED;
  const PauseOptions options = {.keep = (contents & VRAMSTOW_DISCARD) == 0,
                                .graphs = (contents & VRAMSTOW_GRAPHS) != 0};
  uint64_t bytes = 0;
  return AskForRegion(region, &bytes, [=](Offloader* offloader, uint32_t tag, uint64_t* moved) {
    return offloader->Pause(tag, options, moved);
  });
}

int Residency::OffloadIdle(uint64_t most_bytes, uint64_t mark, uint64_t* bytes) const {
  *bytes = 0;
  return AskAll([&](Offloader* offloader) {
    uint64_t moved = 0;
    const auto before = mark < ~uint32_t{0} ? static_cast<uint32_t>(mark) : ~uint32_t{0};
    const OffloadResult result = offloader->OffloadIdle(most_bytes - *bytes, before, &moved);
    *bytes += moved < most_bytes - *bytes ? moved : most_bytes - *bytes;
    return ResidencyCode(result);
  });
}

int Residency::MarkIdle(uint64_t watch_ns, uint64_t* mark) const {
  *mark = ~uint64_t{0};
  return AskAll([&](Offloader* offloader) {
    // Returns the earliest mark of all pools. Memory that was not touched since that mark is idle
    // in each of them.
    const uint64_t made = offloader->Mark(watch_ns);
    if (made < *mark) *mark = made;
    return VRAMSTOW_OK;
  });
}

}  // namespace vramstow
