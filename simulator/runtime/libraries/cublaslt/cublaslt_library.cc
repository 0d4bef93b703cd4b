// Implements cuBLASLt's handle, its version, the names of its status codes, and its log, which is
// never written.
#include <atomic>
#include <new>

#include "simulator/runtime/libraries/common/blas_handle.h"
#include "simulator/runtime/libraries/common/device.h"
#include "simulator/runtime/libraries/common/refusal.h"
#include "simulator/runtime/libraries/common/versions.h"
#include "simulator/runtime/libraries/cublaslt/cublaslt.h"

struct cublasLtContext : vramstow::simulator::BlasHandleHead {};

namespace vramstow::simulator {

const LibraryIdentity kLibrary = {"cuBLASLt", CUBLAS_STATUS_NOT_SUPPORTED,
                                  "CUBLAS_STATUS_NOT_SUPPORTED"};

namespace {

// The number of heuristic results that the library may cache; it is only stored and returned.
std::atomic<size_t> heuristics_capacity = 8192;

}  // namespace
}  // namespace vramstow::simulator

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C API's own file

cublasStatus_t cublasLtCreate(cublasLtHandle_t* lightHandle) {
  if (lightHandle == nullptr) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  if (EnsureContext() != CUDA_SUCCESS) {
    return CUBLAS_STATUS_NOT_INITIALIZED;
  }
  auto* created = new (std::nothrow) cublasLtContext;
  if (created == nullptr) {
    return CUBLAS_STATUS_ALLOC_FAILED;
  }
  created->magic = kBlasLtMagic;
  *lightHandle = created;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t lightHandle) {
  if (lightHandle == nullptr || lightHandle->magic != kBlasLtMagic) {
    return CUBLAS_STATUS_NOT_INITIALIZED;
  }
  lightHandle->magic = 0;
  delete lightHandle;
  return CUBLAS_STATUS_SUCCESS;
}

size_t cublasLtGetVersion(void) {
  return kCublasVersion.major * 10000 + kCublasVersion.minor * 100 + kCublasVersion.patch;
}

size_t cublasLtGetCudartVersion(void) { return kCudaVersion; }

cublasStatus_t cublasLtGetProperty(libraryPropertyType type, int* value) {
  if (value == nullptr) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  return StoreProperty(kCublasVersion, type, value) ? CUBLAS_STATUS_SUCCESS
                                                    : CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtHeuristicsCacheGetCapacity(size_t* capacity) {
  if (capacity == nullptr) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  *capacity = heuristics_capacity;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtHeuristicsCacheSetCapacity(size_t capacity) {
  heuristics_capacity = capacity;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtLoggerSetCallback(cublasLtLoggerCallback_t /*callback*/) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtLoggerSetFile(FILE* /*file*/) { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasLtLoggerOpenFile(const char* /*logFile*/) { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasLtLoggerSetLevel(int /*level*/) { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasLtLoggerSetMask(int /*mask*/) { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasLtLoggerForceDisable() { return CUBLAS_STATUS_SUCCESS; }
