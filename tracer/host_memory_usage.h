// Reads how much of the machine's memory this process uses, and how much is available to it.
//
// Idea: a job that runs out of host memory is killed without a message, so a trace records these
// figures again and again. The limit is that of the control group with the least free memory among
// this process's group and its ancestors (cgroups(7), cgroup versions 1 and 2), or else the
// machine's.
//
// Ownership: values. Threads: any; opens and closes files of /proc and /sys. Errors: 0 for figures
// that cannot be read. No heap. Units: bytes.
#ifndef VRAMSTOW_TRACER_HOST_MEMORY_USAGE_H_
#define VRAMSTOW_TRACER_HOST_MEMORY_USAGE_H_

#include <cstdint>

namespace vramstow {

struct HostMemory {
  uint64_t resident = 0;  // the resident memory of this process
  uint64_t free = 0;  // bytes below the limit, including memory that the kernel can reclaim at once
  uint64_t limit = 0;        // the control group's limit, or the machine's memory
  bool is_of_group = false;  // `free` and `limit` are the control group's
};

// Reads the memory numbers. `root` is a prefix of the paths below /proc and /sys, which only tests
// set.
HostMemory ReadHostMemory(const char* root = "");

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_HOST_MEMORY_USAGE_H_
