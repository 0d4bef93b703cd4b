// Forwarder is an allocator of PyTorch that passes each call on to PyTorch's own allocator.
//
// Idea: PyTorch's own allocator does all the work, and its blocks keep its own deleter, so that
// they are freed without this object. The Forwarder says how many bytes are requested on which
// stream, for ReportedBlocks. Before a function whose events are not reported, it has a tracker
// attached.
//
// One source serves several releases: functions that only some releases have are declared in every
// form and without `override`. Each passes its call on if the release has that form. If a release
// has a pure virtual function that is missing here, the class is abstract, and nothing is
// forwarded.
//
// Ownership: one object, never destroyed. Threads: any. Errors: only PyTorch's exceptions. Units:
// bytes.
#ifndef VRAMSTOW_ADAPTERS_TORCH_OBSERVER_FORWARDER_H_
#define VRAMSTOW_ADAPTERS_TORCH_OBSERVER_FORWARDER_H_

#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <vector>

#include "adapters/torch/observer/reported_blocks.h"
#include "adapters/torch/torch_api.h"

// Some functions are declared only in some releases of PyTorch.
#pragma GCC diagnostic ignored "-Woverloaded-virtual"
#pragma GCC diagnostic ignored "-Wsuggest-override"

namespace vramstow::torch_observer {

using c10::DataPtr;
using c10::DeviceIndex;
using torch_adapter::CUDAAllocator;
using torch_adapter::MempoolId_t;
using torch_adapter::OutOfMemoryObserver;
using torch_adapter::SnapshotInfo;

class Forwarder final : public CUDAAllocator {
 public:
  Forwarder(CUDAAllocator* native, ReportedBlocks* blocks) : native_(native), blocks_(blocks) {}

  // --- Requests ----------------------------------------------------------------------------------
  DataPtr allocate(size_t size) override;
  void* raw_alloc(size_t size) override;
  void* raw_alloc_with_stream(size_t size, cudaStream_t stream) override;
  void raw_delete(void* data) override;
  c10::DeleterFnPtr raw_deleter() const override;

  // --- Functions whose events are not reported ---------------------------------------------------
  void recordStream(const DataPtr& data, c10::cuda::CUDAStream stream);
  void recordStream(const DataPtr& data, c10::Stream stream);
  DataPtr allocateWithAddress(size_t size, void* address);
  std::shared_ptr<torch_adapter::caching::AllocatorState> getCheckpointState(DeviceIndex device,
                                                                             MempoolId_t id);
  torch_adapter::caching::CheckpointDelta setCheckpointPoolState(
      DeviceIndex device, std::shared_ptr<torch_adapter::caching::AllocatorState> state);
  void emptyCache();
  void emptyCache(MempoolId_t id);
  void resetAccumulatedStats(DeviceIndex device);

  // --- All others --------------------------------------------------------------------------------
  bool is_simple_data_ptr(const DataPtr& data) const;
  void copy_data(void* to, const void* from, std::size_t count) const override;
  bool initialized() override;
  void init(int device_count) override;
  void enable(bool value);
  bool isEnabled() const;
  std::string name() override;
  double getMemoryFraction(DeviceIndex device);
  void setMemoryFraction(double fraction, DeviceIndex device);
  std::pair<size_t, size_t> getMemoryInfo(DeviceIndex device);
  torch_adapter::ExpandableSegmentSizes getExpandableSegmentSizes(DeviceIndex device);
  void cacheInfo(DeviceIndex device, size_t* largest);
  void* getBaseAllocation(void* data, size_t* size);
  torch_adapter::DeviceStats getDeviceStats(DeviceIndex device);
  void resetPeakStats(DeviceIndex device);
  SnapshotInfo snapshot();
  SnapshotInfo snapshot(MempoolId_t id);
  SnapshotInfo snapshot(MempoolId_t id, bool include_traces);
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
  torch_adapter::ShareableHandle shareIpcHandle(void* data);
  std::shared_ptr<void> getIpcDevPtr(std::string handle);
  void enablePeerAccess(DeviceIndex device, DeviceIndex peer);
  cudaError_t memcpyAsync(void* to, int to_device, const void* from, int from_device, size_t count,
                          cudaStream_t stream, bool peer_access);
  bool isHistoryEnabled();
  std::shared_ptr<c10::GatheredContext> getContextForPointer(const void* data);
  void recordHistory(bool enabled, torch_adapter::caching::CreateContextFn recorder, size_t most,
                     torch_adapter::caching::RecordContext when, bool clear,
                     const std::vector<std::string>& skipped_actions);
  void recordHistory(bool enabled, torch_adapter::caching::CreateContextFn recorder, size_t most,
                     torch_adapter::caching::RecordContext when, bool clear);
  void recordHistory(bool enabled, torch_adapter::caching::CreateContextFn recorder, size_t most,
                     torch_adapter::caching::RecordContext when);
  void recordAnnotation(const std::vector<std::pair<std::string, std::string>>& annotation);
  void pushCompileContext(std::string& text);
  void popCompileContext();
  bool supportsUserMetadata();
  void setUserMetadata(const std::string& metadata);
  std::string getUserMetadata();
  void annotateMemory(const void* data, const std::string& metadata);
  void attachOutOfMemoryObserver(OutOfMemoryObserver observer);
  void attachOomRejectionObserver(OutOfMemoryObserver observer);
  void attachAllocatorTraceTracker(torch_adapter::caching::AllocatorTraceTracker tracker);

 private:
  CUDAAllocator* const native_;
  ReportedBlocks* const blocks_;
};

// Makes PyTorch use a Forwarder instead of its own allocator `native`, and records what that does.
// Returns false, and changes nothing, if that cannot be done or would miss a block.
bool Forward(CUDAAllocator* native, const vramstow_framework_trace* trace);

}  // namespace vramstow::torch_observer

#endif  // VRAMSTOW_ADAPTERS_TORCH_OBSERVER_FORWARDER_H_
