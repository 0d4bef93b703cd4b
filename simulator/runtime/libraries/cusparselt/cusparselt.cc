// Implements the texts of cuSPARSELt's statuses, so that PyTorch can print an error. No other
// function of cuSPARSELt is simulated.
#include "simulator/runtime/libraries/common/refusal.h"

namespace vramstow::simulator {

const LibraryIdentity kLibrary = {"cuSPARSELt", 10, "CUSPARSE_STATUS_NOT_SUPPORTED"};

}  // namespace vramstow::simulator

#define VRAMSTOW_CUSPARSELT extern "C" __attribute__((visibility("default")))

VRAMSTOW_CUSPARSELT const char* cusparseLtGetErrorName(int status) {
  return status == 10 ? "CUSPARSE_STATUS_NOT_SUPPORTED" : "a cuSPARSE status";
}
VRAMSTOW_CUSPARSELT const char* cusparseLtGetErrorString(int status) {
  return cusparseLtGetErrorName(status);
}
