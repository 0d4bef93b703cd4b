// CudaDriver: fills the pool's DriverTable from a CUDA driver.
//
// Idea: whoever brings the pool into a process knows how to reach the real driver past every hook;
// it gives a function from names (as the driver library exports them, "cuMemCreate") to addresses.
// Nothing is linked, and only what DriverTable names is called.
//
// Ownership: the context belongs to the caller and outlives the pool, or the pool is closed with
// alive = false. The CudaDriver outlives the pool. Threads: the table may be used from any thread;
// each call makes the context current where another is, and puts that back. Errors: false, and
// missing() names the function that the driver lacks. Units: as driver.h.
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

  // Looks all functions up and asks the device what it can do.
  bool Open(Resolve resolve, void* resolve_context, CUdevice device, CUcontext context);

  const DriverTable* table() const { return &table_; }

  // How to find the other contexts of the process: false, there is none of this number.
  struct OtherContexts {
    bool (*at)(const void* list, uint32_t number, CUcontext* context, int* device) = nullptr;
    const void* list = nullptr;
    uint32_t count = 0;
  };
  void SetOtherContexts(const OtherContexts& others) { others_ = others; }

  // What is known of streams; without it the driver alone is asked.
  void SetStreamRecord(const StreamRecord& streams) { streams_ = streams; }

  // The clock that a simulated card has of its own: what the table's `now` gives, and what passes
  // in its `pause`. Before the pool opens.
  struct CardClock {
    uint64_t (*now)(const void* of) = nullptr;
    void (*pass)(const void* of, uint64_t nanoseconds) = nullptr;
    const void* of = nullptr;
  };
  void SetCardClock(const CardClock& clock) { card_clock_ = clock; }

  // Where the host's memory has to be made so that the device can map it; nothing is tried here.
  // Before the pool opens. Without it the pool does without such memory.
  void SetHostMapping(const HostMapping& mapping);

  // The context is gone: from now on no call makes it current. What is not of the context
  // (addresses, physical memory) can still be given back.
  void ForgetContext() { context_gone_.store(true, std::memory_order_release); }
  // Mappings are accessible to this device, too, from the next set_access on.
  void AddPeer(CUdevice peer);
  // The name that could not be resolved, or null.
  const char* missing() const { return missing_; }

 private:
  struct Functions {
    decltype(&cuCtxGetCurrent) CtxGetCurrent;
    decltype(&cuCtxPushCurrent) CtxPushCurrent;
    decltype(&cuCtxPopCurrent) CtxPopCurrent;
    decltype(&cuCtxSynchronize) CtxSynchronize;
    decltype(&cuCtxRecordEvent) CtxRecordEvent;  // null before driver 12.5
    decltype(&cuCtxWaitEvent) CtxWaitEvent;      // the same
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

  class Current;  // makes the context current while it lives

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
  // `wait(stream)` makes the stream wait for what the copies come after.
  template <typename Wait>
  CUresult StartCopies(const DriverCopy* copies, uint32_t count, Wait wait, uint64_t* job) const;
  CUresult CreateHost(uint64_t size, CUmemGenericAllocationHandle* handle) const;

  Functions functions_{};
  DriverTable table_{};
  CUdevice device_ = 0;
  std::atomic<uint64_t> peers_{0};  // one bit for each device, the own one not among them
  std::atomic<bool> context_gone_{false};
  CUcontext context_ = nullptr;
  OtherContexts others_;
  StreamRecord streams_;
  CardClock card_clock_;
  // Before CUDA 12.5: a stream that does nothing but wait for the legacy stream, as every blocking
  // one does. An event on it covers the legacy stream's work, and holds up no other stream.
  CUstream legacy_follower_ = nullptr;
  CUmemLocation host_{};  // where host memory is made; type 0: it cannot be mapped
  mutable std::atomic<bool> exportable_{false};
  mutable std::atomic<bool> rdma_{false};
  const char* missing_ = nullptr;
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_CORE_CUDA_DRIVER_H_
