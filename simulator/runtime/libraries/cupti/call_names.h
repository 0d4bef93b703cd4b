// CUPTI's numbers for functions of the runtime and the driver (cbid), from its public headers.
//
// Ownership: constants. Threads: any. Errors: 0 and null. Units: none.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUPTI_CALL_NAMES_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUPTI_CALL_NAMES_H_

#include <cstdint>

namespace vramstow::simulator {

enum class CallDomain { kDriver, kRuntime };

// The number of the newest form of a function, as the documentation names it: cuMemAlloc,
// cudaLaunchKernel, cudaMemcpyAsync_ptsz. `per_thread`: of the form whose stream 0 is the thread's
// own. 0: CUPTI has none.
uint32_t CallId(CallDomain domain, const char* name, bool per_thread);

// As cuptiGetCallbackName gives it, with its version: cudaLaunchKernel_v7000. Null: no such number.
const char* CallName(CallDomain domain, uint32_t id);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUPTI_CALL_NAMES_H_
