// Each function passes its call to one part of the adapter. If PyTorch's own allocator must be
// notified of the call, the function also calls that allocator.
#include "adapters/torch/adapter.h"

namespace vramstow::torch_adapter {
namespace {

void Delete(void* data) { TheAdapter()->raw_delete(data); }

}  // namespace

Adapter::Adapter(const vramstow_framework* table, Native native)
    : native_(native),
      statistics_(table, native),
      fraction_(table, native),
      out_of_memory_(table, &history_),
      blocks_(table, native, &Delete, &devices_, &history_, &statistics_, &fraction_,
              &out_of_memory_),
      cache_(table, native, &devices_, &history_, &statistics_, &fraction_),
      snapshots_(table, native, &devices_, &history_),
      private_pools_(table, native, &blocks_),
      checkpoints_(table, native, &blocks_),
      sharing_(table, native),
      pool_observer_(&devices_, &history_) {}

// --- Blocks -------------------------------------------------------------------------------------

DataPtr Adapter::allocate(size_t size) { return blocks_.AllocateData(size); }

void* Adapter::raw_alloc(size_t size) { return blocks_.AllocateOnCurrentStream(size); }

void* Adapter::raw_alloc_with_stream(size_t size, cudaStream_t stream) {
  return size == 0 ? nullptr : blocks_.Allocate(devices_.Current(), size, stream);
}

void Adapter::raw_delete(void* data) { blocks_.Free(data); }

c10::DeleterFnPtr Adapter::raw_deleter() const { return &Delete; }

DataPtr Adapter::allocateWithAddress(size_t size, void* address) {
  return blocks_.AllocateDataAt(reinterpret_cast<uint64_t>(address), size);
}

void Adapter::recordStream(const DataPtr& data, c10::cuda::CUDAStream stream) {
  blocks_.RecordStream(data, stream);
}

void Adapter::recordStream(const DataPtr& data, c10::Stream stream) {
  recordStream(data, c10::cuda::CUDAStream(stream));
}

void* Adapter::getBaseAllocation(void* data, size_t* size) { return blocks_.BaseOf(data, size); }

void Adapter::copy_data(void* to, const void* from, std::size_t count) const {
  C10_CUDA_CHECK(cudaMemcpy(to, from, count, cudaMemcpyKind::cudaMemcpyDeviceToDevice));
}

// --- Initialization -----------------------------------------------------------------------------

bool Adapter::initialized() { return devices_.count() > 0; }

void Adapter::init(int device_count) {
  native_->init(device_count);
  devices_.set_count(device_count);
  if (device_count > 0) statistics_.ReadSettings();
}

void Adapter::enable(bool value) {
  native_.Enable(value);
  blocks_.set_enabled(value);
}

bool Adapter::isEnabled() const { return native_.IsEnabled(); }

// Returns the name of PyTorch's own allocator, because programs conclude from the name whether this
// allocator has all features.
std::string Adapter::name() { return native_->name(); }

// --- Statistics ---------------------------------------------------------------------------------

DeviceStats Adapter::getDeviceStats(DeviceIndex device) {
  return statistics_.Of(&devices_.At(device));
}

void Adapter::resetAccumulatedStats(DeviceIndex device) {
  statistics_.ResetAccumulated(&devices_.At(device));
}

void Adapter::resetPeakStats(DeviceIndex device) { statistics_.ResetPeaks(&devices_.At(device)); }

double Adapter::getMemoryFraction(DeviceIndex device) {
  return fraction_.Get(&devices_.At(device));
}

void Adapter::setMemoryFraction(double fraction, DeviceIndex device) {
  fraction_.Set(fraction, &devices_.At(device));
}

void Adapter::emptyCache() { emptyCache(Native::ActivePool()); }

void Adapter::emptyCache(MempoolId_t id) { cache_.Empty(id); }

void Adapter::cacheInfo(DeviceIndex device, size_t* largest) {
  cache_.RaiseToLargest(device, largest);
}

// The pool has no expandable segments.
ExpandableSegmentSizes Adapter::getExpandableSegmentSizes(DeviceIndex) { return {}; }

SnapshotInfo Adapter::snapshot() { return snapshot(Native::ActivePool(), true); }

SnapshotInfo Adapter::snapshot(MempoolId_t id) { return snapshot(id, true); }

SnapshotInfo Adapter::snapshot(MempoolId_t id, bool include_traces) {
  return snapshots_.Take(id, include_traces);
}

// --- Private pools ------------------------------------------------------------------------------

void Adapter::createOrIncrefPool(DeviceIndex device, MempoolId_t id,
                                 std::shared_ptr<CUDAAllocator> allocator) {
  private_pools_.AddUser(&devices_.At(device), id, std::move(allocator));
}

// Some releases of PyTorch declare this form, which takes a plain pointer. The application then
// keeps the allocator alive.
void Adapter::createOrIncrefPool(DeviceIndex device, MempoolId_t id, CUDAAllocator* allocator) {
  createOrIncrefPool(device, id, std::shared_ptr<CUDAAllocator>(allocator, [](CUDAAllocator*) {}));
}

void Adapter::ensureExistsAndIncrefPool(DeviceIndex device, MempoolId_t id) {
  private_pools_.AddUser(&devices_.At(device), id, nullptr);
}

void Adapter::releasePool(DeviceIndex device, MempoolId_t id) {
  private_pools_.Release(&devices_.At(device), id);
}

void Adapter::beginAllocateToPool(DeviceIndex device, MempoolId_t id,
                                  std::function<bool(cudaStream_t)> filter) {
  private_pools_.BeginAllocating(&devices_.At(device), id, std::move(filter));
}

void Adapter::endAllocateToPool(DeviceIndex device, MempoolId_t id) {
  private_pools_.EndAllocating(&devices_.At(device), id);
}

// These functions are empty, because the pool detects captures by itself.
void Adapter::markCaptureBegin(DeviceIndex) {}
void Adapter::markCaptureEnd(DeviceIndex) {}

int Adapter::getPoolUseCount(DeviceIndex device, MempoolId_t id) {
  return devices_.At(device).pools.UseCount(id);
}

void Adapter::setUseOnOOM(DeviceIndex device, MempoolId_t id, bool use) {
  private_pools_.SetUseOnOutOfMemory(&devices_.At(device), id, use);
}

void Adapter::setUseOnOOM(DeviceIndex device, MempoolId_t id) { setUseOnOOM(device, id, true); }

void Adapter::setNoSplit(DeviceIndex device, MempoolId_t id) {
  private_pools_.SetNoSplit(&devices_.At(device), id);
}

bool Adapter::checkPoolLiveAllocations(DeviceIndex device, MempoolId_t id,
                                       const std::unordered_set<void*>& expected) {
  return checkpoints_.AreLive(&devices_.At(device), id, expected);
}

std::shared_ptr<caching::AllocatorState> Adapter::getCheckpointState(DeviceIndex device,
                                                                     MempoolId_t id) {
  return checkpoints_.Take(&devices_.At(device), id);
}

caching::CheckpointDelta Adapter::setCheckpointPoolState(
    DeviceIndex device, std::shared_ptr<caching::AllocatorState> state) {
  return checkpoints_.Restore(&devices_.At(device), std::move(state));
}

// --- Sharing and peers --------------------------------------------------------------------------

ShareableHandle Adapter::shareIpcHandle(void* data) { return sharing_.Export(data); }

std::shared_ptr<void> Adapter::getIpcDevPtr(std::string handle) {
  return sharing_.Open(std::move(handle));
}

void Adapter::enablePeerAccess(DeviceIndex device, DeviceIndex peer) {
  sharing_.EnablePeerAccess(device, peer);
}

cudaError_t Adapter::memcpyAsync(void* to, int to_device, const void* from, int from_device,
                                 size_t count, cudaStream_t stream, bool peer_access) {
  return sharing_.Copy(to, to_device, from, from_device, count, stream, peer_access);
}

// --- History and observers ----------------------------------------------------------------------

bool Adapter::isHistoryEnabled() { return history_.recording(); }

std::shared_ptr<GatheredContext> Adapter::getContextForPointer(const void* data) {
  return history_.ContextOf(data);
}

void Adapter::recordHistory(bool enabled, caching::CreateContextFn recorder, size_t most,
                            caching::RecordContext when, bool clear,
                            const std::vector<std::string>& skipped_actions) {
  // PyTorch's own allocator is called first, because it stores the annotations and the history of
  // host memory.
  native_.RecordHistory(enabled, recorder, most, when, clear, skipped_actions);
  history_.Configure(enabled, recorder, most, when, clear, skipped_actions);
}

void Adapter::recordHistory(bool enabled, caching::CreateContextFn recorder, size_t most,
                            caching::RecordContext when, bool clear) {
  recordHistory(enabled, recorder, most, when, clear, {});
}

// Some releases of PyTorch have no argument `clear`; they clear the history only when it is
// disabled.
void Adapter::recordHistory(bool enabled, caching::CreateContextFn recorder, size_t most,
                            caching::RecordContext when) {
  recordHistory(enabled, recorder, most, when, false, {});
}

void Adapter::recordAnnotation(const std::vector<std::pair<std::string, std::string>>& annotation) {
  native_.RecordAnnotation(annotation);
}

void Adapter::pushCompileContext(std::string& text) {
  native_.PushCompileContext(text);
  history_.PushCompileContext(text);
}

void Adapter::popCompileContext() {
  native_.PopCompileContext();
  history_.PopCompileContext();
}

bool Adapter::supportsUserMetadata() { return true; }

void Adapter::setUserMetadata(const std::string& metadata) {
  native_.SetUserMetadata(metadata);
  history_.SetUserMetadata(metadata);
}

std::string Adapter::getUserMetadata() { return history_.UserMetadata(); }

void Adapter::annotateMemory(const void* data, const std::string& metadata) {
  BlockRange place;
  if (history_.recording() && blocks_.Find(data, &place)) history_.Annotate(place, metadata);
}

void Adapter::attachOutOfMemoryObserver(OutOfMemoryObserver observer) {
  native_->attachOutOfMemoryObserver(observer);
  out_of_memory_.AddObserver(std::move(observer));
}

// The pool tries to serve every request and rejects none, so these observers are never called.
void Adapter::attachOomRejectionObserver(OutOfMemoryObserver) {}

void Adapter::attachAllocatorTraceTracker(caching::AllocatorTraceTracker tracker) {
  native_->attachAllocatorTraceTracker(tracker);
  history_.AddTracker(std::move(tracker));
}

}  // namespace vramstow::torch_adapter
