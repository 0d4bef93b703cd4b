// GpuUse: how much of each GPU the processes of a job took.
//
// Idea: each process has a trace of its own, and numbers the GPUs by itself. The host and the UUID
// tell which GPU is meant. Processes share a GPU if one of them recorded an event while the other
// lived, or found more memory taken when it began than its own context. At which moment each of
// them had its peak is not compared, so for a shared GPU the sum of the peaks is an upper bound.
//
// Ownership: the results are copies. Threads: pure functions. Errors: a GPU whose memory is unknown
// is left out. Units: bytes.
#ifndef VRAMSTOW_TOOLS_JOBS_GPU_USE_H_
#define VRAMSTOW_TOOLS_JOBS_GPU_USE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tools/analysis/facts/facts.h"

namespace vramstow {

struct GpuUse {
  std::string name;
  uint64_t total_bytes = 0;
  uint64_t reserved_bytes = 0;  // the sum of the peaks of the processes
  uint64_t context_bytes = 0;   // the sum of the contexts of the processes
  uint64_t processes = 0;       // how many used it at the same time, at most
  // Indices into the traces, of all processes that used it; the one with the highest peak first.
  std::vector<size_t> traces;

  uint64_t taken_bytes() const { return reserved_bytes + context_bytes; }
};

// Returns the GPUs that the processes used, the fullest first. `starts` has the time at which each
// trace begins, in nanoseconds; 0 if it is unknown.
std::vector<GpuUse> GpusUsedBy(const std::vector<Facts>& traces,
                               const std::vector<uint64_t>& starts);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_JOBS_GPU_USE_H_
