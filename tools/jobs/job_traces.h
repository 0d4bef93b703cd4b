// JobTraces: reads the traces that a job left, each once, and makes its facts.
//
// Idea: the user of `vramstow run` waits for a prompt, so that only what takes a moment is
// explained: the last failure, and moves of memory. A search needs all of it.
//
// Ownership: copies. Threads: one at a time. Errors: what cannot be read is counted. Units: none.
#ifndef VRAMSTOW_TOOLS_JOBS_JOB_TRACES_H_
#define VRAMSTOW_TOOLS_JOBS_JOB_TRACES_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

#include "tools/analysis/facts/facts.h"

namespace vramstow {

// Which traces are read, and how much of them is explained.
struct JobTracesQuery {
  enum class Explain : uint8_t {
    kMoment,      // why memory ran out last, and moves of memory; not of long traces
    kEverything,  // as vramstow analyze does
  };

  std::string directory;
  std::string run_id;
  time_t begin = 0;  // older files are left out
  Explain explain = Explain::kMoment;
};

struct JobTraces {
  std::vector<Facts> facts;  // by the names of the files
  size_t unread = 0;         // files newer than the job's beginning that are no readable trace
  bool stopped = false;      // stop() said so; facts is not complete
};

// `stop` is asked again and again; once it gives true, the rest is left.
JobTraces ReadJobTraces(const JobTracesQuery& query, const std::function<bool()>& stop);

// Would `vramstow analyze DIRECTORY` take other files than these traces? Files that were written
// before the job are not those of the newest run.
bool HasOtherTraces(const JobTracesQuery& query, const JobTraces& traces);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_JOBS_JOB_TRACES_H_
