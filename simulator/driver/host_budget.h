// How much memory of this machine the simulated devices may fill by effects: half of what was
// available when the first effect was about to write. A write to memory that is held already takes
// none, and small results may take a quarter more: a program goes on rightly after one large
// moment.
//
// Ownership: one for the process. Threads: the driver's lock. Errors: false, said once on stderr.
// Units: bytes.
#ifndef VRAMSTOW_SIMULATOR_DRIVER_HOST_BUDGET_H_
#define VRAMSTOW_SIMULATOR_DRIVER_HOST_BUDGET_H_

#include <span>

#include "simulator/device/contents.h"
#include "simulator/driver/state.h"

namespace vramstow::simulator {

class HostBudget {
 public:
  static HostBudget& Global();

  // These are about to be written by work that touches `bytes`. Looking is dear, so it is done now
  // and then.
  bool Allows(const State& state, std::span<const Contents::Piece> writes, uint64_t bytes);

  // Results that follow from computed values may hold so much where the SPEC does not say.
  uint64_t ForResults();
  // The same of those that may lead to a size.
  uint64_t ForSizes();

 private:
  uint64_t Limit();

  uint64_t since_looked_ = 0;
  uint64_t limit_ = 0;  // 0: nobody has looked
  bool is_short_ = false;
  bool is_told_ = false;
};

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DRIVER_HOST_BUDGET_H_
