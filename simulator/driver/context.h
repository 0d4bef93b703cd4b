// Creates and ends contexts.
//
// Ownership: the State owns contexts; a context that ended is retained, so that its handle is
// recognized. Threads: the caller holds the driver's lock. Errors: returns a CUresult. Units:
// bytes.
#ifndef VRAMSTOW_SIMULATOR_DRIVER_CONTEXT_H_
#define VRAMSTOW_SIMULATOR_DRIVER_CONTEXT_H_

#include "simulator/driver/call.h"

namespace vramstow::simulator {

// Charges the device for a context. Returns CUDA_ERROR_OUT_OF_MEMORY if the device has no room.
CUresult MakeContext(State* state, int device, unsigned flags, bool primary, Context** context);

// Waits for the pending work of a context that is about to end, unless the context is broken. Other
// threads may call the driver during the wait. Returns false if one of them has ended the context.
bool FinishWork(Call& call, const Context& context);

// Frees all that the context owns, and drops the work that is still pending.
void EndContext(Call& call, Context* context);

// Returns the living context of a handle, or null.
Context* FindContext(State* state, CUcontext handle);

inline CUcontext ToHandle(Context* context) { return reinterpret_cast<CUcontext>(context); }

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DRIVER_CONTEXT_H_
