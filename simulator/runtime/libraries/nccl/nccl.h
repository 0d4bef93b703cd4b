// Includes NVIDIA's nccl.h in the files that define its functions.
//
// VRAMSTOW_NCCL_BOTH(result, name, (parameters), (arguments)) begins the definition of ncclNAME,
// and also exports pncclNAME, the profiling name that NCCL gives every function. The functions are
// declared here and not by the header, because the build may find headers of different releases.
//
// Ownership, threads, errors, units: those of the functions.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_NCCL_NCCL_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_NCCL_NCCL_H_

#pragma GCC visibility push(default)
#include <nccl.h>
#pragma GCC visibility pop

#define VRAMSTOW_EXPORTED extern "C" __attribute__((visibility("default")))

// Macro arguments are a type and a parameter list here, which cannot be put in parentheses.
// NOLINTBEGIN(bugprone-macro-parentheses)
#define VRAMSTOW_NCCL_BOTH(result, name, parameters, arguments)                    \
  VRAMSTOW_EXPORTED result nccl##name parameters;                                  \
  VRAMSTOW_EXPORTED result pnccl##name parameters { return nccl##name arguments; } \
  result nccl##name parameters
// NOLINTEND(bugprone-macro-parentheses)

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_NCCL_NCCL_H_
