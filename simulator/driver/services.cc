// Implements small services of the device: the profiler switch and flushes.
#include <cuda.h>

#include "simulator/driver/context.h"

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C ABI is global

extern "C" {

CUresult cuProfilerStart(void) {
  return Serve("cuProfilerStart", Needs::kContext, [](Call&) { return CUDA_SUCCESS; });
}

CUresult cuProfilerStop(void) {
  return Serve("cuProfilerStop", Needs::kContext, [](Call&) { return CUDA_SUCCESS; });
}

CUresult cuFlushGPUDirectRDMAWrites(CUflushGPUDirectRDMAWritesTarget target,
                                    CUflushGPUDirectRDMAWritesScope scope) {
  (void)target, (void)scope;
  return Serve("cuFlushGPUDirectRDMAWrites", Needs::kContext, [](Call&) { return CUDA_SUCCESS; });
}

}  // extern "C"
