// What a stand-in's work would write, and does not: how the simulated driver learns of it.
//
// Idea: a stand-in keeps order, memory and time, and computes nothing. Where PyTorch asks, its
// operators are computed (adapters/values); what anybody else asks for reads as zeros, is marked as
// not computed, so that who reads it is told, and one sentence says so. On any other driver than
// the simulated one nothing is done.
//
// Ownership: none. Threads: any. Errors: none: what cannot be marked stays as it was. Units: bytes.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_COMMON_LEFT_OUT_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_COMMON_LEFT_OUT_H_

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace vramstow::simulator {

struct Result {
  const void* address = nullptr;
  size_t bytes = 0;
};

// The work `name` was just queued on the stream by LaunchWork, and would have written the results.
// `name` lives as long as the process.
void LeaveOut(const char* name, CUstream stream, std::initializer_list<Result> results);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_COMMON_LEFT_OUT_H_
