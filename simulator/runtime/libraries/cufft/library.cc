// Implements the functions of cuFFT.
#include <library_types.h>

#include <algorithm>

#include "simulator/runtime/libraries/common/refusal.h"
#include "simulator/runtime/libraries/common/versions.h"
#include "simulator/runtime/libraries/cufft/plan.h"

namespace vramstow::simulator {

const LibraryIdentity kLibrary = {"cuFFT", CUFFT_NOT_SUPPORTED, "CUFFT_NOT_SUPPORTED"};

namespace {

bool TypesOf(cufftType type, Request* request) {
  struct Entry {
    cufftType type;
    int in;
    int out;
  };
  constexpr Entry kEntries[] = {
      {CUFFT_R2C, CUDA_R_32F, CUDA_C_32F}, {CUFFT_C2R, CUDA_C_32F, CUDA_R_32F},
      {CUFFT_C2C, CUDA_C_32F, CUDA_C_32F}, {CUFFT_D2Z, CUDA_R_64F, CUDA_C_64F},
      {CUFFT_Z2D, CUDA_C_64F, CUDA_R_64F}, {CUFFT_Z2Z, CUDA_C_64F, CUDA_C_64F},
  };
  for (const Entry& entry : kEntries) {
    if (entry.type != type) continue;
    request->in_type = entry.in;
    request->out_type = entry.out;
    return true;
  }
  return false;
}

// The arguments of cufftMakePlanMany, converted to 64 bits.
struct Many {
  long long size[kMaxDimensions] = {};
  long long in_embed[kMaxDimensions] = {};
  long long out_embed[kMaxDimensions] = {};
  Request request;
};

template <typename Index>
cufftResult Widen(int rank, const Index* n, const Index* inembed, Index istride, Index idist,
                  const Index* onembed, Index ostride, Index odist, cufftType type, Index batch,
                  Many* many) {
  if (rank < 1 || rank > kMaxDimensions || n == nullptr) return CUFFT_INVALID_SIZE;
  Request& request = many->request;
  if (!TypesOf(type, &request)) return CUFFT_INVALID_TYPE;
  std::copy_n(n, rank, many->size);
  request.dimensions = rank;
  request.size = many->size;
  request.batch = batch;
  // The layouts are used only if both are given.
  if (inembed != nullptr && onembed != nullptr) {
    std::copy_n(inembed, rank, many->in_embed);
    std::copy_n(onembed, rank, many->out_embed);
    request.in_embed = many->in_embed;
    request.out_embed = many->out_embed;
    request.in_stride = istride;
    request.in_distance = idist;
    request.out_stride = ostride;
    request.out_distance = odist;
  }
  return CUFFT_SUCCESS;
}

Many Dense(int rank, int nx, int ny, int nz, cufftType type, int batch, cufftResult* result) {
  const int sizes[kMaxDimensions] = {nx, ny, nz};
  Many many;
  *result = Widen<int>(rank, sizes, nullptr, 1, 0, nullptr, 1, 0, type, batch, &many);
  return many;
}

cufftResult MakeDense(cufftHandle plan, int rank, int nx, int ny, int nz, cufftType type, int batch,
                      size_t* bytes) {
  cufftResult result = CUFFT_SUCCESS;
  const Many many = Dense(rank, nx, ny, nz, type, batch, &result);
  Request request = many.request;
  request.size = many.size;
  return result == CUFFT_SUCCESS ? MakePlan(plan, request, bytes) : result;
}

cufftResult PlanDense(cufftHandle* plan, int rank, int nx, int ny, int nz, cufftType type,
                      int batch) {
  cufftResult result = CreatePlan(plan);
  if (result != CUFFT_SUCCESS) return result;
  result = MakeDense(*plan, rank, nx, ny, nz, type, batch, nullptr);
  if (result != CUFFT_SUCCESS) DestroyPlan(*plan);
  return result;
}

cufftResult SizeOf(const Request& request, size_t* bytes) {
  Geometry geometry;
  const cufftResult result =
      bytes == nullptr ? CUFFT_INVALID_VALUE : GeometryOf(request, &geometry);
  if (result == CUFFT_SUCCESS) *bytes = AreaBytes(geometry);
  return result;
}

cufftResult SizeDense(int rank, int nx, int ny, int nz, cufftType type, int batch, size_t* bytes) {
  cufftResult result = CUFFT_SUCCESS;
  const Many many = Dense(rank, nx, ny, nz, type, batch, &result);
  Request request = many.request;
  request.size = many.size;
  return result == CUFFT_SUCCESS ? SizeOf(request, bytes) : result;
}

// The direction of transforms that have only one.
constexpr int kOnlyDirection = -1;

}  // namespace
}  // namespace vramstow::simulator

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C API's own file

VRAMSTOW_CUFFT cufftResult cufftGetVersion(int* version) {
  if (version == nullptr) return CUFFT_INVALID_VALUE;
  *version = kCufftVersion.major * 1000 + kCufftVersion.minor * 100 + kCufftVersion.patch;
  return CUFFT_SUCCESS;
}

VRAMSTOW_CUFFT cufftResult cufftGetProperty(libraryPropertyType type, int* value) {
  if (value == nullptr || type < MAJOR_VERSION || type > PATCH_LEVEL) return CUFFT_INVALID_VALUE;
  const int parts[] = {kCufftVersion.major, kCufftVersion.minor, kCufftVersion.patch};
  *value = parts[type];
  return CUFFT_SUCCESS;
}

VRAMSTOW_CUFFT cufftResult cufftCreate(cufftHandle* handle) { return CreatePlan(handle); }
VRAMSTOW_CUFFT cufftResult cufftDestroy(cufftHandle plan) { return DestroyPlan(plan); }

VRAMSTOW_CUFFT cufftResult cufftPlan1d(cufftHandle* plan, int nx, cufftType type, int batch) {
  return PlanDense(plan, 1, nx, 1, 1, type, batch);
}
VRAMSTOW_CUFFT cufftResult cufftPlan2d(cufftHandle* plan, int nx, int ny, cufftType type) {
  return PlanDense(plan, 2, nx, ny, 1, type, 1);
}
VRAMSTOW_CUFFT cufftResult cufftPlan3d(cufftHandle* plan, int nx, int ny, int nz, cufftType type) {
  return PlanDense(plan, 3, nx, ny, nz, type, 1);
}
VRAMSTOW_CUFFT cufftResult cufftMakePlan1d(cufftHandle plan, int nx, cufftType type, int batch,
                                           size_t* workSize) {
  return MakeDense(plan, 1, nx, 1, 1, type, batch, workSize);
}
VRAMSTOW_CUFFT cufftResult cufftMakePlan2d(cufftHandle plan, int nx, int ny, cufftType type,
                                           size_t* workSize) {
  return MakeDense(plan, 2, nx, ny, 1, type, 1, workSize);
}
VRAMSTOW_CUFFT cufftResult cufftMakePlan3d(cufftHandle plan, int nx, int ny, int nz, cufftType type,
                                           size_t* workSize) {
  return MakeDense(plan, 3, nx, ny, nz, type, 1, workSize);
}

VRAMSTOW_CUFFT cufftResult cufftMakePlanMany(cufftHandle plan, int rank, int* n, int* inembed,
                                             int istride, int idist, int* onembed, int ostride,
                                             int odist, cufftType type, int batch,
                                             size_t* workSize) {
  Many many;
  const cufftResult result =
      Widen<int>(rank, n, inembed, istride, idist, onembed, ostride, odist, type, batch, &many);
  return result == CUFFT_SUCCESS ? MakePlan(plan, many.request, workSize) : result;
}

VRAMSTOW_CUFFT cufftResult cufftPlanMany(cufftHandle* plan, int rank, int* n, int* inembed,
                                         int istride, int idist, int* onembed, int ostride,
                                         int odist, cufftType type, int batch) {
  cufftResult result = CreatePlan(plan);
  if (result != CUFFT_SUCCESS) return result;
  result = cufftMakePlanMany(*plan, rank, n, inembed, istride, idist, onembed, ostride, odist, type,
                             batch, nullptr);
  if (result != CUFFT_SUCCESS) DestroyPlan(*plan);
  return result;
}

VRAMSTOW_CUFFT cufftResult cufftMakePlanMany64(cufftHandle plan, int rank, long long* n,
                                               long long* inembed, long long istride,
                                               long long idist, long long* onembed,
                                               long long ostride, long long odist, cufftType type,
                                               long long batch, size_t* workSize) {
  Many many;
  const cufftResult result = Widen<long long>(rank, n, inembed, istride, idist, onembed, ostride,
                                              odist, type, batch, &many);
  return result == CUFFT_SUCCESS ? MakePlan(plan, many.request, workSize) : result;
}

VRAMSTOW_CUFFT cufftResult cufftXtMakePlanMany(
    cufftHandle plan, int rank, long long* n, long long* inembed, long long istride,
    long long idist, cudaDataType inputtype, long long* onembed, long long ostride, long long odist,
    cudaDataType outputtype, long long batch, size_t* workSize, cudaDataType /*executiontype*/) {
  const bool layouts = inembed != nullptr && onembed != nullptr;
  return MakePlan(plan,
                  {rank, n, layouts ? inembed : nullptr, istride, idist, inputtype,
                   layouts ? onembed : nullptr, ostride, odist, outputtype, batch},
                  workSize);
}

VRAMSTOW_CUFFT cufftResult cufftXtGetSizeMany(cufftHandle /*plan*/, int rank, long long* n,
                                              long long* /*inembed*/, long long /*istride*/,
                                              long long /*idist*/, cudaDataType inputtype,
                                              long long* /*onembed*/, long long /*ostride*/,
                                              long long /*odist*/, cudaDataType outputtype,
                                              long long batch, size_t* workSize,
                                              cudaDataType /*executiontype*/) {
  return SizeOf({rank, n, nullptr, 1, 0, inputtype, nullptr, 1, 0, outputtype, batch}, workSize);
}

VRAMSTOW_CUFFT cufftResult cufftEstimate1d(int nx, cufftType type, int batch, size_t* workSize) {
  return SizeDense(1, nx, 1, 1, type, batch, workSize);
}
VRAMSTOW_CUFFT cufftResult cufftEstimate2d(int nx, int ny, cufftType type, size_t* workSize) {
  return SizeDense(2, nx, ny, 1, type, 1, workSize);
}
VRAMSTOW_CUFFT cufftResult cufftEstimate3d(int nx, int ny, int nz, cufftType type,
                                           size_t* workSize) {
  return SizeDense(3, nx, ny, nz, type, 1, workSize);
}
VRAMSTOW_CUFFT cufftResult cufftGetSize1d(cufftHandle /*plan*/, int nx, cufftType type, int batch,
                                          size_t* workSize) {
  return SizeDense(1, nx, 1, 1, type, batch, workSize);
}
VRAMSTOW_CUFFT cufftResult cufftGetSize2d(cufftHandle /*plan*/, int nx, int ny, cufftType type,
                                          size_t* workSize) {
  return SizeDense(2, nx, ny, 1, type, 1, workSize);
}
VRAMSTOW_CUFFT cufftResult cufftGetSize3d(cufftHandle /*plan*/, int nx, int ny, int nz,
                                          cufftType type, size_t* workSize) {
  return SizeDense(3, nx, ny, nz, type, 1, workSize);
}

VRAMSTOW_CUFFT cufftResult cufftGetSize(cufftHandle plan, size_t* workSize) {
  if (workSize == nullptr) return CUFFT_INVALID_VALUE;
  return WithPlan(
      plan,
      [](Plan* found, void* bytes) {
        *static_cast<size_t*>(bytes) = found->area_bytes;
        return found->made ? CUFFT_SUCCESS : CUFFT_INVALID_PLAN;
      },
      workSize);
}

VRAMSTOW_CUFFT cufftResult cufftSetStream(cufftHandle plan, CUstream stream) {
  return WithPlan(
      plan,
      [](Plan* found, void* value) {
        found->stream = static_cast<CUstream>(value);
        return CUFFT_SUCCESS;
      },
      stream);
}

VRAMSTOW_CUFFT cufftResult cufftSetAutoAllocation(cufftHandle plan, int autoAllocate) {
  return WithPlan(
      plan,
      [](Plan* found, void* value) {
        found->allocates = *static_cast<int*>(value) != 0;
        return CUFFT_SUCCESS;
      },
      &autoAllocate);
}

// Nothing is stored in a work area, so the area of the application is ignored.
VRAMSTOW_CUFFT cufftResult cufftSetWorkArea(cufftHandle plan, void* /*workArea*/) {
  return WithPlan(
      plan, [](Plan*, void*) { return CUFFT_SUCCESS; }, nullptr);
}

VRAMSTOW_CUFFT cufftResult cufftXtExec(cufftHandle plan, void* input, void* output, int direction) {
  return Execute(plan, input, output, direction);
}
VRAMSTOW_CUFFT cufftResult cufftExecC2C(cufftHandle plan, void* input, void* output,
                                        int direction) {
  return Execute(plan, input, output, direction);
}
VRAMSTOW_CUFFT cufftResult cufftExecZ2Z(cufftHandle plan, void* input, void* output,
                                        int direction) {
  return Execute(plan, input, output, direction);
}
VRAMSTOW_CUFFT cufftResult cufftExecR2C(cufftHandle plan, void* input, void* output) {
  return Execute(plan, input, output, kOnlyDirection);
}
VRAMSTOW_CUFFT cufftResult cufftExecD2Z(cufftHandle plan, void* input, void* output) {
  return Execute(plan, input, output, kOnlyDirection);
}
VRAMSTOW_CUFFT cufftResult cufftExecC2R(cufftHandle plan, void* input, void* output) {
  return Execute(plan, input, output, kOnlyDirection);
}
VRAMSTOW_CUFFT cufftResult cufftExecZ2D(cufftHandle plan, void* input, void* output) {
  return Execute(plan, input, output, kOnlyDirection);
}
