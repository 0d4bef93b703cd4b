// Adapter: PyTorch's CUDA allocator, served by vramstow's pool.
//
// Idea: a full implementation of c10's CUDAAllocator. One source serves several releases: functions
// whose signatures changed are declared in every form and without `override`, and Complete() in
// install.cc proves that none is missing. What the pool cannot serve (a device without virtual
// memory, pools with an allocator of the application's, blocks from before) goes to PyTorch's own
// allocator, which stays in place behind this one.
//
// Ownership: one object, never destroyed. Threads: any. Errors: PyTorch's exceptions, nothing else.
// Units: bytes.
#ifndef VRAMSTOW_ADAPTERS_TORCH_ADAPTER_H_
#define VRAMSTOW_ADAPTERS_TORCH_ADAPTER_H_

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "adapters/torch/device.h"
#include "adapters/torch/history.h"
#include "adapters/torch/torch_api.h"

// Functions that some releases of PyTorch declare and others do not.
#pragma GCC diagnostic ignored "-Woverloaded-virtual"
#pragma GCC diagnostic ignored "-Wsuggest-override"

namespace vramstow::torch_adapter {

class Adapter final : public CUDAAllocator {
 public:
  static constexpr int kMaxDevices = 64;

  Adapter(const vramstow_framework* table, CUDAAllocator* native);

  // --- c10::Allocator, c10::DeviceAllocator (allocate.cc, statistics.cc)
  // --------------------------
  DataPtr allocate(size_t size) override;
  c10::DeleterFnPtr raw_deleter() const override;
  void copy_data(void* to, const void* from, std::size_t count) const override;
  bool initialized() override;
  void emptyCache(MempoolId_t id = {0, 0});
  void recordStream(const DataPtr& data, c10::cuda::CUDAStream stream);
  void recordStream(const DataPtr& data, c10::Stream stream);
  DeviceStats getDeviceStats(DeviceIndex device);
  void resetAccumulatedStats(DeviceIndex device);
  void resetPeakStats(DeviceIndex device);

  // --- CUDAAllocator: blocks (allocate.cc) -------------------------------------------------------
  void* raw_alloc(size_t size) override;
  void* raw_alloc_with_stream(size_t size, cudaStream_t stream) override;
  void raw_delete(void* data) override;
  DataPtr allocateWithAddress(size_t size, void* address);
  void init(int device_count) override;
  void enable(bool value) override;
  bool isEnabled() const override;
  std::string name() override;

  // --- Numbers (statistics.cc) -------------------------------------------------------------------
  double getMemoryFraction(DeviceIndex device);
  void setMemoryFraction(double fraction, DeviceIndex device);
  std::vector<caching::StreamSegmentSize> getExpandableSegmentSizes(DeviceIndex device);
  void cacheInfo(DeviceIndex device, size_t* largest);
  void* getBaseAllocation(void* data, size_t* size);
  SnapshotInfo snapshot(MempoolId_t id = {0, 0}, bool include_traces = true);

  // --- Private pools (pools.cc) ------------------------------------------------------------------
  void beginAllocateToPool(DeviceIndex device, MempoolId_t id,
                           std::function<bool(cudaStream_t)> filter);
  void endAllocateToPool(DeviceIndex device, MempoolId_t id);
  void markCaptureBegin(DeviceIndex device);
  void markCaptureEnd(DeviceIndex device);
  void releasePool(DeviceIndex device, MempoolId_t id);
  int getPoolUseCount(DeviceIndex device, MempoolId_t id);
  void createOrIncrefPool(DeviceIndex device, MempoolId_t id,
                          std::shared_ptr<CUDAAllocator> allocator = nullptr);
  void createOrIncrefPool(DeviceIndex device, MempoolId_t id, CUDAAllocator* allocator);
  void ensureExistsAndIncrefPool(DeviceIndex device, MempoolId_t id);
  void setUseOnOOM(DeviceIndex device, MempoolId_t id, bool use);
  void setUseOnOOM(DeviceIndex device, MempoolId_t id);
  void setNoSplit(DeviceIndex device, MempoolId_t id);
  bool checkPoolLiveAllocations(DeviceIndex device, MempoolId_t id,
                                const std::unordered_set<void*>& expected);
  std::shared_ptr<caching::AllocatorState> getCheckpointState(DeviceIndex device, MempoolId_t id);
  caching::CheckpointDelta setCheckpointPoolState(DeviceIndex device,
                                                  std::shared_ptr<caching::AllocatorState> state);

  // --- Sharing and peers (sharing.cc) ------------------------------------------------------------
  caching::ShareableHandle shareIpcHandle(void* data);
  std::shared_ptr<void> getIpcDevPtr(std::string handle);
  void enablePeerAccess(DeviceIndex device, DeviceIndex peer);
  cudaError_t memcpyAsync(void* to, int to_device, const void* from, int from_device, size_t count,
                          cudaStream_t stream, bool peer_access);

  // --- History and observers (watching.cc) -------------------------------------------------------
  bool isHistoryEnabled();
  std::shared_ptr<GatheredContext> getContextForPointer(const void* data);
  void recordHistory(bool enabled, caching::CreateContextFn recorder, size_t most,
                     caching::RecordContext when, bool clear,
                     const std::vector<std::string>& skipped_actions);
  void recordHistory(bool enabled, caching::CreateContextFn recorder, size_t most,
                     caching::RecordContext when, bool clear);
  void recordAnnotation(const std::vector<std::pair<std::string, std::string>>& annotation);
  void pushCompileContext(std::string& text);
  void popCompileContext();
  bool supportsUserMetadata();
  void setUserMetadata(const std::string& metadata);
  std::string getUserMetadata();
  void annotateMemory(const void* data, const std::string& metadata);
  void attachOutOfMemoryObserver(OutOfMemoryObserver observer);
  void attachOomRejectionObserver(OutOfMemoryObserver observer);
  void attachAllocatorTraceTracker(caching::AllocatorTraceTracker tracker);

  // --- Told by the pool (watching.cc), under its locks -------------------------------------------
  void TellMapping(int device, uint64_t address, uint64_t size, bool mapped);
  void TellCompleted(int device, uint64_t address, uint64_t size, uint64_t requested);

  CUDAAllocator* native() const { return native_; }

 private:
  struct Request {
    Device* device;
    size_t size;
    cudaStream_t stream;
    uint64_t pool;
  };

  // While PyTorch's own allocator allocates on a device: the fraction of its memory that may be
  // used is for both together.
  class Turn {
   public:
    Turn(Adapter* adapter, Device* device) : adapter_(adapter), device_(device) {
      device->native_used.store(true, std::memory_order_relaxed);
      if (device->has_fraction) adapter->LimitNative(device);
    }
    ~Turn() {
      if (device_->has_fraction && device_->handle >= 0) adapter_->ApplyFraction(device_);
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    Adapter* const adapter_;
    Device* const device_;
  };

  static void Delete(void* data);
  DeviceIndex CurrentDevice() const;
  Device& At(DeviceIndex device);
  // Whether the pool serves this device; opens it at the first time.
  bool IsServed(Device* device);
  bool OpenPool(Device* device);
  void* Allocate(DeviceIndex device, size_t size, cudaStream_t stream);
  int Ask(const Request& request, vramstow_framework_block* block);
  void* AllocateSlowly(const Request& request, int result, Context context);
  void* Born(const Request& request, const vramstow_framework_block& block, Context context);
  void Free(void* data);
  bool FreeWatched(void* data);
  void ForgetBlock(const vramstow_framework_block& block);
  void NoteReserved(Device* device);
  [[noreturn]] void Fail(const Request& request);  // out_of_memory.cc
  void Report(void* data, int64_t change, Device* device);
  void AddSegments(Device* device, bool all, uint64_t pool, std::vector<SegmentInfo>* segments);
  void ApplyFraction(Device* device);
  void LimitNative(Device* device);

  const vramstow_framework* const table_;
  const bool names_callers_;  // the trace has stacks: operators and modules belong to them
  CUDAAllocator* const native_;
  std::atomic<int> device_count_{0};
  std::atomic<bool> enabled_{true};
  std::atomic<int64_t> max_split_size_{-1};  // a setting of PyTorch's own allocator
  std::array<Device, kMaxDevices> devices_;
  History history_;
  std::mutex observers_mutex_;
  std::vector<OutOfMemoryObserver> observers_;
  std::mutex shared_mutex_;
  std::unordered_map<std::string, std::weak_ptr<void>> shared_;  // opened, by handle
};

// The one adapter of this process; null before it is installed.
Adapter* TheAdapter();

}  // namespace vramstow::torch_adapter

#endif  // VRAMSTOW_ADAPTERS_TORCH_ADAPTER_H_
