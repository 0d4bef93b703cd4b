// Makes the driver that a pool calls: one CudaDriver, past every hook.
//
// Idea: cuda.h can be included in two forms: the current ABI under plain names, or every ABI under
// its own name (cuda_abi.h). The wrappers need the second form, CudaDriver uses the first. This
// header uses neither.
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

// A driver and its table; `driver` is the `self` of the table's functions.
struct PoolDriver {
  CudaDriver* driver = nullptr;
  const DriverTable* table = nullptr;
};

// Makes a driver for one context of one device, over the functions of `real`. `context` is a
// CUcontext. Returns false without memory or if a function is missing.
bool MakePoolDriver(const Driver& real, int device, void* context, PoolDriver* made,
                    const char** missing);

// `contexts` are all contexts of the process, because work of another context may use the pool's
// memory.
void SetOtherContexts(const PoolDriver& driver, const Contexts* contexts);

// `streams` answers questions about streams without the driver.
void SetStreamRecord(const PoolDriver& driver, const LiveStreams* streams);

// Prepares the same object for another context, after the first one has ended.
bool RenewPoolDriver(const Driver& real, const PoolDriver& driver, int device, void* context,
                     const char** missing);

// Called when the context has ended; from now on calls do not make it current.
void ForgetContext(const PoolDriver& driver);

// From the next set_access on, the device `peer` may access the memory, too.
void AddPeer(const PoolDriver& driver, int peer);

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_POOLS_POOL_DRIVER_H_
