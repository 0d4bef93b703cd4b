// Implements the version and the clock of CUPTI, and the ids of contexts and streams.
#include <cudaTypedefs.h>

#include "simulator/runtime/driver_access.h"
#include "simulator/runtime/libraries/common/refusal.h"
#include "simulator/runtime/libraries/common/versions.h"
#include "simulator/runtime/libraries/cupti/cupti_clock.h"
#include "simulator/runtime/libraries/cupti/observer.h"
#include "simulator/runtime/libraries/cupti/records.h"

namespace vramstow::simulator {

const LibraryIdentity kLibrary = {"CUPTI", CUPTI_ERROR_NOT_SUPPORTED, "CUPTI_ERROR_NOT_SUPPORTED"};

namespace {

struct ResultName {
  CUptiResult result;
  const char* name;
};

// The results that this library returns; their texts are the names of the enumerators.
constexpr ResultName kResultNames[] = {
    {CUPTI_SUCCESS, "CUPTI_SUCCESS"},
    {CUPTI_ERROR_INVALID_PARAMETER, "CUPTI_ERROR_INVALID_PARAMETER"},
    {CUPTI_ERROR_INVALID_CONTEXT, "CUPTI_ERROR_INVALID_CONTEXT"},
    {CUPTI_ERROR_INVALID_STREAM, "CUPTI_ERROR_INVALID_STREAM"},
    {CUPTI_ERROR_INVALID_OPERATION, "CUPTI_ERROR_INVALID_OPERATION"},
    {CUPTI_ERROR_OUT_OF_MEMORY, "CUPTI_ERROR_OUT_OF_MEMORY"},
    {CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT, "CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT"},
    {CUPTI_ERROR_MAX_LIMIT_REACHED, "CUPTI_ERROR_MAX_LIMIT_REACHED"},
    {CUPTI_ERROR_NOT_INITIALIZED, "CUPTI_ERROR_NOT_INITIALIZED"},
    {CUPTI_ERROR_QUEUE_EMPTY, "CUPTI_ERROR_QUEUE_EMPTY"},
    {CUPTI_ERROR_INVALID_KIND, "CUPTI_ERROR_INVALID_KIND"},
    {CUPTI_ERROR_NOT_SUPPORTED, "CUPTI_ERROR_NOT_SUPPORTED"},
    {CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED,
     "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"},
    {CUPTI_ERROR_UNKNOWN, "CUPTI_ERROR_UNKNOWN"},
};

}  // namespace
}  // namespace vramstow::simulator

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C API's own file

CUptiResult cuptiGetVersion(uint32_t* version) {
  if (version == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *version = kCuptiVersion;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetResultString(CUptiResult result, const char** str) {
  if (str == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  for (const ResultName& known : kResultNames) {
    if (known.result == result) {
      *str = known.name;
      return CUPTI_SUCCESS;
    }
  }
  return CUPTI_ERROR_INVALID_PARAMETER;
}

CUptiResult cuptiGetErrorMessage(CUptiResult result, const char** str) {
  return cuptiGetResultString(result, str);
}

CUptiResult cuptiGetTimestamp(uint64_t* timestamp) {
  if (timestamp == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *timestamp = TheClock().Now();
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetContextId(CUcontext context, uint32_t* contextId) {
  if (contextId == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  const auto find = DriverAccess::Get().Find<PFN_cuCtxGetId_v12000>("cuCtxGetId", 12000);
  unsigned long long id = 0;
  if (find == nullptr || find(context, &id) != CUDA_SUCCESS) return CUPTI_ERROR_INVALID_CONTEXT;
  *contextId = static_cast<uint32_t>(id);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetStreamIdEx(CUcontext /*context*/, CUstream stream, uint8_t perThreadStream,
                               uint32_t* streamId) {
  if (streamId == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  const auto find = DriverAccess::Get().Find<PFN_cuStreamGetId_v12000>(
      "cuStreamGetId", 12000,
      perThreadStream != 0 ? DefaultStream::kPerThread : DefaultStream::kLegacy);
  unsigned long long id = 0;
  if (find == nullptr || find(stream, &id) != CUDA_SUCCESS) return CUPTI_ERROR_INVALID_STREAM;
  *streamId = static_cast<uint32_t>(id);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetStreamId(CUcontext context, CUstream stream, uint32_t* streamId) {
  return cuptiGetStreamIdEx(context, stream, 0, streamId);
}

CUptiResult cuptiFinalize(void) {
  TheObserver().SwitchAllOff();
  TheRecords().Deliver(true);
  return CUPTI_SUCCESS;
}
