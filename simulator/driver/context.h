// Making and ending contexts.
//
// Ownership: the State owns contexts; a context that ended stays, so that its handle is known.
// Threads: the driver's lock. Errors: CUresult. Units: bytes.
#ifndef VRAMSTOW_SIMULATOR_DRIVER_CONTEXT_H_
#define VRAMSTOW_SIMULATOR_DRIVER_CONTEXT_H_

#include "simulator/driver/call.h"

namespace vramstow::simulator {

// Charges the device for a context. CUDA_ERROR_OUT_OF_MEMORY if it has no room.
CUresult MakeContext(State* state, int device, unsigned flags, bool primary, Context** context);

// All that the context held is given back; work that is pending is finished first unless the
// context is broken.
void EndContext(Call& call, Context* context);

// The living context that a handle means, or null.
Context* FindContext(State* state, CUcontext handle);

inline CUcontext ToHandle(Context* context) { return reinterpret_cast<CUcontext>(context); }

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DRIVER_CONTEXT_H_
