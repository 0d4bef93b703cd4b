// Census finds out which objects hold the memory of this process's tensors, and writes that into
// the trace. A census is a reference scan.
//
// Idea: the scan visits everything that the program can reach, while the program does not run. It
// takes two seconds and 100 MiB at most. It takes Python's lock as PyTorch's own out-of-memory
// observers do, but never waits for the lock without a limit. If the calling thread does not hold
// the lock, a separate thread waits for it, and the caller continues without a census if that takes
// too long.
//
// Ownership: static. Threads: any, without locks of PyTorch's allocator. Only one census runs at a
// time; a request during a census is refused. Errors: none reach the caller; Python's error state
// is unchanged. Units: bytes, nanoseconds.
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

// The results of a census. They refer to no Python object.
struct Findings {
  std::vector<Holding> holdings;  // the largest first
  uint64_t found_bytes = 0;
  uint64_t live_bytes = 0;
  uint64_t duration_ns = 0;
  uint64_t worked_ns = 0;  // the processor time in it
  uint64_t objects = 0;
  std::string why_ended;
};

// Describes a census (a reference scan) in the form of the library's table of functions. The text
// of the result belongs to `findings`.
vramstow_framework_census_about AboutOf(const Findings& findings, int reason, int device);

class Census {
 public:
  // Checks whether this interpreter and this PyTorch are supported. Returns null, or the reason why
  // there will be no census, as the end of a sentence. The caller runs Python.
  const char* Start(const vramstow_framework_census* table);
  // Ends all censuses, because Python ends.
  void Stop();

  // Writes a census (a reference scan) into the trace. Returns a code of vramstow.h. For an
  // out-of-memory error the code is NOT_ACTIVE if all censuses together have taken too long,
  // because a program may run out of memory on purpose, and often. For all other reasons the call
  // waits longer for Python's lock.
  int Take(int reason, int device, Findings* findings);

 private:
  bool MayTake() const;
  // Records that there is no census, because no time is left.
  static void LeaveOut(int reason, int device);
  int Look(int reason, int device, Findings* findings) const;
  bool Write(int reason, int device, const Findings& findings) const;
};

Census& TheCensus();

}  // namespace vramstow::torch_census

#endif  // VRAMSTOW_ADAPTERS_TORCH_CENSUS_CENSUS_H_
