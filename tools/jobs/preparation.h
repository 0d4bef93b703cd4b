// Preparation: all that is found out and laid ready before the command of a job starts.
//
// Idea: what is wrong with a flag or with the machine is told before anything runs: a folder is
// made, and an adapter compiled, only when all else is right.
//
// Ownership: copies. Threads: one at a time; it may take as long as a compiler does. Errors: one
// sentence. Units: none.
#ifndef VRAMSTOW_TOOLS_JOBS_PREPARATION_H_
#define VRAMSTOW_TOOLS_JOBS_PREPARATION_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "simulator/simulator_api.h"
#include "tools/jobs/job.h"
#include "tools/jobs/settings.h"
#include "tools/launch/environment.h"
#include "tools/launch/installation.h"

namespace vramstow {

// What a job needs, once nothing is wrong.
struct CheckedJob {
  Settings settings;
  FlagValues flags;  // of which the environment is made
  Installation installation;
  std::vector<vramstowSimulatorRank> ranks;  // that are simulated one by one; empty: the job is one
};
absl::StatusOr<CheckedJob> CheckJob(const Job& job);

// The environment of the command, without what the run itself adds (run_id.h, run_ends.h). Prepares
// adapters and asks the driver for what they need; what goes wrong is a note of the job.
void AddPreloads(const Job& job, const CheckedJob& checked, Environment* environment);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_JOBS_PREPARATION_H_
