// Implements memory for network cards: descriptors of address ranges, and reads and writes through
// them.
#include <cuda.h>
#include <string.h>

#include "simulator/driver/call.h"

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C ABI is global

namespace {

constexpr uint64_t kHostPage = 4096;

template <typename Use>
int UseRegistration(Use use) {
  DriverGlobals& globals = Globals();
  if (!globals.initialized || globals.forked) return CUDA_ERROR_NOT_INITIALIZED;
  const MutexLock lock(&globals.mutex);
  return static_cast<int>(use(globals.state().machine->registrations));
}

}  // namespace

extern "C" {

CUresult cuMemGetHandleForAddressRange(void* handle, CUdeviceptr address, size_t size,
                                       CUmemRangeHandleType type, unsigned long long flags) {
  return Serve("cuMemGetHandleForAddressRange", Needs::kContext, [&](Call& call) -> CUresult {
    // As documented, the range must consist of whole pages of the host.
    if (handle == nullptr || size == 0 || address % kHostPage != 0 || size % kHostPage != 0 ||
        type != CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (flags != 0 || (call.machine().spec().without & kDmaBuf) != 0) {
      return CUDA_ERROR_NOT_SUPPORTED;
    }
    int descriptor = -1;
    const Result result = call.machine().registrations.Add(address, size, &descriptor);
    if (result == Result::kSuccess) memcpy(handle, &descriptor, sizeof(descriptor));
    return ToDriver(result);
  });
}

int vramstowSimulatorRegister(uint64_t address, size_t size, int* descriptor) {
  if (size == 0 || descriptor == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return UseRegistration([&](Registrations& registrations) {
    return ToDriver(registrations.Add(address, size, descriptor));
  });
}

int vramstowSimulatorReadRegistered(int descriptor, uint64_t offset, void* bytes, size_t size) {
  return UseRegistration([&](Registrations& registrations) {
    return registrations.Read(descriptor, offset, static_cast<char*>(bytes), size);
  });
}

int vramstowSimulatorWriteRegistered(int descriptor, uint64_t offset, const void* bytes,
                                     size_t size) {
  return UseRegistration([&](Registrations& registrations) {
    return registrations.Write(descriptor, offset, static_cast<const char*>(bytes), size);
  });
}

}  // extern "C"
