// Errors: names, texts, the driver's results, and the thread's last error.
#include "simulator/runtime/cudart/runtime.h"

namespace vramstow::simulator::cudart {

cudaError_t FromDriver(CUresult result) {
  // Both enumerations give one number to one meaning; what the runtime has no number for is
  // "unknown" to its callers.
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

cudaError_t cudaGetLastError() { return TakeLastError(); }

cudaError_t cudaPeekAtLastError() { return LastError(); }
