// Decides which file a program gets if it opens a copy of the CUDA runtime.
//
// Idea: in a simulated run the simulated runtime is preloaded, and a program that is linked with
// libcudart.so.13 gets it. Programs also open copies of the runtime: by name, by the path that they
// find in /proc/self/maps, or a copy that a wheel contains under its own name
// (libcudart.0123abcd.so.13). NVIDIA's copy would refuse the simulated driver. So dlopen of any of
// these opens the simulated runtime of the same family (major version), if there is one.
//
// Ownership: the answer lives as long as the process. Threads: any. Errors: without a simulated
// runtime the file is not replaced. Units: none.
#ifndef VRAMSTOW_INTERPOSE_SHIM_RUNTIME_COPIES_H_
#define VRAMSTOW_INTERPOSE_SHIM_RUNTIME_COPIES_H_

#include "interpose/shim/text.h"

namespace vramstow {

inline constexpr int kNoRuntime = -1;
inline constexpr int kAnyFamily = 0;

// Returns the family (major version) of a shared CUDA runtime. It is the number after ".so." in the
// file name, with or without the hash that a wheel adds to the name. Returns kAnyFamily if there is
// no number, and kNoRuntime if this is no runtime.
constexpr int RuntimeFamily(const char* path) {
  constexpr char kName[] = "libcudart";
  const char* name = BaseName(path);
  if (!StartsWith(name, kName)) return kNoRuntime;
  name += sizeof kName - 1;
  if (*name != '.' && *name != '-') return kNoRuntime;
  while (*name != '\0' && !(StartsWith(name, ".so") && (name[3] == '.' || name[3] == '\0'))) ++name;
  if (*name == '\0') return kNoRuntime;
  int family = kAnyFamily;
  constexpr int kMax = 1000;
  for (name += name[3] == '.' ? 4 : 3; *name >= '0' && *name <= '9' && family < kMax; ++name) {
    family = family * 10 + (*name - '0');
  }
  return family;
}

// Returns the file that dlopen opens in place of `file`, which may be null.
const char* FileToOpen(const char* file);

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_SHIM_RUNTIME_COPIES_H_
