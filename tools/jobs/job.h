// Job: a command that runs under vramstow, and what came of it.
//
// Idea: `vramstow run`, and all that rehearses, go this one way: check, prepare, start, wait, read
// the traces once. A job runs in place of this program, as far as anybody can see, or apart, with
// its output in a file.
//
// Ownership: copies; traces and output are files. Threads: the main one; in place it must be the
// only one. Errors: one sentence where nothing was started because something is wrong; Cancelled
// where this process was asked to end (EndSignals). How the command fails is no error. Units: none.
// Signals: child.h in place, run_apart.h apart.
#ifndef VRAMSTOW_TOOLS_JOBS_JOB_H_
#define VRAMSTOW_TOOLS_JOBS_JOB_H_

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/analysis/facts/facts.h"
#include "tools/jobs/run_id.h"
#include "tools/jobs/settings.h"
#include "tools/launch/child.h"

namespace vramstow {

struct Job {
  std::vector<std::string> command;
  FlagValues flags;
  // The file that the command's output is appended to, and then all of its traces are explained;
  // empty: it runs in place, and only what takes a moment is explained.
  std::string output;
  // Gets what is to be known before the command starts, or of ranks that failed: the command of
  // vramstow that says it (empty: vramstow itself), and one sentence.
  std::function<void(const std::string& command, std::string_view sentence)> note;
};

// The end of the command; of several ranks the first that is no success.
struct JobExit {
  ChildEnd end;
  int status = 0;           // as shells have it
  std::string not_started;  // why it could not be started, in one sentence; empty: it was
};

// The traces that it left.
struct JobFiles {
  std::string directory;                // empty: nothing was traced
  size_t unread = 0;                    // newer than the job's beginning, and no readable trace
  bool stopped = false;                 // somebody asked to end while they were read
  bool has_others = false;              // HasOtherTraces; of a job in place
  std::vector<RunningProcess> running;  // processes that it started and that still run
  std::string problem;                  // why they could not be read; empty: they were
};

struct Outcome {
  JobExit exit;
  JobFiles traces;
  FactSet facts;       // of the traces; without traces that were read it has none
  std::string output;  // Job::output
  bool quiet = false;  // VRAMSTOW_QUIET: then traces were not read
};

absl::StatusOr<Outcome> RunJob(const Job& job);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_JOBS_JOB_H_
