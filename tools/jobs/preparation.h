// Preparation: checks a job, and prepares its environment, before the command starts.
//
// Idea: a wrong flag or a missing driver is reported before anything runs. A folder is made, and an
// adapter compiled, only if everything else is right.
//
// Ownership: the results are copies. Threads: used by one thread at a time; it may take as long as
// a compiler does. Errors: one sentence. Units: none.
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

// The settings of a job after all checks have passed, and what the checks found out.
struct CheckedJob {
  Settings settings;
  FlagValues flags;  // the variables that the command gets
  Installation installation;
  std::vector<vramstowSimulatorRank>
      ranks;  // the ranks that are simulated; empty if the command runs once
};
absl::StatusOr<CheckedJob> CheckJob(const Job& job);

// Adds the libraries, the start-up hook and the adapters that the job needs to the environment of
// its command. Compiles adapters that are missing; if that fails, the job gets a note.
void AddPreloads(const Job& job, const CheckedJob& checked, Environment* environment);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_JOBS_PREPARATION_H_
