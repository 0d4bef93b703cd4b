// Implements the version of NCCL and the texts of its results.
#include "simulator/runtime/libraries/common/refusal.h"
#include "simulator/runtime/libraries/common/versions.h"
#include "simulator/runtime/libraries/nccl/communicator.h"

namespace vramstow::simulator {

const LibraryIdentity kLibrary = {"NCCL", ncclInvalidUsage, "ncclInvalidUsage"};

}  // namespace vramstow::simulator

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C API's own file

VRAMSTOW_NCCL_BOTH(ncclResult_t, GetVersion, (int* version), (version)) {
  if (version == nullptr) return ncclInvalidArgument;
  *version = kNcclVersion.major * 10000 + kNcclVersion.minor * 100 + kNcclVersion.patch;
  return ncclSuccess;
}

VRAMSTOW_NCCL_BOTH(const char*, GetErrorString, (ncclResult_t result), (result)) {
  constexpr int kTimeout = 8;  // ncclTimeout, which older headers do not have
  switch (static_cast<int>(result)) {
    case ncclSuccess:
      return "no error";
    case ncclUnhandledCudaError:
      return "unhandled cuda error";
    case ncclSystemError:
      return "unhandled system error";
    case ncclInternalError:
      return "internal error";
    case ncclInvalidArgument:
      return "invalid argument";
    case ncclInvalidUsage:
      return "invalid usage";
    case ncclRemoteError:
      return "remote process exited or there was a network error";
    case ncclInProgress:
      return "NCCL operation in progress";
    case kTimeout:
      return "NCCL operation timed out";
    default:
      return "unknown result code";
  }
}

// NCCL returns the text of the latest error of the process, whatever the communicator is. Here a
// communicator stores its first one. PyTorch calls this function with null.
VRAMSTOW_NCCL_BOTH(const char*, GetLastError, (ncclComm_t comm), (comm)) {
  return IsCommunicator(comm) ? FirstProblem(comm) : LatestProblem();
}

// These functions have no effect. The header may define macros of these names.
#undef ncclResetDebugInit
#undef pncclResetDebugInit
VRAMSTOW_EXPORTED void ncclResetDebugInit() {}
VRAMSTOW_EXPORTED void pncclResetDebugInit() {}
VRAMSTOW_EXPORTED void ncclResetDebugInitInternal() {}
