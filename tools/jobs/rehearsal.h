// Rehearsal: runs a command on a simulated GPU, with its output in a file, and returns how it used
// memory.
//
// Ownership: results are copies; traces and output lie in the folder. Threads: the main thread.
// Errors: one sentence if the command could not be run, or used no device memory; DataLoss if it
// did, and a trace is incomplete or missing, so that the peak is not known; Cancelled if this
// process was asked to end (EndSignals). Units: bytes.
#ifndef VRAMSTOW_TOOLS_JOBS_REHEARSAL_H_
#define VRAMSTOW_TOOLS_JOBS_REHEARSAL_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/analysis/facts/facts.h"
#include "tools/jobs/gpu_use.h"
#include "tools/jobs/job.h"
#include "tools/jobs/settings.h"

namespace vramstow {

struct Rehearsal {
  int exit_status = 0;
  // Of the process that took most or, if processes share a GPU, of the one that took most of the
  // fullest GPU. Refusals are those of all processes.
  Facts facts;
  size_t trace = 0;          // the index of this process in GpuUse::traces
  uint64_t processes = 0;    // that used device memory
  std::vector<GpuUse> gpus;  // that were used, the fullest first
  std::string output;        // the file with what the command said
};

// `flags` are flags of `vramstow run`. `folder` must not exist yet; this function makes it.
absl::StatusOr<Rehearsal> Rehearse(const std::vector<std::string>& command, const FlagValues& flags,
                                   const std::string& folder);

// Returns the last line that the command itself wrote, shortened to `most` bytes.
std::string LastLineOf(const std::string& path, size_t most);
// Returns the last lines that the command itself wrote, at most `most`, without empty lines.
// With `with_notes` the lines of vramstow count, too.
std::vector<std::string> LastLinesOf(const std::string& path, size_t most, bool with_notes = false);

// Makes the folder, which must not exist yet, and returns a job that runs apart, with its traces
// ("traces") and its output ("output.txt") there.
absl::StatusOr<Job> MakeJobIn(const std::string& folder, const std::vector<std::string>& command,
                              const FlagValues& flags);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_JOBS_REHEARSAL_H_
