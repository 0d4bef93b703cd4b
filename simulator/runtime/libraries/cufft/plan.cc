#include "simulator/runtime/libraries/cufft/plan.h"

#include <library_types.h>

#include <algorithm>
#include <map>

#include "base/mutex.h"
#include "base/rounding.h"
#include "simulator/runtime/libraries/common/element_bytes.h"
#include "simulator/runtime/libraries/common/stand_in.h"

namespace vramstow::simulator {
namespace {

struct Plans {
  Mutex mutex;
  std::map<int, Plan> plans VRAMSTOW_GUARDED_BY(mutex);
  int next VRAMSTOW_GUARDED_BY(mutex) = 1;
};

Plans& ThePlans() {
  static Plans* plans = new Plans;
  return *plans;
}

bool IsReal(int type) {
  return type == CUDA_R_16F || type == CUDA_R_16BF || type == CUDA_R_32F || type == CUDA_R_64F;
}

// True if cuFFT can transform elements of this cudaDataType.
bool IsTransformed(int type) {
  return type != CUDA_R_8I && type != CUDA_R_32I && BytesOfElement(type) != 0;
}

// Sets the layout of dense data. If `half` is true, the last dimension has only the first half of
// its values.
void LayOut(const Geometry& geometry, bool half, Side* side) {
  side->stride = side->distance = 1;
  for (int d = 0; d < geometry.dimensions; ++d) {
    const bool is_last = d == geometry.dimensions - 1;
    side->embed[d] = half && is_last ? geometry.size[d] / 2 + 1 : geometry.size[d];
    side->distance *= side->embed[d];
  }
}

}  // namespace

int Geometry::Complete() {
  if (dimensions < 1 || dimensions > kMaxDimensions || batch < 1 ||
      std::any_of(size, size + dimensions, [](int64_t one) { return one < 1; })) {
    return kInvalidSize;
  }
  const bool real_in = IsReal(in.type);
  const bool real_out = IsReal(out.type);
  if (!IsTransformed(in.type) || !IsTransformed(out.type) || (real_in && real_out)) {
    return kInvalidType;
  }
  if (!is_dense) return 0;
  LayOut(*this, real_out, &in);
  LayOut(*this, real_in, &out);
  return 0;
}

size_t Geometry::AreaBytes() const {
  const size_t element = std::max(BytesOfElement(in.type), BytesOfElement(out.type));
  return RoundUp(static_cast<size_t>(Elements() * batch) * element, 512);
}

size_t Geometry::OutputBytes(bool in_place) const {
  const int last = dimensions - 1;
  Side side = out;
  if (in_place && is_dense && IsReal(out.type)) {
    const int64_t row = 2 * (size[last] / 2 + 1);
    side.embed[last] = row;
    side.distance = row;
    for (int d = 0; d < last; ++d) side.distance *= size[d];
  }
  // In a real transform, the complex side has only the first half of the last dimension.
  int64_t offset = 0;
  for (int d = 0; d < dimensions; ++d) {
    const int64_t index = d == last && IsReal(in.type) ? size[d] / 2 : size[d] - 1;
    offset = d == 0 ? index : offset * side.embed[d] + index;
  }
  const int64_t elements = (batch - 1) * side.distance + offset * side.stride + 1;
  return static_cast<size_t>(elements) * BytesOfElement(side.type);
}

int CreatePlan(int* handle) {
  if (handle == nullptr) return kInvalidValue;
  if (EnsureContext() != CUDA_SUCCESS) return kSetupFailed;
  Plans& plans = ThePlans();
  const MutexLock lock(&plans.mutex);
  *handle = plans.next++;
  plans.plans[*handle] = {};
  return 0;
}

int DestroyPlan(int handle) {
  CUdeviceptr area = 0;
  {
    Plans& plans = ThePlans();
    const MutexLock lock(&plans.mutex);
    const auto found = plans.plans.find(handle);
    if (found == plans.plans.end()) return kInvalidPlan;
    area = found->second.own_area;
    plans.plans.erase(found);
  }
  if (area != 0) FreeDeviceMemory(area);
  return 0;
}

int WithPlan(int handle, const std::function<int(Plan*)>& action) {
  Plans& plans = ThePlans();
  const MutexLock lock(&plans.mutex);
  const auto found = plans.plans.find(handle);
  return found == plans.plans.end() ? kInvalidPlan : action(&found->second);
}

int MakePlan(int handle, Geometry geometry, size_t* area_bytes) {
  int status = geometry.Complete();
  if (status != 0) return status;
  const size_t bytes = geometry.AreaBytes();
  bool allocates = false;
  status = WithPlan(handle, [&](Plan* plan) {
    if (plan->made) return int{kInvalidPlan};
    plan->made = true;
    plan->geometry = geometry;
    plan->area_bytes = bytes;
    allocates = plan->allocates;
    return 0;
  });
  if (status != 0) return status;
  if (area_bytes != nullptr) *area_bytes = bytes;
  CUdeviceptr area = 0;
  if (!allocates) return 0;
  if (AllocateDeviceMemory(&area, bytes) != CUDA_SUCCESS) return kAllocFailed;
  return WithPlan(handle, [area](Plan* plan) {
    plan->own_area = area;
    return 0;
  });
}

int Execute(int handle, const void* input, void* output, int direction) {
  if (input == nullptr || output == nullptr) return kInvalidValue;
  CUstream stream = nullptr;
  Geometry geometry;
  const int status = WithPlan(handle, [&](Plan* plan) {
    geometry = plan->geometry;
    stream = plan->stream;
    return plan->made ? 0 : int{kInvalidPlan};
  });
  if (status != 0) return status;
  return LaunchOf("cufft_transform", stream, {geometry.Elements(), 1, geometry.batch},
                  {{output, geometry.OutputBytes(input == output)}}, input, output, direction);
}

}  // namespace vramstow::simulator
