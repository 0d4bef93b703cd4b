// Implements the version of cuBLAS, the names of its status codes, and its log, which is never
// written.
#include "simulator/runtime/libraries/common/refusal.h"
#include "simulator/runtime/libraries/common/versions.h"
#include "simulator/runtime/libraries/cublas/cublas_handle.h"

namespace vramstow::simulator {

const LibraryIdentity kLibrary = {"cuBLAS", CUBLAS_STATUS_NOT_SUPPORTED,
                                  "CUBLAS_STATUS_NOT_SUPPORTED"};

}  // namespace vramstow::simulator

using vramstow::simulator::kCublasVersion;
using vramstow::simulator::kCudaVersion;

cublasStatus_t cublasGetVersion_v2(cublasHandle_t /*handle*/, int* version) {
  // A null handle is accepted: the version does not depend on it.
  if (version == nullptr) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  *version = kCublasVersion.major * 10000 + kCublasVersion.minor * 100 + kCublasVersion.patch;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetProperty(libraryPropertyType type, int* value) {
  if (value == nullptr) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  return StoreProperty(kCublasVersion, type, value) ? CUBLAS_STATUS_SUCCESS
                                                    : CUBLAS_STATUS_INVALID_VALUE;
}

size_t cublasGetCudartVersion(void) { return kCudaVersion; }

const char* cublasGetStatusName(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_ALLOC_FAILED:
      return "CUBLAS_STATUS_ALLOC_FAILED";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_ARCH_MISMATCH:
      return "CUBLAS_STATUS_ARCH_MISMATCH";
    case CUBLAS_STATUS_MAPPING_ERROR:
      return "CUBLAS_STATUS_MAPPING_ERROR";
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return "CUBLAS_STATUS_EXECUTION_FAILED";
    case CUBLAS_STATUS_INTERNAL_ERROR:
      return "CUBLAS_STATUS_INTERNAL_ERROR";
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return "CUBLAS_STATUS_NOT_SUPPORTED";
    case CUBLAS_STATUS_LICENSE_ERROR:
      return "CUBLAS_STATUS_LICENSE_ERROR";
  }
  return "CUBLAS_STATUS_UNKNOWN";
}

const char* cublasGetStatusString(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return "success";
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return "no valid handle, or no CUDA device behind it";
    case CUBLAS_STATUS_ALLOC_FAILED:
      return "memory for the call could not be allocated";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "an argument is out of its range";
    case CUBLAS_STATUS_ARCH_MISMATCH:
      return "the device lacks what the function needs";
    case CUBLAS_STATUS_MAPPING_ERROR:
      return "device memory could not be accessed";
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return "work on the device could not be started or failed";
    case CUBLAS_STATUS_INTERNAL_ERROR:
      return "an internal error";
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return "this combination is not supported";
    case CUBLAS_STATUS_LICENSE_ERROR:
      return "a licence is missing";
  }
  return "unknown status";
}

namespace {

cublasLogCallback log_callback = nullptr;  // stored for its getter; nothing is ever logged

}  // namespace

cublasStatus_t cublasLoggerConfigure(int /*logIsOn*/, int /*logToStdOut*/, int /*logToStdErr*/,
                                     const char* /*logFileName*/) {
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetLoggerCallback(cublasLogCallback userCallback) {
  __atomic_store_n(&log_callback, userCallback, __ATOMIC_RELEASE);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetLoggerCallback(cublasLogCallback* userCallback) {
  if (userCallback == nullptr) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  *userCallback = __atomic_load_n(&log_callback, __ATOMIC_ACQUIRE);
  return CUBLAS_STATUS_SUCCESS;
}
