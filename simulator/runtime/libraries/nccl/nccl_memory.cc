// Implements NCCL's functions about memory: its allocator, registered buffers and windows,
// suspended buffers.
//
// Registration changes nothing here, because all data pass through staging memory; handles are real
// objects anyway, so that a wrong handle is detected.
#include <new>

#include "simulator/runtime/libraries/nccl/communicator.h"

namespace vramstow::simulator {
namespace {

constexpr uint64_t kRegistrationMagic = 0x67657263'6c63636e;

struct Registration {
  uint64_t magic;
  void* address;
};

ncclResult_t Register(const ncclComm* comm, void* address, void** handle) {
  if (!IsCommunicator(comm) || address == nullptr || handle == nullptr) return ncclInvalidArgument;
  *handle = new (std::nothrow) Registration{kRegistrationMagic, address};
  return *handle != nullptr ? ncclSuccess : ncclSystemError;
}

Registration* Registered(void* handle) {
  auto* registration = static_cast<Registration*>(handle);
  return registration != nullptr && registration->magic == kRegistrationMagic ? registration
                                                                              : nullptr;
}

ncclResult_t Deregister(const ncclComm* comm, void* handle) {
  if (!IsCommunicator(comm)) return ncclInvalidArgument;
  if (handle == nullptr) return ncclSuccess;
  Registration* registration = Registered(handle);
  if (registration == nullptr) return ncclInvalidArgument;
  registration->magic = 0;
  delete registration;
  return ncclSuccess;
}

// The values of ncclCommMemStat_t, which older headers do not have.
enum class MemoryFigure { kCanSuspend, kIsSuspended, kPersistent, kTotal };

}  // namespace
}  // namespace vramstow::simulator

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C API's own file

// Allocates ordinary device memory, whereas NCCL allocates memory that can be exported.
VRAMSTOW_NCCL_BOTH(ncclResult_t, MemAlloc, (void** ptr, size_t size), (ptr, size)) {
  if (ptr == nullptr || size == 0) return ncclInvalidArgument;
  *ptr = nullptr;
  CUdeviceptr address = 0;
  if (CurrentContext() == nullptr || NcclDriver::Get().cuMemAlloc(&address, size) != CUDA_SUCCESS) {
    return ncclUnhandledCudaError;
  }
  *ptr = reinterpret_cast<void*>(address);
  return ncclSuccess;
}

VRAMSTOW_NCCL_BOTH(ncclResult_t, MemFree, (void* ptr), (ptr)) {
  if (ptr == nullptr) return ncclSuccess;
  if (CurrentContext() == nullptr) return ncclUnhandledCudaError;
  const CUresult result = NcclDriver::Get().cuMemFree(reinterpret_cast<CUdeviceptr>(ptr));
  return result == CUDA_SUCCESS ? ncclSuccess : ncclUnhandledCudaError;
}

VRAMSTOW_NCCL_BOTH(ncclResult_t, CommRegister,
                   (const ncclComm_t comm, void* buff, size_t size, void** handle),
                   (comm, buff, size, handle)) {
  return size == 0 ? ncclInvalidArgument : Register(comm, buff, handle);
}

VRAMSTOW_NCCL_BOTH(ncclResult_t, CommDeregister, (const ncclComm_t comm, void* handle),
                   (comm, handle)) {
  return Deregister(comm, handle);
}

VRAMSTOW_NCCL_BOTH(ncclResult_t, CommWindowRegister,
                   (ncclComm_t comm, void* buff, size_t size, ncclWindow_t* win, int winFlags),
                   (comm, buff, size, win, winFlags)) {
  static_cast<void>(winFlags);
  void* handle = nullptr;
  const ncclResult_t result =
      win == nullptr || size == 0 ? ncclInvalidArgument : Register(comm, buff, &handle);
  if (result == ncclSuccess) *win = static_cast<ncclWindow_t>(handle);
  return result;
}

VRAMSTOW_NCCL_BOTH(ncclResult_t, CommWindowDeregister, (ncclComm_t comm, ncclWindow_t win),
                   (comm, win)) {
  return Deregister(comm, win);
}

VRAMSTOW_NCCL_BOTH(ncclResult_t, WinGetUserPtr,
                   (ncclComm_t comm, ncclWindow_t win, void** outUserPtr),
                   (comm, win, outUserPtr)) {
  const Registration* registration = Registered(win);
  if (!IsCommunicator(comm) || registration == nullptr || outUserPtr == nullptr) {
    return ncclInvalidArgument;
  }
  *outUserPtr = registration->address;
  return ncclSuccess;
}

VRAMSTOW_NCCL_BOTH(ncclResult_t, CommSuspend, (ncclComm_t comm, int flags), (comm, flags)) {
  constexpr int kMemory = 1;  // NCCL_SUSPEND_MEM
  if (!IsCommunicator(comm) || flags != kMemory) return ncclInvalidArgument;
  FreeBuffers(comm);
  return ncclSuccess;
}

VRAMSTOW_NCCL_BOTH(ncclResult_t, CommResume, (ncclComm_t comm), (comm)) {
  return IsCommunicator(comm) ? AllocateBuffers(comm) : ncclInvalidArgument;
}

namespace {

ncclResult_t MemoryStatistic(const ncclComm* comm, int stat, uint64_t* value) {
  if (!IsCommunicator(comm) || value == nullptr || stat < 0 || stat > 3) {
    return ncclInvalidArgument;
  }
  switch (static_cast<MemoryFigure>(stat)) {
    case MemoryFigure::kIsSuspended:
      *value = comm->buffers == 0 ? 1 : 0;
      break;
    case MemoryFigure::kPersistent:
      *value = 0;
      break;
    case MemoryFigure::kCanSuspend:
    case MemoryFigure::kTotal:
      *value = comm->buffer_bytes;
      break;
  }
  return ncclSuccess;
}

}  // namespace

// In C++ the functions below have other names than in C, because newer headers declare them with a
// type of enum that older headers do not have.
VRAMSTOW_EXPORTED ncclResult_t StatisticOfNccl(ncclComm_t comm, int stat,
                                               uint64_t* value) __asm__("ncclCommMemStats");
VRAMSTOW_EXPORTED ncclResult_t StatisticOfPnccl(ncclComm_t comm, int stat,
                                                uint64_t* value) __asm__("pncclCommMemStats");
ncclResult_t StatisticOfNccl(ncclComm_t comm, int stat, uint64_t* value) {
  return MemoryStatistic(comm, stat, value);
}
ncclResult_t StatisticOfPnccl(ncclComm_t comm, int stat, uint64_t* value) {
  return MemoryStatistic(comm, stat, value);
}
