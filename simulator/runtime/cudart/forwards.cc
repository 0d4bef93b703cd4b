// Implements the functions that only forward their arguments to the driver (forwards.txt lists
// them), and one further function.
#include "simulator/runtime/cudart/runtime.h"

using namespace vramstow::simulator::cudart;  // NOLINT(google-build-using-namespace)

#include <cudart_forwards.inc>

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return Call(
      [&](const DriverTable& driver) { return driver.EventCreate(event, CU_EVENT_DEFAULT); });
}
