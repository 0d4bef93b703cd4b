// What an application, or a person at the control socket, may ask about where live memory lies: to
// offload it, to pause it, and to bring it back.
//
// Idea: as application.h, for the offloaders of all pools together.
//
// Ownership: none. Threads: any that is not about to submit work. Errors: the codes of
// include/vramstow/vramstow.h, of several pools the first that is not OK. Units: bytes,
// nanoseconds.
#ifndef VRAMSTOW_INTERPOSE_CORE_POOLS_RESIDENCY_H_
#define VRAMSTOW_INTERPOSE_CORE_POOLS_RESIDENCY_H_

#include <cstdint>

namespace vramstow {

int PushRegion(const char* name);
int PopRegion();
// `region` null: everything.
int OffloadRegion(const char* region);
int ResumeRegion(const char* region);
int PauseRegion(const char* region, int contents);

// The same, and how much moved.
int Offload(const char* region, uint64_t* bytes);
int Resume(const char* region, uint64_t* bytes);
// Up to so many bytes, the coldest first, of what was not touched since MarkIdle gave `mark`.
int OffloadIdle(uint64_t most_bytes, uint64_t mark, uint64_t* bytes);
// From now on touches are seen, for at least `watch_ns`. A mark counts for all pools.
int MarkIdle(uint64_t watch_ns, uint64_t* mark);

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_POOLS_RESIDENCY_H_
