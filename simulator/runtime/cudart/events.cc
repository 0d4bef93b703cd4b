// Implements events. Recording an event is in streams.cc, because it has a per-thread variant.
#include "simulator/runtime/cudart/runtime.h"

using namespace vramstow::simulator::cudart;  // NOLINT(google-build-using-namespace)

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return Call(
      [&](const DriverTable& driver) { return driver.EventCreate(event, CU_EVENT_DEFAULT); });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  return Call([&](const DriverTable& driver) { return driver.EventCreate(event, flags); });
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  return Ask([&](const DriverTable& driver) { return driver.EventQuery(event); });
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return Call([&](const DriverTable& driver) { return driver.EventSynchronize(event); });
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return Call([&](const DriverTable& driver) { return driver.EventDestroy(event); });
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  return Call(
      [&](const DriverTable& driver) { return driver.EventElapsedTime(milliseconds, start, end); });
}
