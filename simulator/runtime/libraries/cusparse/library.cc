// cuSPARSE: handles, versions and the names of statuses; no computation is simulated.
//
// Names and constants are as in NVIDIA's cusparse.h, restated so that the build needs no further
// headers.
#include <cuda.h>
#include <library_types.h>

#include <iterator>
#include <new>

#include "simulator/runtime/libraries/common/device.h"
#include "simulator/runtime/libraries/common/kernels.h"
#include "simulator/runtime/libraries/common/refusal.h"
#include "simulator/runtime/libraries/common/versions.h"

namespace vramstow::simulator {
namespace {

enum Status {
  kSuccess = 0,
  kNotInitialized = 1,
  kAllocFailed = 2,
  kInvalidValue = 3,
  kNotSupported = 10,
};

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

constexpr uint64_t kMagic = 0x65737261'70737563;

struct Handle {
  uint64_t magic = kMagic;
  CUstream stream = nullptr;
  int pointer_mode = 0;
};

Handle* Checked(void* handle) {
  auto* checked = static_cast<Handle*>(handle);
  return checked != nullptr && checked->magic == kMagic ? checked : nullptr;
}

}  // namespace

const LibraryIdentity kLibrary = {"cuSPARSE", kNotSupported, "CUSPARSE_STATUS_NOT_SUPPORTED"};
const char kKernelModule[] = VRAMSTOW_KERNEL_MODULE_HEAD;

}  // namespace vramstow::simulator

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C API's own file

#define VRAMSTOW_CUSPARSE extern "C" __attribute__((visibility("default")))

VRAMSTOW_CUSPARSE int cusparseCreate(void** handle) {
  if (handle == nullptr) return kInvalidValue;
  if (EnsureContext() != CUDA_SUCCESS) return kNotInitialized;
  *handle = new (std::nothrow) Handle;
  return *handle == nullptr ? kAllocFailed : kSuccess;
}

VRAMSTOW_CUSPARSE int cusparseDestroy(void* handle) {
  Handle* checked = Checked(handle);
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
  Handle* checked = Checked(handle);
  if (checked == nullptr) return kNotInitialized;
  checked->stream = stream;
  return kSuccess;
}

VRAMSTOW_CUSPARSE int cusparseGetStream(void* handle, CUstream* stream) {
  Handle* checked = Checked(handle);
  if (checked == nullptr) return kNotInitialized;
  if (stream == nullptr) return kInvalidValue;
  *stream = checked->stream;
  return kSuccess;
}

VRAMSTOW_CUSPARSE int cusparseSetPointerMode(void* handle, int mode) {
  Handle* checked = Checked(handle);
  if (checked == nullptr) return kNotInitialized;
  if (mode < 0 || mode > 1) return kInvalidValue;
  checked->pointer_mode = mode;
  return kSuccess;
}

VRAMSTOW_CUSPARSE int cusparseGetPointerMode(void* handle, int* mode) {
  Handle* checked = Checked(handle);
  if (checked == nullptr) return kNotInitialized;
  if (mode == nullptr) return kInvalidValue;
  *mode = checked->pointer_mode;
  return kSuccess;
}
