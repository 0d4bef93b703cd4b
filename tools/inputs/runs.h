// Runs decides which traces of a folder belong together.
//
// Idea: vramstow run gives each trace the id of its run. A run that is started within another run
// has an id that begins with the outer one's. If each rank has its own vramstow run, as under srun,
// ranks belong together if their launcher's job is the same, the launcher has started it equally
// often, and no rank occurs twice. Traces without such a relation are separate runs, because
// figures of unrelated runs must not be added up.
//
// Ownership: values. Threads: no shared state. Errors: recordings of other programs have no run and
// count as one run together; a file that cannot be read belongs to none. Units: nanoseconds since
// 1970.
#ifndef VRAMSTOW_TOOLS_INPUTS_RUNS_H_
#define VRAMSTOW_TOOLS_INPUTS_RUNS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace vramstow {

// A file, and what it says about the run and the process that wrote it.
struct TraceOrigin {
  std::string file;
  enum class Kind : uint8_t { kTrace, kOther, kNotRead };
  Kind kind = Kind::kNotRead;
  std::string run;  // id of the outermost run; empty: none
  std::string job;  // the launcher's name of the job; empty: not known
  std::string host;
  int64_t process = 0;
  int64_t parent = 0;
  std::optional<int64_t> rank;
  std::string requeue;  // how often Slurm had started the job again; empty: never, or not known
  std::string restart;  // how often torchrun had; empty: not known
  int64_t begin = 0;
};

struct Run {
  std::vector<std::string> files;  // by name
  int64_t begin = 0;               // start of the process that began last
};

TraceOrigin OriginOf(const std::string& file);
// Groups the files into runs. Returns the runs, the newest first.
std::vector<Run> RunsOf(const std::vector<TraceOrigin>& origins);

// Removes from `files` the copies that were made while a process ran, and returns them. Such a file
// has the name of a copy ("train-4711-oom.stow", "train-4711-dump-2.stow"), and another of the
// files is by the same process. If that is a copy, too, the last of them is not removed. A file
// without a header is a copy if the trace from which its name is made is among the files.
std::vector<std::string> RemoveCopies(std::vector<std::string>* files);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_INPUTS_RUNS_H_
