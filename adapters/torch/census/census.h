// Census: who holds the memory of this process's tensors, written into the trace.
//
// Idea: one look at what the program can reach, while it stands still: two seconds and 100 MiB at
// the most. It takes Python's lock as PyTorch's own out-of-memory observers do, but never waits for
// it without an end: where the calling thread does not hold the lock, a thread of its own waits for
// it, and the caller goes without a census if that takes too long.
//
// Ownership: static. Threads: any, without locks of PyTorch's allocator; one census at a time, who
// comes meanwhile goes without. Errors: none reach the caller; Python's error state stays. Units:
// bytes, nanoseconds.
#ifndef VRAMSTOW_ADAPTERS_TORCH_CENSUS_CENSUS_H_
#define VRAMSTOW_ADAPTERS_TORCH_CENSUS_CENSUS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "adapters/torch/census/holder_describer.h"
#include "include/vramstow/framework.h"

namespace vramstow::torch_census {

struct Holding {
  Memory memory;
  std::string holder;
  std::string about;
  Role role = Role::kOther;
};

// The results of a census. Holds no object.
struct Findings {
  std::vector<Holding> holdings;  // the largest first
  uint64_t found_bytes = 0;
  uint64_t live_bytes = 0;
  uint64_t duration_ns = 0;
  uint64_t worked_ns = 0;  // the part of it in which the thread had a processor
  uint64_t objects = 0;
  std::string why_ended;
};

// What a census is, in the words of the table. Its text is that of the findings.
vramstow_framework_census_about AboutOf(const Findings& findings, int reason, int device);

class Census {
 public:
  // Looks at this interpreter and this PyTorch. Null, or half a sentence that says why there will
  // be no census. The caller runs Python.
  const char* Start(const vramstow_framework_census* table);
  // No more of them: Python ends.
  void Stop();

  // Writes a census into the trace; a code of vramstow.h. Where an out-of-memory error is about to
  // be told, NOT_ACTIVE if they have taken too long in all: a program may fail on purpose, and
  // often. Who asked waits longer for Python's lock than a failure does.
  int Take(int reason, int device, Findings* findings);

 private:
  bool MayTake() const;
  // Writes that there is none, because no time is left.
  static void LeaveOut(int reason, int device);
  int Look(int reason, int device, Findings* findings) const;
  bool Write(int reason, int device, const Findings& findings) const;
};

Census& TheCensus();

}  // namespace vramstow::torch_census

#endif  // VRAMSTOW_ADAPTERS_TORCH_CENSUS_CENSUS_H_
