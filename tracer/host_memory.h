// How much of the machine's memory this process holds, and how much there is for it.
//
// Idea: a job that runs out of host memory is killed without a word, so a trace keeps a series of
// this. The limit is that of the control group with the least room, this process's or one that it
// lies in (cgroups(7), versions 1 and 2), or else the machine's.
//
// Ownership: values. Threads: any; opens and closes files of /proc and /sys. Errors: numbers that
// cannot be had are 0. No heap. Units: bytes.
#ifndef VRAMSTOW_TRACER_HOST_MEMORY_H_
#define VRAMSTOW_TRACER_HOST_MEMORY_H_

#include <cstdint>

namespace vramstow {

struct HostMemory {
  uint64_t resident = 0;     // of this process
  uint64_t free = 0;         // up to the limit, with what the kernel can take back at once
  uint64_t limit = 0;        // of the control group, or the machine's memory
  bool is_of_group = false;  // the last two are the control group's
};

// `root` stands before the paths below /proc and /sys: for tests.
HostMemory ReadHostMemory(const char* root = "");

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_HOST_MEMORY_H_
