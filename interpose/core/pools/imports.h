// Imports maps blocks of other processes' pools that this process opened by cuIpc (see ipc.h).
//
// Ownership: it owns its mappings. Threads: any; the lock is held while a block is opened or
// closed, so that the same handle is mapped once. Errors: the driver's numbers. Units: bytes.
//
// Locks: mutex_. While it is held, the driver is called, and the thread waits for the other
// process, for seconds at most. visible_mutex_ may be taken meanwhile; it is held for a few steps
// only.
#ifndef VRAMSTOW_INTERPOSE_CORE_POOLS_IMPORTS_H_
#define VRAMSTOW_INTERPOSE_CORE_POOLS_IMPORTS_H_

#include <atomic>
#include <cstdint>

#include "base/event.h"
#include "base/mutex.h"
#include "base/thread_annotations.h"
#include "interpose/core/pools/ipc.h"
#include "interpose/core/runtime/core.h"

namespace vramstow {

// A block that this process opened.
struct ImportedBlock {
  CUdeviceptr address = 0;
  uint64_t size = 0;            // the requested size
  uint64_t id = 0;              // the driver's number of this memory
  CUcontext context = nullptr;  // a context that opened the block
  int16_t device = 0;           // the device that the driver names
};

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
  // Called after a context has ended. Closes what it opened.
  void ContextGone(CUcontext context);

  // Finds the block of an address. Returns true if the address belongs to a mapped range; the
  // block's size is 0 if the address is in no block.
  bool FindBlock(CUdeviceptr address, ImportedBlock* block);

  // Removes all records of open blocks. Called by the only thread of a forked child;
  // async-signal-safe.
  void AbandonAfterFork() VRAMSTOW_NO_LOCK_ANALYSIS;

 private:
  static constexpr int kMax = 1024;
  static constexpr int kMaxOpeners = 16;  // contexts that can have a block open at once
  struct Import {
    IpcHandle handle;
    CUdeviceptr range;  // 0 if the slot is free
    uint64_t pages;
    // How often each context opened the block; unused places have the count 0.
    struct Opener {
      CUcontext context;
      uint32_t count;
    } openers[kMaxOpeners];
    uint64_t devices;  // one bit for each device that may access the memory
  };

  // What queries need about an import with the same number.
  struct Visible {
    CUdeviceptr range = 0;  // 0 if there is nothing
    uint64_t bytes = 0;
    ImportedBlock block;
  };

  Import* Find(const IpcHandle& handle) VRAMSTOW_REQUIRES(mutex_);
  static Import::Opener* FindOpener(Import* import, CUcontext context);
  void Show(const Import& import, CUcontext context) VRAMSTOW_REQUIRES(mutex_);
  void Hide(const Import& import) VRAMSTOW_REQUIRES(mutex_);
  void Settle(Import* import) VRAMSTOW_REQUIRES(mutex_);
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
  std::atomic<int> visible_count_{0};  // imports that can be found; written with both locks
  FastMutex visible_mutex_;
  Visible visible_[kMax] VRAMSTOW_GUARDED_BY(visible_mutex_) = {};
};

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_POOLS_IMPORTS_H_
