#include "simulator/runtime/libraries/cufft/plan.h"

#include <algorithm>
#include <map>

#include "base/mutex.h"
#include "base/rounding.h"
#include "simulator/runtime/libraries/common/device.h"
#include "simulator/runtime/libraries/common/element_bytes.h"
#include "simulator/runtime/libraries/common/kernels.h"
#include "simulator/runtime/libraries/common/left_out.h"

namespace vramstow::simulator {

const char kKernelModule[] = VRAMSTOW_KERNEL_MODULE_HEAD VRAMSTOW_KERNEL("cufft_transform");

namespace {

struct Plans {
  Mutex mutex;
  std::map<cufftHandle, Plan> plans VRAMSTOW_GUARDED_BY(mutex);
  cufftHandle next VRAMSTOW_GUARDED_BY(mutex) = 1;
};

Plans& ThePlans() {
  static Plans* plans = new Plans;
  return *plans;
}

void FreeArea(Plan* plan) {
  if (plan->own_area != 0) FreeDeviceMemory(plan->own_area);
  plan->own_area = 0;
}

// Returns the requested layout, or the layout of dense data if none was requested.
Side SideOf(const Geometry& geometry, const long long* embed, long long stride, long long distance,
            int type, bool half) {
  Side side;
  side.type = type;
  int64_t dense = 1;
  for (int d = 0; d < geometry.dimensions; ++d) {
    int64_t extent = geometry.size[d];
    if (half && d == geometry.dimensions - 1) extent = extent / 2 + 1;
    side.embed[d] = embed == nullptr ? extent : embed[d];
    dense *= extent;
  }
  side.stride = embed == nullptr ? 1 : stride;
  side.distance = embed == nullptr ? dense : distance;
  return side;
}

}  // namespace

cufftResult CreatePlan(cufftHandle* handle) {
  if (handle == nullptr) return CUFFT_INVALID_VALUE;
  if (EnsureContext() != CUDA_SUCCESS) return CUFFT_SETUP_FAILED;
  Plans& plans = ThePlans();
  const MutexLock lock(&plans.mutex);
  *handle = plans.next++;
  plans.plans[*handle] = {};
  return CUFFT_SUCCESS;
}

cufftResult DestroyPlan(cufftHandle handle) {
  Plan plan;
  {
    Plans& plans = ThePlans();
    const MutexLock lock(&plans.mutex);
    const auto found = plans.plans.find(handle);
    if (found == plans.plans.end()) return CUFFT_INVALID_PLAN;
    plan = found->second;
    plans.plans.erase(found);
  }
  FreeArea(&plan);
  return CUFFT_SUCCESS;
}

cufftResult WithPlan(cufftHandle handle, cufftResult (*action)(Plan* plan, void* argument),
                     void* argument) {
  Plans& plans = ThePlans();
  const MutexLock lock(&plans.mutex);
  const auto found = plans.plans.find(handle);
  return found == plans.plans.end() ? CUFFT_INVALID_PLAN : action(&found->second, argument);
}

cufftResult GeometryOf(const Request& request, Geometry* geometry) {
  if (request.dimensions < 1 || request.dimensions > kMaxDimensions || request.size == nullptr ||
      request.batch < 1) {
    return CUFFT_INVALID_SIZE;
  }
  geometry->dimensions = request.dimensions;
  geometry->batch = request.batch;
  for (int d = 0; d < request.dimensions; ++d) {
    if (request.size[d] < 1) return CUFFT_INVALID_SIZE;
    geometry->size[d] = request.size[d];
  }
  geometry->in.type = request.in_type;
  geometry->out.type = request.out_type;
  const bool real_in = geometry->InIsReal();
  const bool real_out = geometry->OutIsReal();
  if (!IsTransformed(request.in_type) || !IsTransformed(request.out_type) ||
      (real_in && real_out)) {
    return CUFFT_INVALID_TYPE;
  }
  geometry->basic = request.in_embed == nullptr;
  geometry->in = SideOf(*geometry, request.in_embed, request.in_stride, request.in_distance,
                        request.in_type, real_out);
  geometry->out = SideOf(*geometry, request.out_embed, request.out_stride, request.out_distance,
                         request.out_type, real_in);
  return CUFFT_SUCCESS;
}

size_t AreaBytes(const Geometry& geometry) {
  const size_t element =
      std::max(BytesOfElement(geometry.in.type), BytesOfElement(geometry.out.type));
  const auto values = static_cast<size_t>(geometry.Elements() * geometry.batch);
  return RoundUp(values * element, 512);
}

cufftResult MakePlan(cufftHandle handle, const Request& request, size_t* area_bytes) {
  Geometry geometry;
  const cufftResult result = GeometryOf(request, &geometry);
  if (result != CUFFT_SUCCESS) return result;
  const size_t bytes = AreaBytes(geometry);
  Plans& plans = ThePlans();
  bool allocates = false;
  {
    const MutexLock lock(&plans.mutex);
    const auto found = plans.plans.find(handle);
    if (found == plans.plans.end() || found->second.made) return CUFFT_INVALID_PLAN;
    Plan& plan = found->second;
    plan.made = true;
    plan.geometry = geometry;
    plan.area_bytes = bytes;
    allocates = plan.allocates;
  }
  if (area_bytes != nullptr) *area_bytes = bytes;
  CUdeviceptr area = 0;
  if (!allocates) return CUFFT_SUCCESS;
  if (AllocateDeviceMemory(&area, bytes) != CUDA_SUCCESS) return CUFFT_ALLOC_FAILED;
  return WithPlan(
      handle,
      [](Plan* plan, void* argument) {
        plan->own_area = *static_cast<CUdeviceptr*>(argument);
        return CUFFT_SUCCESS;
      },
      &area);
}

cufftResult Execute(cufftHandle handle, const void* input, void* output, int direction) {
  if (input == nullptr || output == nullptr) return CUFFT_INVALID_VALUE;
  const uint64_t words[] = {reinterpret_cast<uint64_t>(input), reinterpret_cast<uint64_t>(output),
                            static_cast<uint64_t>(static_cast<int64_t>(direction))};
  CUstream stream = nullptr;
  Geometry geometry;
  {
    Plans& plans = ThePlans();
    const MutexLock lock(&plans.mutex);
    const auto found = plans.plans.find(handle);
    if (found == plans.plans.end() || !found->second.made) return CUFFT_INVALID_PLAN;
    geometry = found->second.geometry;
    stream = found->second.stream;
  }
  const WorkSize size = {geometry.Elements(), 1, geometry.batch};
  if (LaunchWork("cufft_transform", stream, size, words, 3) != CUDA_SUCCESS) {
    return CUFFT_EXEC_FAILED;
  }
  LeaveOut("cufft_transform", stream, {{output, geometry.OutputBytes(input == output)}});
  return CUFFT_SUCCESS;
}

}  // namespace vramstow::simulator
