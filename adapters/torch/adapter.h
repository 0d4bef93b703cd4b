// Adapter is PyTorch's CUDA allocator, served by vramstow's pool.
//
// Idea: it is a full implementation of c10's CUDAAllocator and only passes each call to the part
// that does the work. One source serves several releases: functions whose signatures changed are
// declared in every form and without `override`, and a static_assert in install.cc proves that none
// is missing. Requests that the pool cannot serve go to PyTorch's own allocator, which remains
// available behind this one.
//
// Ownership: one object, never destroyed. Threads: any. Errors: only PyTorch's exceptions. Units:
// bytes.
#ifndef VRAMSTOW_ADAPTERS_TORCH_ADAPTER_H_
#define VRAMSTOW_ADAPTERS_TORCH_ADAPTER_H_

#include <functional>
#include <memory>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "adapters/torch/blocks.h"
#include "adapters/torch/cache.h"
#include "adapters/torch/checkpoints.h"
#include "adapters/torch/native.h"
#include "adapters/torch/pool_observer.h"
#include "adapters/torch/private_pools.h"
#include "adapters/torch/sharing.h"
#include "adapters/torch/snapshots.h"
#include "adapters/torch/torch_api.h"

// Some functions are declared only in some releases of PyTorch.
#pragma GCC diagnostic ignored "-Woverloaded-virtual"
#pragma GCC diagnostic ignored "-Wsuggest-override"

namespace vramstow::torch_adapter {

class Adapter final : public CUDAAllocator {
 public:
  Adapter(const vramstow_framework* table, Native native);

  // --- c10::Allocator, c10::DeviceAllocator ------------------------------------------------------
  DataPtr allocate(size_t size) override;
  c10::DeleterFnPtr raw_deleter() const override;
  void copy_data(void* to, const void* from, std::size_t count) const override;
  bool initialized() override;
  void emptyCache();
  void emptyCache(MempoolId_t id);
  void recordStream(const DataPtr& data, c10::cuda::CUDAStream stream);
  void recordStream(const DataPtr& data, c10::Stream stream);
  DeviceStats getDeviceStats(DeviceIndex device);
  void resetAccumulatedStats(DeviceIndex device);
  void resetPeakStats(DeviceIndex device);

  // --- CUDAAllocator: blocks ---------------------------------------------------------------------
  void* raw_alloc(size_t size) override;
  void* raw_alloc_with_stream(size_t size, cudaStream_t stream) override;
  void raw_delete(void* data) override;
  DataPtr allocateWithAddress(size_t size, void* address);
  void init(int device_count) override;
  void enable(bool value);
  bool isEnabled() const;
  std::string name() override;

  // --- Statistics -------------------------------------------------------------------------------
  double getMemoryFraction(DeviceIndex device);
  void setMemoryFraction(double fraction, DeviceIndex device);
  ExpandableSegmentSizes getExpandableSegmentSizes(DeviceIndex device);
  void cacheInfo(DeviceIndex device, size_t* largest);
  void* getBaseAllocation(void* data, size_t* size);
  SnapshotInfo snapshot();
  SnapshotInfo snapshot(MempoolId_t id);
  SnapshotInfo snapshot(MempoolId_t id, bool include_traces);

  // --- Private pools -----------------------------------------------------------------------------
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

  // --- Sharing and peers -------------------------------------------------------------------------
  ShareableHandle shareIpcHandle(void* data);
  std::shared_ptr<void> getIpcDevPtr(std::string handle);
  void enablePeerAccess(DeviceIndex device, DeviceIndex peer);
  cudaError_t memcpyAsync(void* to, int to_device, const void* from, int from_device, size_t count,
                          cudaStream_t stream, bool peer_access);

  // --- History and observers ---------------------------------------------------------------------
  bool isHistoryEnabled();
  std::shared_ptr<GatheredContext> getContextForPointer(const void* data);
  void recordHistory(bool enabled, caching::CreateContextFn recorder, size_t most,
                     caching::RecordContext when, bool clear,
                     const std::vector<std::string>& skipped_actions);
  void recordHistory(bool enabled, caching::CreateContextFn recorder, size_t most,
                     caching::RecordContext when, bool clear);
  void recordHistory(bool enabled, caching::CreateContextFn recorder, size_t most,
                     caching::RecordContext when);
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

  // Receives the pool's notifications.
  PoolObserver& pool_observer() { return pool_observer_; }

 private:
  const Native native_;
  Devices devices_;
  History history_;
  Statistics statistics_;
  MemoryFraction fraction_;
  OutOfMemory out_of_memory_;
  Blocks blocks_;
  Cache cache_;
  Snapshots snapshots_;
  PrivatePools private_pools_;
  Checkpoints checkpoints_;
  Sharing sharing_;
  PoolObserver pool_observer_;
};

// Returns the only adapter of this process, or null before it is installed.
Adapter* TheAdapter();

}  // namespace vramstow::torch_adapter

#endif  // VRAMSTOW_ADAPTERS_TORCH_ADAPTER_H_
