// Ranks: the ranks of a job that a simulated run executes (world= and rank= of the SPEC). It also
// sets the variables that a launcher, for example torchrun, would have set for each rank.
//
// Ownership: plain values. Threads: callable from any thread. Errors: absl::Status with one
// sentence. Units: none.
#ifndef VRAMSTOW_TOOLS_LAUNCH_RANKS_H_
#define VRAMSTOW_TOOLS_LAUNCH_RANKS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "simulator/simulator_api.h"
#include "tools/launch/environment.h"

namespace vramstow {

// Returns the ranks in the order of the SPEC. Returns no rank if the SPEC describes no job.
absl::StatusOr<std::vector<vramstowSimulatorRank>> FindRanks(const std::string& simulator_directory,
                                                             const std::string& spec);

// Returns the SPEC with rank= set to this rank only.
std::string SpecOfRank(const std::string& spec, int rank);

// Sets the variables that give a process its rank. The variables of torchrun are always set; those
// of Slurm, Open MPI and PMI are set if the environment already has a rank of theirs. MASTER_ADDR
// and MASTER_PORT are not changed if they are set, because a program may print them; no process
// connects to them.
void SetRank(const vramstowSimulatorRank& rank, const std::string& spec, Environment* environment);

// Fails if `command` starts the ranks itself. The error contains the command that a user should
// type instead.
absl::Status CheckStartsNoRanks(const std::vector<std::string>& command, const std::string& spec);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_LAUNCH_RANKS_H_
