// JobTraces: reads each trace that a job wrote once, and returns its facts.
//
// Idea: the user of `vramstow run` waits for a prompt, so only the last failure (or, if there is
// none, a fault of the largest process) and moves of memory are explained, and no long trace is. A
// job whose facts a program reads is explained completely: a job that runs apart (job.h), for
// example for a search, and one with --json.
//
// Ownership: the results are copies. Threads: used by one thread at a time. Errors: files that
// cannot be read are counted. Units: none.
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

// Says which traces are read, and how much of them is explained.
struct JobTracesQuery {
  enum class Explain : uint8_t {
    kMoment,      // the last out-of-memory or fault, and moves of memory, in short traces
    kEverything,  // everything that vramstow analyze explains
  };

  std::string directory;
  std::string run_id;
  time_t begin = 0;  // files that are older are skipped
  Explain explain = Explain::kMoment;
};

struct JobTraces {
  std::vector<Facts> facts;  // sorted by the names of the files
  size_t unread = 0;         // files newer than the job's beginning that are no readable trace
  bool stopped = false;      // stop() returned true, so facts is incomplete
};

// Calls `stop` repeatedly; once it returns true, the remaining traces are skipped.
JobTraces ReadJobTraces(const JobTracesQuery& query, const std::function<bool()>& stop);

// Returns true if `vramstow analyze DIRECTORY` would read other files than these traces. Files that
// were written before the job do not belong to the newest run.
bool HasOtherTraces(const JobTracesQuery& query, const JobTraces& traces);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_JOBS_JOB_TRACES_H_
