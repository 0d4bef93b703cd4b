// Job: runs a command under vramstow, and returns how it ended and how it used memory.
//
// Idea: every command of vramstow that starts a program uses this function. It checks the settings,
// prepares the environment, starts the program, waits for its end, and reads each trace once. A job
// that runs in place behaves as if it ran without vramstow. A job that runs apart has its output in
// a file.
//
// Ownership: results are copies; traces and output are files. Threads: the main thread; a job in
// place needs a process of one thread. Errors: one sentence if the job was not started because
// something is wrong; Cancelled if this process was asked to end (EndSignals). A command that fails
// is no error. Units: none. Signals: as in child.h for a job in place, as in run_apart.h otherwise.
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
  // If this names a file, the command runs apart: its output is appended to the file, and all of
  // its traces are explained. If it is empty, the command runs in place, and only the last failure
  // and moves of memory are explained, which takes a moment.
  std::string output;
  // Everything is explained for a job in place, too. This can take as long as vramstow analyze.
  bool explains_everything = false;
  // Receives each note. `command` is the command of vramstow that writes the note, or empty for
  // vramstow itself. The note is one sentence.
  std::function<void(const std::string& command, std::string_view sentence)> note;
};

// How the command ended. If it ran for several ranks, this is the end of the first rank that
// failed.
struct JobExit {
  ChildEnd end;
  int status = 0;           // the exit status as shells report it
  std::string not_started;  // one sentence if the command could not be started, otherwise empty
};

// The traces that the command wrote.
struct JobFiles {
  std::string directory;                // empty if nothing was traced
  size_t unread = 0;                    // files of the job's time that are no readable trace
  bool stopped = false;                 // the user asked to end while the traces were read
  bool has_others = false;              // see HasOtherTraces; false if the job ran apart
  std::vector<RunningProcess> running;  // processes that the command started and that still run
  std::string problem;                  // why the traces could not be read; empty on success
};

struct Outcome {
  JobExit exit;
  JobFiles traces;
  FactSet facts;       // facts of each trace and of all together; empty if no trace was read
  std::string output;  // the file with the command's output, as in Job
  bool quiet = false;  // a quiet job in place: its traces were not read
};

// Runs the command and waits for its end.
absl::StatusOr<Outcome> RunJob(const Job& job);

// Starts the commands of all jobs at the same time, and waits until all have ended. The jobs must
// run apart, each once (no world= in a SPEC). Returns the outcomes in the same order. Fails if one
// job cannot be prepared; then no command was started.
absl::StatusOr<std::vector<Outcome>> RunJobsTogether(const std::vector<Job>& jobs);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_JOBS_JOB_H_
