// How much memory of this machine the simulated devices may fill by effects: a quarter of what was
// available when the first effect was about to write.
//
// Ownership: one for the process. Threads: the driver's lock. Errors: false, said once on stderr.
// Units: bytes.
#ifndef VRAMSTOW_SIMULATOR_DRIVER_HOST_BUDGET_H_
#define VRAMSTOW_SIMULATOR_DRIVER_HOST_BUDGET_H_

#include "simulator/driver/state.h"

namespace vramstow::simulator {

class HostBudget {
 public:
  static HostBudget& Global();

  // `bytes` more are about to be written. Looking is dear, so it is done now and then.
  bool Allows(const State& state, uint64_t bytes);

  // Results that follow from computed values may hold so much where the SPEC does not say.
  uint64_t ForResults();

 private:
  uint64_t since_looked_ = 0;
  uint64_t limit_ = 0;
  bool spent_ = false;
};

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DRIVER_HOST_BUDGET_H_
