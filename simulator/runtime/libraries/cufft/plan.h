// Defines the plans behind cuFFT's handles, and executes them.
//
// Modelled: a plan's work area is as large as its data set in complex values, rounded up to 512
// bytes (the documentation says "the size of the work area depends on the transform"). It is
// allocated with the plan unless the application provides one. The results of transforms are not
// computed (common/left_out.h).
//
// Ownership: a table of plans that lives as long as the process. Threads: any, as with cuFFT.
// Errors: cufftResult. Units: bytes.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUFFT_PLAN_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUFFT_PLAN_H_

#include <cuda.h>

#include "simulator/runtime/libraries/cufft/api.h"
#include "simulator/runtime/libraries/cufft/geometry.h"

namespace vramstow::simulator {

struct Plan {
  bool made = false;
  bool allocates = true;
  CUstream stream = nullptr;
  CUdeviceptr own_area = 0;
  size_t area_bytes = 0;
  Geometry geometry;
};

cufftResult CreatePlan(cufftHandle* handle);
cufftResult DestroyPlan(cufftHandle handle);
// Calls action(plan) while the table is locked. Returns CUFFT_INVALID_PLAN if there is no such
// plan.
cufftResult WithPlan(cufftHandle handle, cufftResult (*action)(Plan* plan, void* argument),
                     void* argument);

// The sizes and layouts that cufftXtMakePlanMany takes. A null layout means dense data.
struct Request {
  int dimensions = 1;
  const long long* size = nullptr;
  const long long* in_embed = nullptr;
  long long in_stride = 1;
  long long in_distance = 0;
  int in_type = 0;
  const long long* out_embed = nullptr;
  long long out_stride = 1;
  long long out_distance = 0;
  int out_type = 0;
  long long batch = 1;
};
cufftResult GeometryOf(const Request& request, Geometry* geometry);
size_t AreaBytes(const Geometry& geometry);
cufftResult MakePlan(cufftHandle handle, const Request& request, size_t* area_bytes);
cufftResult Execute(cufftHandle handle, const void* input, void* output, int direction);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUFFT_PLAN_H_
