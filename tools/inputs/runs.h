// Runs: which traces of a folder belong together.
//
// Idea: vramstow run gives each trace the id of its run; a run inside a run has an id that begins
// with the outer one's. Ranks that have a vramstow run of their own each, as under srun, have the
// job of their launcher in common, and no rank twice. What nobody says to belong together is taken
// for runs of their own, because figures of strangers must not be added up.
//
// Ownership: values. Threads: no shared state. Errors: recordings of other programs say nothing of
// their run, and are one run together; a file that is not read here is of none. Units: nanoseconds
// since 1970.
#ifndef VRAMSTOW_TOOLS_INPUTS_RUNS_H_
#define VRAMSTOW_TOOLS_INPUTS_RUNS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace vramstow {

// The run that a file belongs to, as the file says.
struct TraceOrigin {
  std::string file;
  enum class Kind : uint8_t { kTrace, kOther, kNotRead };
  Kind kind = Kind::kNotRead;
  std::string run;  // the outermost run's id; empty: none
  std::string job;  // as the launcher calls it; empty: not known
  std::string host;
  int64_t process = 0;
  int64_t parent = 0;
  std::optional<int64_t> rank;
  int64_t begin = 0;
};

struct Run {
  std::vector<std::string> files;  // by name
  int64_t begin = 0;               // of the process that began last
};

TraceOrigin OriginOf(const std::string& file);
// The newest first.
std::vector<Run> RunsOf(const std::vector<TraceOrigin>& origins);

// Copies that were made while a process ran ("train-4711-oom.stow"), taken out of `files`; where
// the whole is not there, the last one stays.
std::vector<std::string> TakeCopies(std::vector<std::string>* files);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_INPUTS_RUNS_H_
