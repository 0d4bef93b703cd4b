// Makes the driver that a pool calls: a CudaDriver, which calls the driver's real functions and no
// hook.
//
// Idea: cuda.h can be included in two forms: the current ABI under plain names, or every ABI under
// its own name (cuda_abi.h). The wrappers need the second form, CudaDriver uses the first. This
// header uses neither form, so files of both kinds can include it.
//
// Ownership: separate memory, which is never released, because a slow thread may still read it.
// Threads: as CudaDriver. Errors: false if there is no memory or the driver lacks a function;
// `missing` then names that function. Units: device numbers.
#ifndef VRAMSTOW_INTERPOSE_CORE_POOLS_POOL_DRIVER_H_
#define VRAMSTOW_INTERPOSE_CORE_POOLS_POOL_DRIVER_H_

#include "allocator/core/driver.h"
#include "interpose/core/runtime/core.h"

namespace vramstow {

class CudaDriver;
class LiveStreams;

// A driver and its table of functions. `driver` is the `self` argument of these functions.
struct PoolDriver {
  CudaDriver* driver = nullptr;
  const DriverTable* table = nullptr;
};

// Makes a driver for one context of one device, which calls the functions of `real`. `context` is a
// CUcontext. Returns false if there is no memory or if a function is missing.
bool MakePoolDriver(const Driver& real, int device, void* context, PoolDriver* made,
                    const char** missing);

// Gives the driver all contexts of the process. They matter because work of another context may use
// the pool's memory.
void SetOtherContexts(const PoolDriver& driver, const Contexts* contexts);

// Gives the driver the record of live streams, which answers questions about streams without a
// driver call.
void SetStreamRecord(const PoolDriver& driver, const LiveStreams* streams);

// Prepares the same object for another context after its first context has ended.
bool RenewPoolDriver(const Driver& real, const PoolDriver& driver, int device, void* context,
                     const char** missing);

// Notes that the context has ended. From now on the driver does not make that context current.
void ForgetContext(const PoolDriver& driver);

// Lets the device `peer` access the memory, too, from the next call of set_access on.
void AddPeer(const PoolDriver& driver, int peer);

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_POOLS_POOL_DRIVER_H_
