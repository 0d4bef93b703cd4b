// CudaDriver: fills the pool's DriverTable from a CUDA driver.
//
// Idea: the code that brings the pool into a process passes a function that resolves names of
// driver functions ("cuMemCreate") to the real driver's addresses, past every hook. The class links
// to no library and calls only the functions that DriverTable names.
//
// Ownership: the context belongs to the caller and outlives the pool, or the pool is closed with
// alive = false. The CudaDriver outlives the pool. Threads: the table may be used from any thread.
// If another context is current, each call makes its own context current and restores the other one
// afterwards. Errors: Open returns false, and missing() names the function that the driver lacks.
// Units: as in driver.h.
#ifndef VRAMSTOW_ALLOCATOR_CORE_CUDA_DRIVER_H_
#define VRAMSTOW_ALLOCATOR_CORE_CUDA_DRIVER_H_

#include <cuda.h>

#include <atomic>
#include <cstdint>

#include "allocator/core/driver.h"
#include "allocator/core/stream_record.h"
#include "base/host_mapping.h"

namespace vramstow {

class CudaDriver {
 public:
  using Resolve = void* (*)(void* context, const char* name);

  CudaDriver() = default;
  CudaDriver(const CudaDriver&) = delete;
  CudaDriver& operator=(const CudaDriver&) = delete;

  // Resolves all functions and asks the device for its capabilities.
  bool Open(Resolve resolve, void* resolve_context, CUdevice device, CUcontext context);

  const DriverTable* table() const { return &table_; }

  // A list of the process's other contexts. `at` returns false if there is no context of this
  // number.
  struct OtherContexts {
    bool (*at)(const void* list, uint32_t number, CUcontext* context, int* device) = nullptr;
    const void* list = nullptr;
    uint32_t count = 0;
  };
  void SetOtherContexts(const OtherContexts& others) { others_ = others; }

  // Sets the record that knows which streams exist. Without it only the driver is asked whether a
  // stream exists.
  void SetStreamRecord(const StreamRecord& streams) { streams_ = streams; }

  // The virtual clock of a simulated GPU: the table's `now` returns its time and `pause` advances
  // it. It is set before the pool opens.
  struct CardClock {
    uint64_t (*now)(const void* of) = nullptr;
    void (*pass)(const void* of, uint64_t nanoseconds) = nullptr;
    const void* of = nullptr;
  };
  void SetCardClock(const CardClock& clock) { card_clock_ = clock; }

  // Sets where host memory must be created so that the device can map it. It is called before the
  // pool opens. If it is not called, the pool creates no host memory for the device.
  void SetHostMapping(const HostMapping& mapping);

  // Notes that the context was destroyed, so that no later call makes it current. Addresses and
  // physical memory do not belong to the context and can still be released.
  void ForgetContext() { context_gone_.store(true, std::memory_order_release); }
  // Makes mappings accessible to this peer as well, from the next set_access on.
  void AddPeer(CUdevice peer);
  // The name that could not be resolved, or null if all were.
  const char* missing() const { return missing_; }

 private:
  struct Functions {
    decltype(&cuCtxGetCurrent) CtxGetCurrent;
    decltype(&cuCtxPushCurrent) CtxPushCurrent;
    decltype(&cuCtxPopCurrent) CtxPopCurrent;
    decltype(&cuCtxSynchronize) CtxSynchronize;
    decltype(&cuCtxRecordEvent) CtxRecordEvent;  // null before driver 12.5
    decltype(&cuCtxWaitEvent) CtxWaitEvent;      // null before driver 12.5
    decltype(&cuDeviceGetAttribute) DeviceGetAttribute;
    decltype(&cuDeviceTotalMem) DeviceTotalMem;
    decltype(&cuMemGetInfo) MemGetInfo;
    decltype(&cuMemGetAllocationGranularity) MemGetAllocationGranularity;
    decltype(&cuMemAddressReserve) MemAddressReserve;
    decltype(&cuMemAddressFree) MemAddressFree;
    decltype(&cuMemCreate) MemCreate;
    decltype(&cuMemRelease) MemRelease;
    decltype(&cuMemMap) MemMap;
    decltype(&cuMemAlloc) MemAlloc;
    decltype(&cuMemFree) MemFree;
    decltype(&cuMemUnmap) MemUnmap;
    decltype(&cuMemSetAccess) MemSetAccess;
    decltype(&cuEventCreate) EventCreate;
    decltype(&cuEventDestroy) EventDestroy;
    decltype(&cuEventRecord) EventRecord;
    decltype(&cuEventQuery) EventQuery;
    decltype(&cuStreamQuery) StreamQuery;
    decltype(&cuThreadExchangeStreamCaptureMode) ThreadExchangeStreamCaptureMode;
    decltype(&cuMemcpyAsync) MemcpyAsync;
    decltype(&cuMemHostAlloc) MemHostAlloc;
    decltype(&cuMemFreeHost) MemFreeHost;
    decltype(&cuStreamCreate) StreamCreate;
    decltype(&cuStreamDestroy) StreamDestroy;
    decltype(&cuStreamSynchronize) StreamSynchronize;
    decltype(&cuStreamWaitEvent) StreamWaitEvent;
  };

  class Current;  // makes the context current during its lifetime

  bool Look(Resolve resolve, void* resolve_context);
  bool Attribute(CUdevice_attribute attribute) const;
  bool HasVirtualMemory() const;
  void FillMemory();
  void FillOrder();
  void FillOffload();
  void MakeLegacyFollower();
  DriverResult Record(CUevent event, CUstream stream) const;
  DriverResult RecordForeign(CUevent event, CUstream stream, CUcontext context) const;
  DriverResult FinishContext(CUcontext context, uint64_t deadline_ns) const;
  CUcontext OtherAt(uint32_t number) const;
  bool AnyOthers() const;
  DriverResult FinishOthers(uint64_t deadline_ns) const;
  CUmemAllocationProp Properties() const;
  void Settle(const CUmemAllocationProp& properties) const;
  CUresult SetAccess(uint64_t address, uint64_t size, const CUmemLocation* host) const;
  bool CanCopy() const;
  template <typename Records, typename Waits>
  CUresult Order(Records record, Waits wait) const;
  CUresult WaitForContext(CUstream stream) const;
  CUresult MakeContextWait(CUstream stream) const;
  CUresult WaitForStream(CUstream stream, CUstream previous) const;
  // Starts the copies on a stream. `wait(stream)` makes that stream wait for the work that must
  // finish before the copies.
  template <typename Wait>
  CUresult StartCopies(const DriverCopy* copies, uint32_t count, Wait wait, uint64_t* job) const;
  CUresult CreateHost(uint64_t size, CUmemGenericAllocationHandle* handle) const;

  Functions functions_{};
  DriverTable table_{};
  CUdevice device_ = 0;
  std::atomic<uint64_t> peers_{0};  // one bit for each peer device
  std::atomic<bool> context_gone_{false};
  CUcontext context_ = nullptr;
  OtherContexts others_;
  StreamRecord streams_;
  CardClock card_clock_;
  // Before CUDA 12.5 only: a stream that does nothing but wait for the legacy stream, as every
  // blocking stream does. An event on it covers the legacy stream's work without delaying other
  // streams.
  CUstream legacy_follower_ = nullptr;
  CUmemLocation host_{};  // location of host memory; type 0 if it cannot be mapped
  mutable std::atomic<bool> exportable_{false};
  mutable std::atomic<bool> rdma_{false};
  const char* missing_ = nullptr;
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_CORE_CUDA_DRIVER_H_
