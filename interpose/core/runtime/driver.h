// Driver: the driver library behind vramstow, and the addresses of its functions.
//
// Idea: at the first look-up that ends in a driver library, vramstow looks up every hooked function
// of that library by its exported name. From then on an address says which hook it is, whatever
// name and version a program asked for. A few functions that are not hooked are looked up, too:
// those that vramstow itself calls.
//
// Ownership: the driver library is never closed. Threads: any; two threads may bind at once and do
// the same work twice, because neither may wait for the other (one of them may hold the dynamic
// linker's lock). Errors: null for what this driver does not have. Units: addresses.
#ifndef VRAMSTOW_INTERPOSE_CORE_RUNTIME_DRIVER_H_
#define VRAMSTOW_INTERPOSE_CORE_RUNTIME_DRIVER_H_

#include <atomic>

#include "interpose/core/runtime/cuda_abi.h"
#include "interpose/core/runtime/hook_table.h"
#include "interpose/shim/seam.h"

struct link_map;

namespace vramstow {

// What the pool calls besides functions that are hooked.
#define VRAMSTOW_POOL_FUNCTIONS(query)                                                           \
  query(cuCtxPushCurrent_v2) query(cuCtxPopCurrent_v2) query(cuCtxSynchronize)                   \
      query(cuCtxRecordEvent) query(cuCtxWaitEvent) query(cuMemGetAllocationGranularity)         \
          query(cuEventCreate) query(cuEventDestroy_v2) query(cuEventRecord) query(cuEventQuery) \
              query(cuStreamSynchronize) query(cuStreamGetCtx) query(cuStreamWaitEvent)

// What vramstow itself calls. Except for the pool's, none of these changes anything.
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

  // Makes `library` the driver. False if another library is it already.
  bool Bind(const VramstowShim& shim, const link_map* library);

  // The driver's own function.
  void* real(Hook hook) const { return Load(real_[static_cast<size_t>(hook)]); }

  // This thread's current context; null: none, or the driver does not say.
  CUcontext CurrentContext() const;
  // Its device, or kNoDevice.
  int16_t CurrentDevice() const;

  // The hook that an address of the driver is under this documented name, or kNoHook: the address
  // of another function, with other arguments, may be the same. Where several forms of the function
  // share one address, `per_thread_stream` chooses.
  Hook FindAddress(const void* address, const char* name, bool per_thread_stream) const;

  // The hook that the documentation promises for a name at a version, or kNoHook: for an address
  // that this driver does not export. Remembers the address if the driver exports none.
  Hook FindVersion(void* address, const char* name, int version, bool per_thread_stream);

  // The functions of VRAMSTOW_DRIVER_QUERIES, by their own names; null if the driver has none.
#define VRAMSTOW_QUERY(symbol)                                          \
  decltype(&::symbol) symbol() const {                                  \
    return reinterpret_cast<decltype(&::symbol)>(Load(query_##symbol)); \
  }
  VRAMSTOW_DRIVER_QUERIES(VRAMSTOW_QUERY)
#undef VRAMSTOW_QUERY

  // The version of CUDA that the driver says it is of, such as 12040; 0: it does not say.
  int CudaVersion() const;

  // Memory that work reads or writes, as vramstowSimulatorRange (simulator/simulator_api.h) has it.
  struct UsedRange {
    uint64_t address;
    uint64_t bytes;
    int use;
  };
  using UseWatcher = void (*)(const UsedRange* ranges, size_t count, void* user);

  // What is simulated, or null on a real driver.
  const char* simulator_description() const;
  // How often the program has read what a simulated driver did not compute; it calls `seen` at the
  // first time, with its lock held. A real driver never does.
  void WatchUncomputedReads(int (*seen)(const char* by, void* user), void* user) const;
  uint64_t CountUncomputedReads() const;
  // Has a simulated driver call `seen` for the memory that work uses (vramstowSimulatorWatchUses).
  // Does nothing with a real driver.
  void WatchUses(UseWatcher seen, void* user) const;
  // True while a simulated driver tells that watcher what launches of this thread use.
  bool HoldsKernels() const;
  // The same of sizes that follow from that.
  void WatchUnknownSizes(int (*seen)(const char* by, void* user), void* user) const;
  uint64_t CountUnknownSizes() const;

  // The sums of a simulated card's own clock, as vramstowSimulatorModelClock has them.
  struct ModelClock {
    uint64_t now_ns;
    uint64_t link_read_bytes;
    uint64_t to_host_bytes;
    uint64_t to_device_bytes;
    uint64_t wait_ns;
    uint64_t work_ns;
    uint64_t operators;
    uint64_t link_work_ns;
  };
  // False: there is no such clock. Takes no lock.
  bool ReadModelClock(ModelClock* clock) const;
  // By that clock, this thread does nothing for so long.
  void PassModelTime(uint64_t nanoseconds) const;

  // The driver's file; null while there is no driver.
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
  Address simulator_watch_{nullptr};
  Address simulator_count_{nullptr};
  Address simulator_watch_uses_{nullptr};
  Address simulator_holds_kernels_{nullptr};
  Address simulator_watch_sizes_{nullptr};
  Address simulator_count_sizes_{nullptr};
  Address simulator_clock_{nullptr};
  Address simulator_pass_{nullptr};
};

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_RUNTIME_DRIVER_H_
