// Refusals: undoes frees that the driver refused. A free is recorded before the driver is called,
// so that the refusal is known only later.
//
// Ownership: the objects given to the constructor outlive it. Threads: used by one thread at a
// time. Errors: a refusal of a free that is no longer remembered is in the counts. Units: bytes.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_REFUSALS_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_REFUSALS_H_

#include "tools/analysis/accounts/accounts.h"
#include "tools/analysis/accounts/driver_memory.h"
#include "tools/analysis/accounts/free_space.h"
#include "tools/analysis/accounts/pool_segments.h"
#include "tools/analysis/accounts/provisional_frees.h"

namespace vramstow {

class Refusals {
 public:
  Refusals(Accounts* accounts, FreeSpace* space, PoolSegments* segments, DriverMemory* memory,
           ProvisionalFrees* frees)
      : accounts_(*accounts),
        space_(*space),
        segments_(*segments),
        memory_(*memory),
        frees_(*frees) {}

  // A kRefused.
  void Add(const Event& event);

 private:
  void UndoFree(const Event& event, const ProvisionalFree& free);
  void UndoUnmap(const Event& event, const ProvisionalFree& free);
  // Makes physical memory live again that was wrongly recorded as dead at event `died`.
  void Revive(const Event& event, const PhysicalChange& change, uint64_t died);

  Accounts& accounts_;
  FreeSpace& space_;
  PoolSegments& segments_;
  DriverMemory& memory_;
  ProvisionalFrees& frees_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_REFUSALS_H_
