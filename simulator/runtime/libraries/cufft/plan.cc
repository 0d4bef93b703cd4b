#include "simulator/runtime/libraries/cufft/plan.h"

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <map>

#include "base/rounding.h"
#include "simulator/mutex.h"
#include "simulator/runtime/libraries/common/device.h"
#include "simulator/runtime/libraries/common/emulation.h"
#include "simulator/runtime/libraries/common/kernels.h"
#include "simulator/runtime/libraries/common/refusal.h"

namespace vramstow::simulator {

const char kKernelModule[] = VRAMSTOW_KERNEL_MODULE_HEAD VRAMSTOW_KERNEL("cufft_transform");

namespace {

constexpr int64_t kValues = int64_t{1} << 22;
constexpr uint64_t kDurationNs = 10000;

struct Plans {
  Mutex mutex;
  std::map<cufftHandle, Plan> plans VRAMSTOW_GUARDED_BY(mutex);
  cufftHandle next VRAMSTOW_GUARDED_BY(mutex) = 1;
  // By number. Never shrinks: a launch or a graph may still name one. A deque keeps them in place.
  std::deque<Geometry> geometries VRAMSTOW_GUARDED_BY(mutex);
};

Plans& ThePlans() {
  static Plans* plans = new Plans;
  return *plans;
}

int64_t MostValues() {
  const char* text = getenv("VRAMSTOW_CUFFT_VALUES");
  return text == nullptr ? kValues : strtoll(text, nullptr, 10);
}

// The kernel's words: number of the geometry, input, output, direction.
void RunTransform(const EmulationLaunch* launch) {
  const uint64_t* words = WordsOf(launch);
  Geometry geometry;
  {
    Plans& plans = ThePlans();
    const MutexLock lock(&plans.mutex);
    if (words[0] >= plans.geometries.size()) return;
    geometry = plans.geometries[words[0]];
  }
  if (geometry.Elements() * geometry.batch > MostValues()) {
    static bool said = false;
    if (!said) {
      LogOnStderr("a cuFFT transform is larger than VRAMSTOW_CUFFT_VALUES; it is not computed.");
    }
    said = true;
    return;
  }
  const bool same = words[1] == words[2];
  const Side in = same ? InPlace(geometry, geometry.in, geometry.InIsReal()) : geometry.in;
  const Side out = same ? InPlace(geometry, geometry.out, geometry.OutIsReal()) : geometry.out;
  void* input = DeviceBytes(words[1], BytesOfSide(geometry, in, geometry.OutIsReal()), same);
  void* output = DeviceBytes(words[2], BytesOfSide(geometry, out, geometry.InIsReal()), true);
  if (input == nullptr || output == nullptr) return;
  Transform(geometry, input, output, static_cast<int>(static_cast<int64_t>(words[3])));
}

void FreeArea(Plan* plan) {
  if (plan->own_area != 0) FreeDeviceMemory(plan->own_area);
  plan->own_area = 0;
}

// The layout of dense data, or what was asked for.
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
  static const bool registered = RegisterEmulation("cufft_transform", RunTransform, kDurationNs);
  static_cast<void>(registered);  // without it outputs stay as they are
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
  if (request.dimensions < 1 || request.dimensions > kMostDimensions || request.size == nullptr ||
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
  if (BytesOfElement(request.in_type) == 0 || BytesOfElement(request.out_type) == 0 ||
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
    plan.geometry = plans.geometries.size();
    plan.area_bytes = bytes;
    plans.geometries.push_back(geometry);
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
  uint64_t words[4] = {0, reinterpret_cast<uint64_t>(input), reinterpret_cast<uint64_t>(output),
                       static_cast<uint64_t>(static_cast<int64_t>(direction))};
  CUstream stream = nullptr;
  WorkSize size;
  {
    Plans& plans = ThePlans();
    const MutexLock lock(&plans.mutex);
    const auto found = plans.plans.find(handle);
    if (found == plans.plans.end() || !found->second.made) return CUFFT_INVALID_PLAN;
    words[0] = found->second.geometry;
    stream = found->second.stream;
    const Geometry& geometry = plans.geometries[words[0]];
    size = {geometry.Elements(), 1, geometry.batch};
  }
  // Not under the lock: the kernel's effect takes it inside the driver's.
  const CUresult result = LaunchWork("cufft_transform", stream, size, words, 4);
  return result == CUDA_SUCCESS ? CUFFT_SUCCESS : CUFFT_EXEC_FAILED;
}

}  // namespace vramstow::simulator
