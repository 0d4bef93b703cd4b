#include "simulator/runtime/libraries/nccl/nccl_driver.h"

#include "simulator/runtime/driver_access.h"

namespace vramstow::simulator {

NcclDriver::NcclDriver() {
  const DriverAccess& access = DriverAccess::Get();
// Macro arguments are types here, which cannot be put in parentheses.
// NOLINTBEGIN(bugprone-macro-parentheses)
#define VRAMSTOW_FIND(name, version, parameters)              \
  name = access.Find<CUresult(*) parameters>(#name, version); \
  complete = complete && name != nullptr;
  VRAMSTOW_NCCL_DRIVER_FUNCTIONS(VRAMSTOW_FIND)
#undef VRAMSTOW_FIND
  // NOLINTEND(bugprone-macro-parentheses)
}

const NcclDriver& NcclDriver::Get() {
  // The table is leaked, because exit handlers of the host may still call us.
  static const NcclDriver* driver = new NcclDriver;
  return *driver;
}

CUcontext CurrentContext() {
  const NcclDriver& driver = NcclDriver::Get();
  CUcontext context = nullptr;
  if (!driver.complete) return nullptr;
  CUresult result = driver.cuCtxGetCurrent(&context);
  if (result == CUDA_ERROR_NOT_INITIALIZED && driver.cuInit(0) == CUDA_SUCCESS) {
    result = driver.cuCtxGetCurrent(&context);
  }
  if (result != CUDA_SUCCESS || context != nullptr) return context;
  CUdevice device = 0;
  if (driver.cuDeviceGet(&device, 0) != CUDA_SUCCESS ||
      driver.cuDevicePrimaryCtxRetain(&context, device) != CUDA_SUCCESS ||
      driver.cuCtxSetCurrent(context) != CUDA_SUCCESS) {
    return nullptr;
  }
  return context;
}

ContextScope::ContextScope(CUcontext context) {
  const NcclDriver& driver = NcclDriver::Get();
  if (driver.cuCtxGetCurrent(&before_) != CUDA_SUCCESS) before_ = nullptr;
  if (before_ != context) driver.cuCtxSetCurrent(context);
  driver.cuThreadExchangeStreamCaptureMode(&mode_);
}

ContextScope::~ContextScope() {
  const NcclDriver& driver = NcclDriver::Get();
  driver.cuThreadExchangeStreamCaptureMode(&mode_);
  driver.cuCtxSetCurrent(before_);
}

uint64_t CaptureOf(CUstream stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  cuuint64_t id = 0;
  const CUresult result = NcclDriver::Get().cuStreamGetCaptureInfo(stream, &status, &id);
  return result == CUDA_SUCCESS && status != CU_STREAM_CAPTURE_STATUS_NONE ? id : 0;
}

}  // namespace vramstow::simulator
