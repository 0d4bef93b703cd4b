// Residency serves the requests to offload, pause or restore live memory that an application makes
// by the C API, or a user at the control socket.
//
// Idea: one set of functions serves both. A request is carried out by the offloaders of all pools.
//
// Ownership: static storage. Threads: any that is not about to submit work. Errors: the codes of
// include/vramstow/vramstow.h; if several pools report errors, the first one. Units: bytes,
// nanoseconds.
#ifndef VRAMSTOW_INTERPOSE_CORE_POOLS_RESIDENCY_H_
#define VRAMSTOW_INTERPOSE_CORE_POOLS_RESIDENCY_H_

#include <cstdint>

#include "interpose/core/runtime/core.h"

struct vramstow_range;

namespace vramstow {

class Offloader;

class Residency {
 public:
  constexpr Residency(const Process& process, Pools& pools, Offloaders& offloaders,
                      Regions& regions, OpenCollectives& open_collectives)
      : process_(process),
        pools_(pools),
        offloaders_(offloaders),
        regions_(regions),
        open_collectives_(open_collectives) {}
  Residency(const Residency&) = delete;
  Residency& operator=(const Residency&) = delete;

  int PushRegion(const char* name) const;
  int PopRegion() const;
  // A null `region` means all memory of the pools, but PauseRegion refuses it.
  int OffloadRegion(const char* region) const;
  int ResumeRegion(const char* region) const;
  int PauseRegion(const char* region, int contents) const;

  // Records the program's promise that no work uses these ranges until the next call of this
  // function; `count` may be 0.
  int Quiet(const struct vramstow_range* ranges, uint64_t count) const;

  // Offload evicts the memory of a region to the host, and Resume restores it. *bytes is the number
  // of bytes moved.
  int Offload(const char* region, uint64_t* bytes) const;
  int Resume(const char* region, uint64_t* bytes) const;
  // Offloads up to `most_bytes` of the memory that was not touched since MarkIdle returned `mark`.
  // Memory that was idle for longest is offloaded first.
  int OffloadIdle(uint64_t most_bytes, uint64_t mark, uint64_t* bytes) const;
  // Begins to observe, for at least `watch_ns`, which memory work uses. *mark stands for the
  // current time in a later call of OffloadIdle; it is valid for all pools.
  int MarkIdle(uint64_t watch_ns, uint64_t* mark) const;

 private:
  template <typename Ask>
  int AskAll(Ask ask) const;
  template <typename Move>
  int AskForRegion(const char* region, uint64_t* bytes, Move move) const;

  void BeginQuiet(Offloader* offloader, const struct vramstow_range* ranges, uint64_t count) const;

  const Process& process_;
  Pools& pools_;
  Offloaders& offloaders_;
  Regions& regions_;
  OpenCollectives& open_collectives_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_POOLS_RESIDENCY_H_
