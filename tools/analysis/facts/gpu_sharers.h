// GpuSharers: which processes had memory of the same GPU at the same time.
//
// Idea: a trace shows the memory of its own process. How much of a GPU several processes used
// together is in no trace; only the driver's answers show it, for the moments when a process asked.
//
// Ownership: refers to the traces, which outlive it. Threads: constant after the constructor.
// Errors: none. Units: none.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_FACTS_GPU_SHARERS_H_
#define VRAMSTOW_TOOLS_ANALYSIS_FACTS_GPU_SHARERS_H_

#include <map>
#include <string>
#include <vector>

#include "tools/analysis/facts/facts.h"

namespace vramstow {

class GpuSharers {
 public:
  explicit GpuSharers(const std::vector<Facts>& traces);

  // Returns the traces of other processes that may have had memory of the GPU at the same time.
  std::vector<const Facts*> Of(const Facts& trace, const DeviceFacts& device) const;
  // True if another process had, or may have had, memory of a GPU of the trace.
  bool SharesAny(const Facts& trace) const;

 private:
  std::map<std::string, std::vector<const Facts*>> of_gpu_;
};

// True if the process shared its GPUs with others by --share.
bool IsWithShare(const Facts& trace);
// True if --share moved memory of the process to the host, because the GPU was full.
bool HadToLeave(const Facts& trace);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_FACTS_GPU_SHARERS_H_
