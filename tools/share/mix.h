// Mix: rehearses jobs that share one GPU in turns (--share), on a simulated GPU.
//
// Idea: each job first runs alone, one after the other, and then all run at once, with the same
// settings. So the difference is what sharing costs. Times are those of the simulated GPU's clock
// (clock=model), which each process writes into its trace when it ends. A job that fails alone, or
// needs more memory than the GPU has, would fail in the mix, too, so the mix then does not run.
//
// Ownership: the results are copies; traces and output lie in the folder. Threads: the main thread.
// Errors: one sentence if something is wrong with the request or a job could not be prepared. A job
// that fails is no error. Units: nanoseconds of the simulated GPU, bytes.
#ifndef VRAMSTOW_TOOLS_SHARE_MIX_H_
#define VRAMSTOW_TOOLS_SHARE_MIX_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace vramstow {

struct MixRequest {
  std::string spec;               // the GPU, as for vramstow run
  std::vector<std::string> jobs;  // the command line of each job
};

// One run of a job, alone or in the mix. Several processes of a job count as one: the time is that
// of the last one, turns and waits are those of the one that had most, and bytes are added up.
struct MixRun {
  int status = 0;
  std::string problem;                  // one sentence if the job failed; empty otherwise
  std::vector<std::string> last_lines;  // that a failed job wrote
  bool is_too_large = false;            // it failed after the GPU had no room for a request
  uint64_t end_ns = 0;
  uint64_t waited_ns = 0;  // for turns
  uint64_t turns = 0;
  uint64_t out_bytes = 0;  // moved to the host for other jobs, and back
  uint64_t in_bytes = 0;
  uint64_t peak_bytes = 0;
  uint64_t context_bytes = 0;  // of its processes; cannot move

  bool is_complete() const { return problem.empty(); }
};

struct MixJob {
  std::string text;             // its command line
  std::optional<MixRun> alone;  // nullopt if the run did not take place, or was interrupted
  std::optional<MixRun> mixed;
};

struct MixReport {
  std::string spec;
  uint64_t total_bytes = 0;  // of the GPU; 0 if unknown
  std::vector<MixJob> jobs;
  bool is_interrupted = false;

  bool is_complete() const;                     // every job ended well, alone and in the mix
  std::optional<uint64_t> alone_ns() const;     // of all jobs, one after the other
  std::optional<uint64_t> longest_ns() const;   // of the job that takes longest alone
  std::optional<uint64_t> makespan_ns() const;  // when the last job of the mix ended
  // The most memory that one job can have in the mix: the GPU without the contexts of all jobs and
  // without what stays free for the driver.
  std::optional<uint64_t> room_bytes() const;
};

// Receives one sentence after each run.
using MixNote = std::function<void(const std::string& sentence)>;

// Checks the request before anything runs.
absl::Status CheckMix(const MixRequest& request);

// Runs the jobs. The folder gets a folder for each run: "alone-1" for the first job alone, "mix-1"
// for the same job in the mix.
absl::StatusOr<MixReport> RehearseMix(const MixRequest& request, const std::string& folder,
                                      const MixNote& note);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_SHARE_MIX_H_
