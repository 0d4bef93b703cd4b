// Implements cuFFT's functions, which convert their sizes and layouts into those of a plan.
//
// Names and constants are those of NVIDIA's cufft.h and cufftXt.h, restated so that the build needs
// no further headers.
#include <library_types.h>

#include <algorithm>

#include "simulator/runtime/libraries/common/kernels.h"
#include "simulator/runtime/libraries/common/stand_in.h"
#include "simulator/runtime/libraries/cufft/plan.h"

namespace vramstow::simulator {

const LibraryIdentity kLibrary = {"cuFFT", kNotSupported, "CUFFT_NOT_SUPPORTED"};
const StatusCodes kCodes = {kInvalidPlan, kAllocFailed, kInvalidValue, kExecFailed};
const char kKernelModule[] = VRAMSTOW_KERNEL_MODULE_HEAD VRAMSTOW_KERNEL("cufft_transform");

namespace {

using P = void*;  // a pointer of any type
using LL = long long;

// The layout of the input or the output. Index is the type of numbers that the function takes.
template <typename Index>
struct Layout {
  const Index* embed;
  Index stride;
  Index distance;
  int type = 0;  // a cudaDataType

  Side As64Bits(int rank) const {
    Side side = {{}, stride, distance, type};
    if (embed != nullptr) std::copy_n(embed, rank, side.embed);
    return side;
  }
};

// The requested transform, or an error status if there is no such transform.
struct Asked {
  int status = 0;
  Geometry geometry;
};

template <typename Index>
Asked Many(int rank, const Index* n, const Layout<Index>& in, const Layout<Index>& out,
           Index batch) {
  Asked asked;
  if (rank < 1 || rank > kMaxDimensions || n == nullptr) return {kInvalidSize, {}};
  Geometry& geometry = asked.geometry;
  geometry.dimensions = rank;
  geometry.batch = batch;
  std::copy_n(n, rank, geometry.size);
  geometry.is_dense = in.embed == nullptr || out.embed == nullptr;  // it uses both or none
  geometry.in = in.As64Bits(rank);
  geometry.out = out.As64Bits(rank);
  return asked;
}

// Sets the types of the input and the output according to `type`, a cufftType.
Asked Typed(Asked asked, int type) {
  constexpr int kTypes[][3] = {
      {0x2a, CUDA_R_32F, CUDA_C_32F}, {0x2c, CUDA_C_32F, CUDA_R_32F},
      {0x29, CUDA_C_32F, CUDA_C_32F}, {0x6a, CUDA_R_64F, CUDA_C_64F},
      {0x6c, CUDA_C_64F, CUDA_R_64F}, {0x69, CUDA_C_64F, CUDA_C_64F},
  };
  if (asked.status != 0) return asked;
  for (const auto& [known, in, out] : kTypes) {
    if (known != type) continue;
    asked.geometry.in.type = in;
    asked.geometry.out.type = out;
    return asked;
  }
  return {kInvalidType, {}};
}

Asked Dense(int dimensions, int x, int y, int z, int type, int batch) {
  const int sizes[] = {x, y, z};
  return Typed(Many<int>(dimensions, sizes, {nullptr, 1, 0}, {nullptr, 1, 0}, batch), type);
}

int Make(int plan, const Asked& asked, size_t* bytes) {
  return asked.status == 0 ? MakePlan(plan, asked.geometry, bytes) : asked.status;
}

// Makes a new handle with its plan.
int MakeNew(int* plan, const Asked& asked) {
  int status = CreatePlan(plan);
  if (status != 0) return status;
  status = Make(*plan, asked, nullptr);
  if (status != 0) DestroyPlan(*plan);
  return status;
}

int Size(Asked asked, size_t* bytes) {
  if (asked.status != 0) return asked.status;
  if (bytes == nullptr) return kInvalidValue;
  const int status = asked.geometry.Complete();
  if (status == 0) *bytes = asked.geometry.AreaBytes();
  return status;
}

int SizeOfPlan(int handle, size_t* bytes) {
  if (bytes == nullptr) return kInvalidValue;
  return WithPlan(handle, [bytes](Plan* plan) {
    *bytes = plan->area_bytes;
    return plan->made ? 0 : int{kInvalidPlan};
  });
}

int SetPlanStream(int handle, CUstream stream) {
  return WithPlan(handle, [stream](Plan* plan) {
    plan->stream = stream;
    return 0;
  });
}

int SetAllocates(int handle, bool allocates) {
  return WithPlan(handle, [allocates](Plan* plan) {
    plan->allocates = allocates;
    return 0;
  });
}

int CheckPlan(int handle) {
  return WithPlan(handle, [](Plan*) { return 0; });
}

// The value that stands for the direction of a transform that has only one direction.
constexpr int kOnlyDirection = -1;

}  // namespace
}  // namespace vramstow::simulator

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C API's own file

VRAMSTOW_ROW(cufftGetVersion, (int* version), GetVersion(kCufftVersion, version))
VRAMSTOW_ROW(cufftGetProperty, (int part, int* value), GetProperty(kCufftVersion, part, value))
VRAMSTOW_ROW(cufftCreate, (int* plan), CreatePlan(plan))
VRAMSTOW_ROW(cufftDestroy, (int plan), DestroyPlan(plan))
VRAMSTOW_ROW(cufftSetStream, (int plan, CUstream stream), SetPlanStream(plan, stream))
VRAMSTOW_ROW(cufftSetAutoAllocation, (int plan, int allocates), SetAllocates(plan, allocates != 0))
// Only the plan is checked, because nothing is stored in a work area.
VRAMSTOW_ROW(cufftSetWorkArea, (int plan, P), CheckPlan(plan))

VRAMSTOW_ROW(cufftPlan1d, (int* plan, int x, int type, int batch),
             MakeNew(plan, Dense(1, x, 1, 1, type, batch)))
VRAMSTOW_ROW(cufftPlan2d, (int* plan, int x, int y, int type),
             MakeNew(plan, Dense(2, x, y, 1, type, 1)))
VRAMSTOW_ROW(cufftPlan3d, (int* plan, int x, int y, int z, int type),
             MakeNew(plan, Dense(3, x, y, z, type, 1)))
VRAMSTOW_ROW(cufftPlanMany,
             (int* plan, int rank, int* n, int* in, int in_stride, int in_distance, int* out,
              int out_stride, int out_distance, int type, int batch),
             MakeNew(plan, Typed(Many<int>(rank, n, {in, in_stride, in_distance},
                                           {out, out_stride, out_distance}, batch),
                                 type)))
VRAMSTOW_ROW(cufftMakePlan1d, (int plan, int x, int type, int batch, size_t* bytes),
             Make(plan, Dense(1, x, 1, 1, type, batch), bytes))
VRAMSTOW_ROW(cufftMakePlan2d, (int plan, int x, int y, int type, size_t* bytes),
             Make(plan, Dense(2, x, y, 1, type, 1), bytes))
VRAMSTOW_ROW(cufftMakePlan3d, (int plan, int x, int y, int z, int type, size_t* bytes),
             Make(plan, Dense(3, x, y, z, type, 1), bytes))
VRAMSTOW_ROW(cufftMakePlanMany,
             (int plan, int rank, int* n, int* in, int in_stride, int in_distance, int* out,
              int out_stride, int out_distance, int type, int batch, size_t* bytes),
             Make(plan,
                  Typed(Many<int>(rank, n, {in, in_stride, in_distance},
                                  {out, out_stride, out_distance}, batch),
                        type),
                  bytes))
VRAMSTOW_ROW(cufftMakePlanMany64,
             (int plan, int rank, LL* n, LL* in, LL in_stride, LL in_distance, LL* out,
              LL out_stride, LL out_distance, int type, LL batch, size_t* bytes),
             Make(plan,
                  Typed(Many<LL>(rank, n, {in, in_stride, in_distance},
                                 {out, out_stride, out_distance}, batch),
                        type),
                  bytes))
VRAMSTOW_ROW(cufftXtMakePlanMany,
             (int plan, int rank, LL* n, LL* in, LL in_stride, LL in_distance, int in_type, LL* out,
              LL out_stride, LL out_distance, int out_type, LL batch, size_t* bytes, int),
             Make(plan,
                  Many<LL>(rank, n, {in, in_stride, in_distance, in_type},
                           {out, out_stride, out_distance, out_type}, batch),
                  bytes))

VRAMSTOW_ROW(cufftGetSize, (int plan, size_t* bytes), SizeOfPlan(plan, bytes))
VRAMSTOW_ROW(cufftEstimate1d, (int x, int type, int batch, size_t* bytes),
             Size(Dense(1, x, 1, 1, type, batch), bytes))
VRAMSTOW_ROW(cufftEstimate2d, (int x, int y, int type, size_t* bytes),
             Size(Dense(2, x, y, 1, type, 1), bytes))
VRAMSTOW_ROW(cufftEstimate3d, (int x, int y, int z, int type, size_t* bytes),
             Size(Dense(3, x, y, z, type, 1), bytes))
VRAMSTOW_ROW(cufftGetSize1d, (int, int x, int type, int batch, size_t* bytes),
             Size(Dense(1, x, 1, 1, type, batch), bytes))
VRAMSTOW_ROW(cufftGetSize2d, (int, int x, int y, int type, size_t* bytes),
             Size(Dense(2, x, y, 1, type, 1), bytes))
VRAMSTOW_ROW(cufftGetSize3d, (int, int x, int y, int z, int type, size_t* bytes),
             Size(Dense(3, x, y, z, type, 1), bytes))
// The size of the work area does not depend on the layouts.
VRAMSTOW_ROW(cufftXtGetSizeMany,
             (int, int rank, LL* n, LL*, LL, LL, int in_type, LL*, LL, LL, int out_type, LL batch,
              size_t* bytes, int),
             Size(Many<LL>(rank, n, {nullptr, 1, 0, in_type}, {nullptr, 1, 0, out_type}, batch),
                  bytes))

VRAMSTOW_ROW(cufftXtExec, (int plan, P in, P out, int direction), Execute(plan, in, out, direction))
VRAMSTOW_ROW(cufftExecC2C, (int plan, P in, P out, int direction),
             Execute(plan, in, out, direction))
VRAMSTOW_ROW(cufftExecZ2Z, (int plan, P in, P out, int direction),
             Execute(plan, in, out, direction))
VRAMSTOW_ROW(cufftExecR2C, (int plan, P in, P out), Execute(plan, in, out, kOnlyDirection))
VRAMSTOW_ROW(cufftExecD2Z, (int plan, P in, P out), Execute(plan, in, out, kOnlyDirection))
VRAMSTOW_ROW(cufftExecC2R, (int plan, P in, P out), Execute(plan, in, out, kOnlyDirection))
VRAMSTOW_ROW(cufftExecZ2D, (int plan, P in, P out), Execute(plan, in, out, kOnlyDirection))
