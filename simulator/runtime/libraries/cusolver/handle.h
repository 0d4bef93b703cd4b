// Defines the state behind a cusolverDnHandle_t, and launches the kernels that stand for
// computations.
//
// Ownership: cusolverDnCreate allocates, cusolverDnDestroy frees. Threads: one handle is used by
// one thread at a time, as with cuSOLVER. Errors: cusolverStatus_t.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUSOLVER_HANDLE_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUSOLVER_HANDLE_H_

#include <cuda.h>

#include <initializer_list>

#include "simulator/runtime/libraries/common/left_out.h"
#include "simulator/runtime/libraries/cusolver/api.h"

struct cusolverDnContext {  // NOLINT(readability-identifier-naming): the header's name
  uint64_t magic = 0;
  CUstream stream = nullptr;
};

namespace vramstow::simulator {

bool IsHandle(const cusolverDnContext* handle);

// Queues kernel `name` with these argument words, and marks its results as not computed.
cusolverStatus_t LaunchSolver(const cusolverDnContext* handle, const char* name,
                              std::initializer_list<uint64_t> words,
                              std::initializer_list<Result> results);

inline uint64_t Word(const void* address) { return reinterpret_cast<uint64_t>(address); }
inline uint64_t Word(int64_t number) { return static_cast<uint64_t>(number); }

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUSOLVER_HANDLE_H_
