// The driver as a pool calls it: one CudaDriver, past every hook.
//
// Idea: cuda.h has two forms: the ABI of today under plain names, and every ABI under its own name.
// The wrappers need the second form, CudaDriver uses the first. This header uses neither.
//
// Ownership: memory of its own, never given back: a thread that was late may still look into it.
// Threads: as CudaDriver. Errors: false where there is no memory, or where the driver lacks a
// function; then `missing` names it. Units: device numbers.
#ifndef VRAMSTOW_INTERPOSE_CORE_POOLS_POOL_DRIVER_H_
#define VRAMSTOW_INTERPOSE_CORE_POOLS_POOL_DRIVER_H_

#include "allocator/core/driver.h"
#include "interpose/core/runtime/core.h"

namespace vramstow {

class CudaDriver;
class LiveStreams;

// What a DriverTable's `self` is, for the functions below.
struct PoolDriver {
  CudaDriver* driver = nullptr;
  const DriverTable* table = nullptr;
};

// A driver for one context of one device, over the functions of `real`. `context` is a CUcontext.
// False: see above.
bool MakePoolDriver(const Driver& real, int device, void* context, PoolDriver* made,
                    const char** missing);

// `contexts` are all of the process: work of another one may use the pool's memory.
void SetOtherContexts(const PoolDriver& driver, const Contexts* contexts);

// What is known of streams without asking the driver.
void SetStreamRecord(const PoolDriver& driver, const LiveStreams* streams);

// The same object for another context, after the first is gone.
bool RenewPoolDriver(const Driver& real, const PoolDriver& driver, int device, void* context,
                     const char** missing);

// The context is gone: from now on calls are made without making it current.
void ForgetContext(const PoolDriver& driver);

// From the next set_access on the device `peer` may reach the memory, too.
void AddPeer(const PoolDriver& driver, int peer);

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_POOLS_POOL_DRIVER_H_
