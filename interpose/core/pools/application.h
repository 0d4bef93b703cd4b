// Application serves the requests about the pools that an application makes by the C API, or a user
// at the control socket.
//
// Idea: one set of functions serves both. The application's hooks are stored here and not in a
// pool, because pools are opened and closed. Each pool has one hook, which calls the application's
// hooks. If there is no pool, the statistics are those of the framework's own allocator, as an
// observer counts them.
//
// Ownership: static storage. Threads: any; hooks run without any lock of vramstow's. Errors: the
// codes of include/vramstow/vramstow.h. Units: bytes, nanoseconds, device numbers.
//
// Lock: mutex_ guards the list of hooks; nothing is taken while it is held.
#ifndef VRAMSTOW_INTERPOSE_CORE_POOLS_APPLICATION_H_
#define VRAMSTOW_INTERPOSE_CORE_POOLS_APPLICATION_H_

#include <cstddef>
#include <cstdint>

#include "allocator/pool/pool.h"
#include "base/mutex.h"
#include "base/thread_annotations.h"
#include "interpose/core/runtime/core.h"

struct vramstow_block;
struct vramstow_stats;

namespace vramstow {

// Amounts of memory of a device that metrics report in addition to its statistics.
struct DeviceMemory {
  uint64_t device_bytes = 0;    // the device's total memory; 0 if unknown
  bool has_pool = false;        // if false, the other fields are unknown
  uint64_t head_room = 0;       // bytes that the process could still get: free or cached
  uint64_t unusable_bytes = 0;  // free in the pool, in pieces smaller than a chunk
};

// The result of a release of cached memory.
struct GivenBack {
  uint64_t device_bytes = 0;
  uint64_t host_bytes = 0;  // released host memory
  uint64_t duration_ns = 0;
};

class Application {
 public:
  constexpr Application(const Process& process, Trace& trace, Pools& pools,
                        ObservedMemory& observed)
      : process_(process), trace_(trace), pools_(pools), observed_(observed) {}
  Application(const Application&) = delete;
  Application& operator=(const Application&) = delete;

  int EmptyCache(int device, uint64_t* released_bytes, uint64_t* duration_ns) const;
  // Releases the cached memory of a device, as EmptyCache does. *given also contains the number of
  // bytes of host memory that were released.
  int GiveBack(int device, GivenBack* given) const;
  // Limits the pools of a device, and records in the trace what set the limit: `by` is the name of
  // the function or of the command.
  int SetLimit(int device, uint64_t bytes, const char* by = "vramstow_set_limit()") const;
  // Makes the statistics count as pending only what submitted work may still use. This asks the
  // driver, so it is called before numbers are shown, and not by the program's own requests.
  void SettleFrees(int device) const;
  int GetStats(int device, vramstow_stats* stats, size_t size) const;
  // Returns the end of a sentence that explains why there are no statistics.
  const char* WhyNoStats() const;
  // True if the statistics are those of a pool; otherwise they come from the observed allocator.
  bool HasPool(int device) const;
  // Fills in the amounts of memory of a device. It visits all blocks of the pools, which delays
  // allocations of other threads, and asks the driver.
  int GetMemory(int device, DeviceMemory* memory) const;
  int GetBlocks(int device, vramstow_block* blocks, uint64_t* count, size_t size) const;
  int ResetPeaks(int device) const;

 private:
  template <typename Visit>
  int VisitPools(int device, Visit visit) const;

  // Adds up the observed figures of a device, or of all devices if `device` is negative. Returns
  // the number of devices.
  int AddObserved(int device, vramstow_stats* sum) const;

  const Process& process_;
  Trace& trace_;
  Pools& pools_;
  ObservedMemory& observed_;
};

class ApplicationHooks {
 public:
  using Function = void (*)(void* context, int why, uint64_t bytes);

  explicit constexpr ApplicationHooks(const Process& process) : process_(process) {}
  ApplicationHooks(const ApplicationHooks&) = delete;
  ApplicationHooks& operator=(const ApplicationHooks&) = delete;

  // Returns VRAMSTOW_NOT_ACTIVE if the pool is off, because then nothing would call the hook.
  int Add(Function function, void* context);
  int Remove(Function function, void* context);
  // The hook that each pool has. It calls all hooks of the application; `context` is this object.
  static void Call(void* context, HookKind kind, uint64_t bytes);

  void AbandonAfterFork() { mutex_.Reset(); }

 private:
  static constexpr int kMax = 32;
  struct Entry {
    Function function;
    void* context;
  };

  const Process& process_;
  FastMutex mutex_;
  int count_ VRAMSTOW_GUARDED_BY(mutex_) = 0;
  Entry entries_[kMax] VRAMSTOW_GUARDED_BY(mutex_) = {};
};

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_POOLS_APPLICATION_H_
