// Implements cuSOLVER's version, handles and parameter objects.
#include <library_types.h>

#include <new>

#include "simulator/runtime/libraries/common/device.h"
#include "simulator/runtime/libraries/common/kernels.h"
#include "simulator/runtime/libraries/common/refusal.h"
#include "simulator/runtime/libraries/common/versions.h"
#include "simulator/runtime/libraries/cusolver/handle.h"

namespace vramstow::simulator {

// NOLINTNEXTLINE(readability-identifier-naming): as common/device.h declares it
extern const char kKernelModule[];
const char kKernelModule[] = VRAMSTOW_KERNEL_MODULE_HEAD VRAMSTOW_KERNEL("cusolver_potrf")
    VRAMSTOW_KERNEL("cusolver_potrf_batched") VRAMSTOW_KERNEL("cusolver_potrs")
        VRAMSTOW_KERNEL("cusolver_potrs_batched") VRAMSTOW_KERNEL("cusolver_getrf")
            VRAMSTOW_KERNEL("cusolver_getrs") VRAMSTOW_KERNEL("cusolver_sytrf")
                VRAMSTOW_KERNEL("cusolver_geqrf") VRAMSTOW_KERNEL("cusolver_orgqr")
                    VRAMSTOW_KERNEL("cusolver_ormqr") VRAMSTOW_KERNEL("cusolver_gesvd")
                        VRAMSTOW_KERNEL("cusolver_syevd") VRAMSTOW_KERNEL("cusolver_geev");

const LibraryIdentity kLibrary = {"cuSOLVER", CUSOLVER_STATUS_NOT_SUPPORTED,
                                  "CUSOLVER_STATUS_NOT_SUPPORTED"};

namespace {

constexpr uint64_t kMagic = 0x72657665'6c6f7363;

// A parameter object has no contents, because nothing is computed that the parameters would tune.
struct Parameters {
  uint64_t magic = kMagic;
};

cusolverStatus_t MakeParameters(void** object) {
  if (object == nullptr) return CUSOLVER_STATUS_INVALID_VALUE;
  *object = new (std::nothrow) Parameters;
  return *object == nullptr ? CUSOLVER_STATUS_ALLOC_FAILED : CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t EndParameters(void* object) {
  auto* parameters = static_cast<Parameters*>(object);
  if (parameters == nullptr || parameters->magic != kMagic) return CUSOLVER_STATUS_INVALID_VALUE;
  parameters->magic = 0;
  delete parameters;
  return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t CheckParameters(const void* object) {
  const auto* parameters = static_cast<const Parameters*>(object);
  return parameters != nullptr && parameters->magic == kMagic ? CUSOLVER_STATUS_SUCCESS
                                                              : CUSOLVER_STATUS_INVALID_VALUE;
}

}  // namespace

bool IsHandle(const cusolverDnContext* handle) {
  return handle != nullptr && handle->magic == kMagic;
}

cusolverStatus_t LaunchSolver(const cusolverDnContext* handle, const char* name,
                              std::initializer_list<uint64_t> words,
                              std::initializer_list<Result> results) {
  const CUresult result = LaunchWork(name, handle->stream, WorkSize(), words.begin(), words.size());
  if (result != CUDA_SUCCESS) return CUSOLVER_STATUS_EXECUTION_FAILED;
  LeaveOut(name, handle->stream, results);
  return CUSOLVER_STATUS_SUCCESS;
}

}  // namespace vramstow::simulator

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C API's own file

VRAMSTOW_CUSOLVER cusolverStatus_t cusolverGetVersion(int* version) {
  if (version == nullptr) return CUSOLVER_STATUS_INVALID_VALUE;
  *version = kCusolverVersion.major * 1000 + kCusolverVersion.minor * 100 + kCusolverVersion.patch;
  return CUSOLVER_STATUS_SUCCESS;
}

VRAMSTOW_CUSOLVER cusolverStatus_t cusolverGetProperty(libraryPropertyType type, int* value) {
  if (value == nullptr || type < MAJOR_VERSION || type > PATCH_LEVEL) {
    return CUSOLVER_STATUS_INVALID_VALUE;
  }
  const int parts[] = {kCusolverVersion.major, kCusolverVersion.minor, kCusolverVersion.patch};
  *value = parts[type];
  return CUSOLVER_STATUS_SUCCESS;
}

VRAMSTOW_CUSOLVER cusolverStatus_t cusolverDnCreate(cusolverDnHandle_t* handle) {
  if (handle == nullptr) return CUSOLVER_STATUS_INVALID_VALUE;
  if (EnsureContext() != CUDA_SUCCESS) return CUSOLVER_STATUS_NOT_INITIALIZED;
  auto* created = new (std::nothrow) cusolverDnContext;
  if (created == nullptr) return CUSOLVER_STATUS_ALLOC_FAILED;
  created->magic = kMagic;
  *handle = created;
  return CUSOLVER_STATUS_SUCCESS;
}

VRAMSTOW_CUSOLVER cusolverStatus_t cusolverDnDestroy(cusolverDnHandle_t handle) {
  if (!IsHandle(handle)) return CUSOLVER_STATUS_NOT_INITIALIZED;
  handle->magic = 0;
  delete handle;
  return CUSOLVER_STATUS_SUCCESS;
}

VRAMSTOW_CUSOLVER cusolverStatus_t cusolverDnSetStream(cusolverDnHandle_t handle, CUstream stream) {
  if (!IsHandle(handle)) return CUSOLVER_STATUS_NOT_INITIALIZED;
  handle->stream = stream;
  return CUSOLVER_STATUS_SUCCESS;
}

VRAMSTOW_CUSOLVER cusolverStatus_t cusolverDnGetStream(cusolverDnHandle_t handle,
                                                       CUstream* stream) {
  if (!IsHandle(handle)) return CUSOLVER_STATUS_NOT_INITIALIZED;
  if (stream == nullptr) return CUSOLVER_STATUS_INVALID_VALUE;
  *stream = handle->stream;
  return CUSOLVER_STATUS_SUCCESS;
}

VRAMSTOW_CUSOLVER cusolverStatus_t cusolverDnCreateParams(void** params) {
  return MakeParameters(params);
}
VRAMSTOW_CUSOLVER cusolverStatus_t cusolverDnDestroyParams(void* params) {
  return EndParameters(params);
}
VRAMSTOW_CUSOLVER cusolverStatus_t cusolverDnCreateGesvdjInfo(void** info) {
  return MakeParameters(info);
}
VRAMSTOW_CUSOLVER cusolverStatus_t cusolverDnDestroyGesvdjInfo(void* info) {
  return EndParameters(info);
}
VRAMSTOW_CUSOLVER cusolverStatus_t cusolverDnXgesvdjSetTolerance(void* info, double /*tolerance*/) {
  return CheckParameters(info);
}
VRAMSTOW_CUSOLVER cusolverStatus_t cusolverDnXgesvdjSetMaxSweeps(void* info, int /*max_sweeps*/) {
  return CheckParameters(info);
}
VRAMSTOW_CUSOLVER cusolverStatus_t cusolverDnXgesvdjSetSortEig(void* info, int /*sort_svd*/) {
  return CheckParameters(info);
}
VRAMSTOW_CUSOLVER cusolverStatus_t cusolverDnCreateSyevjInfo(void** info) {
  return MakeParameters(info);
}
VRAMSTOW_CUSOLVER cusolverStatus_t cusolverDnDestroySyevjInfo(void* info) {
  return EndParameters(info);
}
VRAMSTOW_CUSOLVER cusolverStatus_t cusolverDnXsyevjSetTolerance(void* info, double /*tolerance*/) {
  return CheckParameters(info);
}
VRAMSTOW_CUSOLVER cusolverStatus_t cusolverDnXsyevjSetMaxSweeps(void* info, int /*max_sweeps*/) {
  return CheckParameters(info);
}
VRAMSTOW_CUSOLVER cusolverStatus_t cusolverDnXsyevjSetSortEig(void* info, int /*sort_eig*/) {
  return CheckParameters(info);
}
