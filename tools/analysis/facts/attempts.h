// Attempts: which processes of a rank ran one after the other, and which at the same time.
//
// Idea: a launcher starts a rank again after a failure (torchrun --max-restarts, a requeued job of
// Slurm, a loop in a shell). Such attempts never hold memory at the same time, so their memory must
// not be added up, but the memory of a rank's processes that run at the same time must. Two
// processes belong to different attempts if the launcher counted other restarts for them, or if one
// of them began after the recording of the other had ended. If their times are not known, they are
// taken to have run at the same time, because a sum that is too high warns of too much. The
// programs that one process ran one after the other (exec) do not hold memory at the same time,
// either.
//
// Ownership: the result is a copy. Threads: pure functions, callable from any thread. Errors: none.
// Units: none.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_FACTS_ATTEMPTS_H_
#define VRAMSTOW_TOOLS_ANALYSIS_FACTS_ATTEMPTS_H_

#include <cstdint>
#include <vector>

#include "tools/analysis/facts/facts.h"

namespace vramstow {

struct Attempts {
  uint64_t most = 1;  // of the rank that has most of them
  // For each trace: its memory is part of the job's need. That is false if processes of the same
  // rank, or other programs of the same process, needed more at another time.
  std::vector<bool> counts;
};

Attempts AttemptsOf(const std::vector<Facts>& traces);

// Returns the latest moment (Unix, nanoseconds) at which the process may have ended. After the last
// event of the program there may be no other for a second, in which the recorder samples the host's
// memory once.
uint64_t LastMomentOf(const Facts& trace);

// Returns the highest of reserved. If that is not known, it was at least as much as allocated.
uint64_t PeakReserved(const Facts& trace);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_FACTS_ATTEMPTS_H_
