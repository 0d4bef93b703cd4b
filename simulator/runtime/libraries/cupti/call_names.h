// Maps functions of the runtime and the driver to CUPTI's numbers (cbid), from its public headers.
//
// Ownership: constants. Threads: any. Errors: returns 0 or null. Units: none.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUPTI_CALL_NAMES_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUPTI_CALL_NAMES_H_

#include <cstdint>

namespace vramstow::simulator {

enum class CallDomain { kDriver, kRuntime };

// Returns the number of the newest form of a function by its documented name, such as cuMemAlloc,
// cudaLaunchKernel or cudaMemcpyAsync_ptsz. `per_thread` selects the form whose stream 0 is the
// thread's own. Returns 0 if CUPTI has none.
uint32_t CallId(CallDomain domain, const char* name, bool per_thread);

// Returns the name with its version as cuptiGetCallbackName does, such as cudaLaunchKernel_v7000;
// null for an unknown number.
const char* CallName(CallDomain domain, uint32_t id);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUPTI_CALL_NAMES_H_
