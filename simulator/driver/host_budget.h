// HostBudget limits how much memory of this machine the simulated devices may fill with computed
// results: half of the memory that was available before the first result was written. Overwriting
// memory that is already stored needs no more. Small results may exceed the limit by a quarter, so
// that a program whose memory once exceeded the limit still gets correct results.
//
// Ownership: one for the process. Threads: the caller holds the driver's lock. Errors: returns
// false, and reports it once on stderr. Units: bytes.
#ifndef VRAMSTOW_SIMULATOR_DRIVER_HOST_BUDGET_H_
#define VRAMSTOW_SIMULATOR_DRIVER_HOST_BUDGET_H_

#include <span>

#include "simulator/device/contents.h"
#include "simulator/driver/state.h"

namespace vramstow::simulator {

class HostBudget {
 public:
  static HostBudget& Global();

  // Returns whether work that accesses `bytes` may write these pieces. The memory in use is
  // measured only now and then, because measuring it is expensive.
  bool Allows(const State& state, std::span<const Contents::Piece> writes, uint64_t bytes);

  // Returns how many bytes of results that follow from computed values may be stored. Used only if
  // the SPEC sets no limit.
  uint64_t ForResults();
  // Returns how many bytes of results that may lead to a size may be stored. Used only if the SPEC
  // sets no limit.
  uint64_t ForSizes();

 private:
  uint64_t Limit();

  uint64_t since_looked_ = 0;
  uint64_t limit_ = 0;  // 0: not measured yet
  bool is_short_ = false;
  bool has_warned_ = false;
};

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DRIVER_HOST_BUDGET_H_
