// Driver stores the addresses of the functions of the real (or simulated) driver library.
//
// Idea: when a look-up first finds a function in a driver library, vramstow looks up every hooked
// function of that library by its exported name. From then on a function's address identifies its
// hook, no matter by which name and version a program asked for it. A few functions that are not
// hooked are looked up, too, because vramstow itself calls them.
//
// Ownership: the driver library is never closed. Threads: any; two threads may bind at once and do
// the same work twice, because neither may wait for the other (one of them may hold the dynamic
// linker's lock). Errors: null for functions that this driver does not have. Units: addresses.
#ifndef VRAMSTOW_INTERPOSE_CORE_RUNTIME_DRIVER_H_
#define VRAMSTOW_INTERPOSE_CORE_RUNTIME_DRIVER_H_

#include <atomic>

#include "interpose/core/runtime/cuda_abi.h"
#include "interpose/core/runtime/hook_table.h"
#include "interpose/shim/seam.h"

struct link_map;

namespace vramstow {

// The functions that only the pool calls and that are not hooked.
#define VRAMSTOW_POOL_FUNCTIONS(query)                                                           \
  query(cuCtxPushCurrent_v2) query(cuCtxPopCurrent_v2) query(cuCtxSynchronize)                   \
      query(cuCtxRecordEvent) query(cuCtxWaitEvent) query(cuMemGetAllocationGranularity)         \
          query(cuEventCreate) query(cuEventDestroy_v2) query(cuEventRecord) query(cuEventQuery) \
              query(cuStreamSynchronize) query(cuStreamGetCtx) query(cuStreamWaitEvent)

// The functions that vramstow itself calls. Except for those of the pool, none of them changes the
// driver's state.
#define VRAMSTOW_DRIVER_QUERIES(query)                                                           \
  query(cuDriverGetVersion) query(cuDeviceGet) query(cuDeviceGetCount) query(cuDeviceGetName)    \
      query(cuDeviceGetAttribute) query(cuDeviceCanAccessPeer) query(cuDeviceGetUuid_v2)         \
          query(cuDeviceTotalMem_v2) query(cuDevicePrimaryCtxGetState) query(cuCtxGetCurrent)    \
              query(cuCtxGetDevice) query(cuCtxGetId) query(cuStreamIsCapturing)                 \
                  query(cuStreamIsCapturing_ptsz) query(cuThreadExchangeStreamCaptureMode)       \
                      query(cuFuncGetParamInfo) query(cuKernelGetParamInfo) query(cuFuncGetName) \
                          query(cuKernelGetName) query(cuModuleGetFunctionCount)                 \
                              query(cuLibraryGetKernelCount) VRAMSTOW_POOL_FUNCTIONS(query)

class Driver {
 public:
  constexpr Driver() = default;
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  // Makes `library` the driver. Returns false if another library is the driver already.
  bool Bind(const VramstowShim& shim, const link_map* library);

  // Returns the driver's own function for this hook.
  void* real(Hook hook) const { return Load(real_[static_cast<size_t>(hook)]); }

  // Returns this thread's current context, or null if it has none or the driver cannot answer.
  CUcontext CurrentContext() const;
  // Returns the device of the current context, or kNoDevice.
  int16_t CurrentDevice() const;

  // Returns the hook whose driver function has this address and this documented name, or kNoHook.
  // The name is needed because another function with other arguments may share the address. If
  // several forms of the function share one address, `per_thread_stream` selects the form.
  Hook FindAddress(const void* address, const char* name, bool per_thread_stream) const;

  // Finds a hook for an address that the driver returned but does not export under a known name.
  // Returns the hook that the CUDA documentation defines for this name at this CUDA version, or
  // kNoHook. If the driver exports no function for that hook, `address` is stored as the hook's
  // function.
  Hook FindVersion(void* address, const char* name, int version, bool per_thread_stream);

  // These functions return the functions of VRAMSTOW_DRIVER_QUERIES, each under its own name; null
  // if the driver has none.
#define VRAMSTOW_QUERY(symbol)                                          \
  decltype(&::symbol) symbol() const {                                  \
    return reinterpret_cast<decltype(&::symbol)>(Load(query_##symbol)); \
  }
  VRAMSTOW_DRIVER_QUERIES(VRAMSTOW_QUERY)
#undef VRAMSTOW_QUERY

  // Returns the CUDA version that the driver reports (12040 for CUDA 12.4), or 0 if it reports
  // none.
  int CudaVersion() const;

  // A range that work reads or writes, as in vramstowSimulatorRange (simulator/simulator_api.h).
  struct UsedRange {
    uint64_t address;
    uint64_t bytes;
    int use;
  };
  using UseWatcher = void (*)(const UsedRange* ranges, size_t count, void* user);

  // Returns the description of the simulated GPU, or null on a real driver.
  const char* simulator_description() const;
  // Returns what tells simulated GPUs with one UUID apart (vramstowSimulatorGroup); 0 on a real
  // driver.
  uint64_t SimulatedGroup() const;
  // WatchUncomputedReads makes a simulated driver call `seen` the first time the program reads a
  // value that the driver did not compute; `seen` runs under the driver's lock.
  // CountUncomputedReads returns the number of such reads, which is 0 with a real driver.
  void WatchUncomputedReads(int (*seen)(const char* by, void* user), void* user) const;
  uint64_t CountUncomputedReads() const;
  // Makes a simulated driver call `seen` with the memory that work uses
  // (vramstowSimulatorWatchUses). Does nothing with a real driver.
  void WatchUses(UseWatcher seen, void* user) const;
  // Lets `wrap` surround each task of a simulated driver (vramstowSimulatorWrapTasks). Does nothing
  // with a real driver.
  using TaskWrapper = int (*)(int (*append)(void* call), void* call, void* user);
  void WrapTasks(TaskWrapper wrap, void* user) const;
  // Returns true while a simulated driver reports the memory used by this thread's launches to the
  // watcher of WatchUses.
  bool HoldsKernels() const;
  // WatchUnknownSizes makes a simulated driver call `seen` at the first size that follows from a
  // value that was not computed. CountUnknownSizes returns the number of such sizes, which is 0
  // with a real driver.
  void WatchUnknownSizes(int (*seen)(const char* by, void* user), void* user) const;
  uint64_t CountUnknownSizes() const;

  // The totals of a simulated GPU's own clock, as in vramstowSimulatorModelClock.
  struct ModelClock {
    uint64_t now_ns;
    uint64_t link_read_bytes;
    uint64_t to_host_bytes;
    uint64_t to_device_bytes;
    uint64_t wait_ns;
    uint64_t work_ns;
    uint64_t operators;
    uint64_t link_work_ns;
    uint64_t due_ns;
  };
  // Reads the clock, without a lock. Returns false if the driver has no such clock.
  bool ReadModelClock(ModelClock* clock) const;
  // Advances the clock of a simulated GPU as if this thread had been idle for so long.
  void PassModelTime(uint64_t nanoseconds) const;
  // Advances the clock of a simulated GPU to this time, if it is earlier.
  void JoinModelTime(uint64_t time_ns) const;

  // Returns the path of the driver's library, or null if there is no driver yet.
  const char* path() const;

 private:
  using Address = std::atomic<void*>;
  static void* Load(const Address& address) { return address.load(std::memory_order_relaxed); }

  std::atomic<const link_map*> library_{nullptr};
  std::atomic<bool> ready_{false};
  Address real_[kHookCount] = {};
#define VRAMSTOW_QUERY(symbol) Address query_##symbol{nullptr};
  VRAMSTOW_DRIVER_QUERIES(VRAMSTOW_QUERY)
#undef VRAMSTOW_QUERY
  Address simulator_{nullptr};
  Address simulator_group_{nullptr};
  Address simulator_watch_{nullptr};
  Address simulator_count_{nullptr};
  Address simulator_watch_uses_{nullptr};
  Address simulator_wrap_tasks_{nullptr};
  Address simulator_holds_kernels_{nullptr};
  Address simulator_watch_sizes_{nullptr};
  Address simulator_count_sizes_{nullptr};
  Address simulator_clock_{nullptr};
  Address simulator_pass_{nullptr};
  Address simulator_join_{nullptr};
};

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_RUNTIME_DRIVER_H_
