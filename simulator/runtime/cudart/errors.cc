// Implements the names and texts of errors, the conversion of the driver's results, and the
// thread's last error.
#include "simulator/runtime/cudart/runtime.h"

namespace vramstow::simulator::cudart {

cudaError_t FromDriver(CUresult result) {
  // The runtime and the driver use the same number for the same error. A result that the runtime
  // does not have becomes cudaErrorUnknown.
  switch (static_cast<int>(result)) {
#define RUNTIME_ERROR(name, text) \
  case name:                      \
    return name;
#include "simulator/runtime/cudart/errors.def"
#undef RUNTIME_ERROR
    default:
      return cudaErrorUnknown;
  }
}

}  // namespace vramstow::simulator::cudart

using namespace vramstow::simulator::cudart;  // NOLINT(google-build-using-namespace)

const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
#define RUNTIME_ERROR(name, text) \
  case name:                      \
    return #name;
#include "simulator/runtime/cudart/errors.def"
#undef RUNTIME_ERROR
    default:
      return "unrecognized error code";
  }
}

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
#define RUNTIME_ERROR(name, text) \
  case name:                      \
    return text;
#include "simulator/runtime/cudart/errors.def"
#undef RUNTIME_ERROR
    default:
      return "unrecognized error code";
  }
}

cudaError_t cudaGetLastError() { return PopLastError(); }

cudaError_t cudaPeekAtLastError() { return LastError(); }
