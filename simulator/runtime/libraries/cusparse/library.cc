// Implements cuSPARSE's handles, versions and names of statuses.
#include <cuda.h>
#include <library_types.h>

#include <iterator>
#include <new>

#include "simulator/runtime/libraries/common/device.h"
#include "simulator/runtime/libraries/common/kernels.h"
#include "simulator/runtime/libraries/common/refusal.h"
#include "simulator/runtime/libraries/common/versions.h"
#include "simulator/runtime/libraries/cusparse/handle.h"

namespace vramstow::simulator {
namespace {

constexpr const char* kStatusNames[] = {"CUSPARSE_STATUS_SUCCESS",
                                        "CUSPARSE_STATUS_NOT_INITIALIZED",
                                        "CUSPARSE_STATUS_ALLOC_FAILED",
                                        "CUSPARSE_STATUS_INVALID_VALUE",
                                        "CUSPARSE_STATUS_ARCH_MISMATCH",
                                        "CUSPARSE_STATUS_MAPPING_ERROR",
                                        "CUSPARSE_STATUS_EXECUTION_FAILED",
                                        "CUSPARSE_STATUS_INTERNAL_ERROR",
                                        "CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED",
                                        "CUSPARSE_STATUS_ZERO_PIVOT",
                                        "CUSPARSE_STATUS_NOT_SUPPORTED",
                                        "CUSPARSE_STATUS_INSUFFICIENT_RESOURCES"};

}  // namespace

const LibraryIdentity kLibrary = {"cuSPARSE", kNotSupported, "CUSPARSE_STATUS_NOT_SUPPORTED"};
const char kKernelModule[] = VRAMSTOW_KERNEL_MODULE_HEAD VRAMSTOW_KERNEL("cusparse_spmm")
    VRAMSTOW_KERNEL("cusparse_spmv") VRAMSTOW_KERNEL("cusparse_sddmm")
        VRAMSTOW_KERNEL("cusparse_spsm") VRAMSTOW_KERNEL("cusparse_spsv")
            VRAMSTOW_KERNEL("cusparse_coo2csr") VRAMSTOW_KERNEL("cusparse_coosort")
                VRAMSTOW_KERNEL("cusparse_csrsort") VRAMSTOW_KERNEL("cusparse_identity");

cusparseContext* Checked(void* handle) {
  auto* checked = static_cast<cusparseContext*>(handle);
  return checked != nullptr && checked->magic == kMagic ? checked : nullptr;
}

int LaunchSparse(const cusparseContext& handle, const char* name,
                 std::initializer_list<uint64_t> words, std::initializer_list<Result> results) {
  const CUresult result = LaunchWork(name, handle.stream, WorkSize(), words.begin(), words.size());
  if (result != CUDA_SUCCESS) return kExecutionFailed;
  LeaveOut(name, handle.stream, results);
  return kSuccess;
}

}  // namespace vramstow::simulator

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C API's own file

VRAMSTOW_CUSPARSE int cusparseCreate(void** handle) {
  if (handle == nullptr) return kInvalidValue;
  if (EnsureContext() != CUDA_SUCCESS) return kNotInitialized;
  *handle = new (std::nothrow) cusparseContext;
  return *handle == nullptr ? kAllocFailed : kSuccess;
}

VRAMSTOW_CUSPARSE int cusparseDestroy(void* handle) {
  cusparseContext* checked = Checked(handle);
  if (checked == nullptr) return kNotInitialized;
  checked->magic = 0;
  delete checked;
  return kSuccess;
}

VRAMSTOW_CUSPARSE int cusparseGetVersion(void* handle, int* version) {
  if (Checked(handle) == nullptr) return kNotInitialized;
  if (version == nullptr) return kInvalidValue;
  *version = kCusparseVersion.major * 1000 + kCusparseVersion.minor * 100 + kCusparseVersion.patch;
  return kSuccess;
}

VRAMSTOW_CUSPARSE int cusparseGetProperty(libraryPropertyType type, int* value) {
  if (value == nullptr || type < MAJOR_VERSION || type > PATCH_LEVEL) return kInvalidValue;
  const int parts[] = {kCusparseVersion.major, kCusparseVersion.minor, kCusparseVersion.patch};
  *value = parts[type];
  return kSuccess;
}

VRAMSTOW_CUSPARSE const char* cusparseGetErrorName(int status) {
  const bool known = status >= 0 && static_cast<size_t>(status) < std::size(kStatusNames);
  return known ? kStatusNames[status] : "unknown status";
}

VRAMSTOW_CUSPARSE const char* cusparseGetErrorString(int status) {
  return cusparseGetErrorName(status);
}

VRAMSTOW_CUSPARSE int cusparseSetStream(void* handle, CUstream stream) {
  cusparseContext* checked = Checked(handle);
  if (checked == nullptr) return kNotInitialized;
  checked->stream = stream;
  return kSuccess;
}

VRAMSTOW_CUSPARSE int cusparseGetStream(void* handle, CUstream* stream) {
  cusparseContext* checked = Checked(handle);
  if (checked == nullptr) return kNotInitialized;
  if (stream == nullptr) return kInvalidValue;
  *stream = checked->stream;
  return kSuccess;
}

VRAMSTOW_CUSPARSE int cusparseSetPointerMode(void* handle, int mode) {
  cusparseContext* checked = Checked(handle);
  if (checked == nullptr) return kNotInitialized;
  if (mode < 0 || mode > 1) return kInvalidValue;
  checked->pointer_mode = mode;
  return kSuccess;
}

VRAMSTOW_CUSPARSE int cusparseGetPointerMode(void* handle, int* mode) {
  cusparseContext* checked = Checked(handle);
  if (checked == nullptr) return kNotInitialized;
  if (mode == nullptr) return kInvalidValue;
  *mode = checked->pointer_mode;
  return kSuccess;
}
