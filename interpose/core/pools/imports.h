// Imports maps blocks of other processes' pools that this process opened by cuIpc (see ipc.h).
//
// Ownership: it owns its mappings. Threads: any; the lock is held while a block is opened or
// closed, so that the same handle is mapped once. Errors: the driver's numbers. Units: bytes.
//
// Lock: mutex_. While it is held, the driver is called, and the thread waits for the other process,
// for seconds at most; no other lock is taken.
#ifndef VRAMSTOW_INTERPOSE_CORE_POOLS_IMPORTS_H_
#define VRAMSTOW_INTERPOSE_CORE_POOLS_IMPORTS_H_

#include <cstdint>

#include "base/event.h"
#include "base/mutex.h"
#include "base/thread_annotations.h"
#include "interpose/core/pools/ipc.h"
#include "interpose/core/runtime/core.h"

namespace vramstow {

class Imports {
 public:
  constexpr Imports(const Process& process, const Driver& driver, PoolTrace& trace)
      : process_(process), driver_(driver), trace_(trace) {}
  Imports(const Imports&) = delete;
  Imports& operator=(const Imports&) = delete;

  // Maps the block of the handle in the current context's device and stores the block's size in
  // *size.
  CUresult Open(const CUipcMemHandle& handle, CUdeviceptr* address, uint64_t* size);
  // Unmaps the block that was opened at this address and stores the result in *result. Returns
  // false if no block was opened there.
  bool Close(CUdeviceptr address, CUresult* result);

  // Removes all records of open blocks. Called by the only thread of a forked child;
  // async-signal-safe.
  void AbandonAfterFork() VRAMSTOW_NO_LOCK_ANALYSIS;

 private:
  static constexpr int kMax = 1024;
  struct Import {
    IpcHandle handle;
    CUdeviceptr range;  // 0 if the slot is free
    uint64_t pages;
    uint32_t opened;
    uint64_t devices;  // one bit for each device that may access the memory
  };

  Import* Find(const IpcHandle& handle) VRAMSTOW_REQUIRES(mutex_);
  CUresult MapAll(Import* import) VRAMSTOW_REQUIRES(mutex_);
  CUresult GiveAccess(Import* import) const VRAMSTOW_REQUIRES(mutex_);
  void UnmapAll(const Import& import, uint64_t mapped) VRAMSTOW_REQUIRES(mutex_);
  CUresult MapOne(CUdeviceptr address, uint64_t size, int descriptor) const;
  CUresult SetAccessFor(int device, CUdeviceptr address, uint64_t size) const;
  bool DriverCan() const;
  int FetchDescriptors(const IpcHandle& handle, uint64_t first, int* descriptors) const;
  void Emit(EventKind kind, MemoryKind memory, uint64_t address, uint64_t size,
            uint64_t object) const;

  const Process& process_;
  const Driver& driver_;
  PoolTrace& trace_;
  FastMutex mutex_;
  int count_ VRAMSTOW_GUARDED_BY(mutex_) = 0;  // slots that were ever used
  Import imports_[kMax] VRAMSTOW_GUARDED_BY(mutex_) = {};
};

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_POOLS_IMPORTS_H_
