// Ranks: the ranks of a job that a rehearsal runs (world= and rank= of the SPEC), and the variables
// that a launcher such as torchrun would have set for each.
//
// Ownership: values. Threads: any. Errors: absl::Status with one sentence. Units: none.
#ifndef VRAMSTOW_TOOLS_LAUNCH_RANKS_H_
#define VRAMSTOW_TOOLS_LAUNCH_RANKS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "simulator/simulator_api.h"
#include "tools/launch/environment.h"

namespace vramstow {

// In the order of the SPEC; empty where it says nothing of a job.
absl::StatusOr<std::vector<vramstowSimulatorRank>> FindRanks(const std::string& simulator_directory,
                                                             const std::string& spec);

// The SPEC of one rank alone: the others of rank= are left out.
std::string SpecOfRank(const std::string& spec, int rank);

// Sets the variables that tell a process its rank: those of torchrun, and of Slurm, Open MPI and
// PMI those of whom the environment knows a rank already. MASTER_ADDR and MASTER_PORT stay where
// they are set, because a program may print them; nobody connects to them.
void TellRank(const vramstowSimulatorRank& rank, const std::string& spec, Environment* environment);

// Whether `command` leaves it to vramstow to start ranks. An error has the right command in it.
absl::Status CheckStartsNoRanks(const std::vector<std::string>& command, const std::string& spec);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_LAUNCH_RANKS_H_
