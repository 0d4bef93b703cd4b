#include "adapters/torch/observer/forwarder.h"

#include <c10/core/Allocator.h>

#include "adapters/torch/native.h"

namespace vramstow::torch_observer {
namespace {

namespace caching = torch_adapter::caching;

// Calls `ask` with PyTorch's allocator, if this release has the function that `ask` calls. PyTorch
// never calls the other functions.
template <typename Result, typename Ask>
Result AskIfThere(CUDAAllocator* native, Ask ask) {
  if constexpr (std::is_invocable_v<Ask, CUDAAllocator*>) {
    return ask(native);
  } else if constexpr (!std::is_void_v<Result>) {
    return Result();
  }
}

// The newest release whose functions are all known to pass through the Forwarder: one that adds a
// function with a default would find the default here, and not what PyTorch's own allocator does.
constexpr int kNewestRelease[] = {2, 15};

constexpr bool IsKnown(const char* release) {
  int numbers[2] = {0, 0};
  int part = 0;
  for (; *release != '\0' && part < 2; ++release) {
    if (*release == '.') {
      ++part;
    } else if (*release >= '0' && *release <= '9') {
      numbers[part] = numbers[part] * 10 + (*release - '0');
    }
  }
  return numbers[0] == kNewestRelease[0] && numbers[1] <= kNewestRelease[1];
}

}  // namespace

// --- Requests ------------------------------------------------------------------------------------

// The compiler sees one class with these functions, and would compare each call with that class
// first. But `native_` is never a Forwarder.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("no-devirtualize-speculatively")
#endif

DataPtr Forwarder::allocate(size_t size) {
  const ReportedBlocks::Request request(blocks_, size);
  return native_->allocate(size);
}

void* Forwarder::raw_alloc(size_t size) {
  const ReportedBlocks::Request request(blocks_, size);
  return native_->raw_alloc(size);
}

void* Forwarder::raw_alloc_with_stream(size_t size, cudaStream_t stream) {
  const ReportedBlocks::Request request(blocks_, size, stream);
  return native_->raw_alloc_with_stream(size, stream);
}

void Forwarder::raw_delete(void* data) { native_->raw_delete(data); }

c10::DeleterFnPtr Forwarder::raw_deleter() const { return native_->raw_deleter(); }

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif

// --- All others ----------------------------------------------------------------------------------

// Defines a function of the Forwarder that passes its call on.
#define VRAMSTOW_FORWARD(result, name, parameters, arguments, ...)                             \
  result Forwarder::name parameters __VA_ARGS__ {                                              \
    return AskIfThere<result>(native_, [&](auto* native) -> decltype(native->name arguments) { \
      return native->name arguments;                                                           \
    });                                                                                        \
  }

VRAMSTOW_FORWARD(bool, initialized, (), ())
VRAMSTOW_FORWARD(void, init, (int count), (count))
VRAMSTOW_FORWARD(void, enable, (bool value), (value))
VRAMSTOW_FORWARD(std::string, name, (), ())
VRAMSTOW_FORWARD(bool, is_simple_data_ptr, (const DataPtr& data), (data), const)
VRAMSTOW_FORWARD(void, copy_data, (void* to, const void* from, std::size_t count),
                 (to, from, count), const)
VRAMSTOW_FORWARD(double, getMemoryFraction, (DeviceIndex device), (device))
VRAMSTOW_FORWARD(void, setMemoryFraction, (double fraction, DeviceIndex device), (fraction, device))
using MemoryInfo = std::pair<size_t, size_t>;
VRAMSTOW_FORWARD(MemoryInfo, getMemoryInfo, (DeviceIndex device), (device))
VRAMSTOW_FORWARD(torch_adapter::ExpandableSegmentSizes, getExpandableSegmentSizes,
                 (DeviceIndex device), (device))
VRAMSTOW_FORWARD(void, cacheInfo, (DeviceIndex device, size_t* largest), (device, largest))
VRAMSTOW_FORWARD(void*, getBaseAllocation, (void* data, size_t* size), (data, size))
VRAMSTOW_FORWARD(torch_adapter::DeviceStats, getDeviceStats, (DeviceIndex device), (device))
VRAMSTOW_FORWARD(void, resetPeakStats, (DeviceIndex device), (device))
VRAMSTOW_FORWARD(SnapshotInfo, snapshot, (), ())
VRAMSTOW_FORWARD(SnapshotInfo, snapshot, (MempoolId_t id), (id))
VRAMSTOW_FORWARD(SnapshotInfo, snapshot, (MempoolId_t id, bool include_traces),
                 (id, include_traces))

VRAMSTOW_FORWARD(void, beginAllocateToPool,
                 (DeviceIndex device, MempoolId_t id, std::function<bool(cudaStream_t)> filter),
                 (device, id, std::move(filter)))
VRAMSTOW_FORWARD(void, endAllocateToPool, (DeviceIndex device, MempoolId_t id), (device, id))
VRAMSTOW_FORWARD(void, markCaptureBegin, (DeviceIndex device), (device))
VRAMSTOW_FORWARD(void, markCaptureEnd, (DeviceIndex device), (device))
VRAMSTOW_FORWARD(void, releasePool, (DeviceIndex device, MempoolId_t id), (device, id))
VRAMSTOW_FORWARD(int, getPoolUseCount, (DeviceIndex device, MempoolId_t id), (device, id))
VRAMSTOW_FORWARD(void, createOrIncrefPool,
                 (DeviceIndex device, MempoolId_t id, std::shared_ptr<CUDAAllocator> allocator),
                 (device, id, std::move(allocator)))
VRAMSTOW_FORWARD(void, createOrIncrefPool,
                 (DeviceIndex device, MempoolId_t id, CUDAAllocator* allocator),
                 (device, id, allocator))
VRAMSTOW_FORWARD(void, ensureExistsAndIncrefPool, (DeviceIndex device, MempoolId_t id),
                 (device, id))
VRAMSTOW_FORWARD(void, setUseOnOOM, (DeviceIndex device, MempoolId_t id, bool use),
                 (device, id, use))
VRAMSTOW_FORWARD(void, setUseOnOOM, (DeviceIndex device, MempoolId_t id), (device, id))
VRAMSTOW_FORWARD(void, setNoSplit, (DeviceIndex device, MempoolId_t id), (device, id))
VRAMSTOW_FORWARD(bool, checkPoolLiveAllocations,
                 (DeviceIndex device, MempoolId_t id, const std::unordered_set<void*>& expected),
                 (device, id, expected))

VRAMSTOW_FORWARD(torch_adapter::ShareableHandle, shareIpcHandle, (void* data), (data))
VRAMSTOW_FORWARD(std::shared_ptr<void>, getIpcDevPtr, (std::string handle), (std::move(handle)))
VRAMSTOW_FORWARD(void, enablePeerAccess, (DeviceIndex device, DeviceIndex peer), (device, peer))
VRAMSTOW_FORWARD(cudaError_t, memcpyAsync,
                 (void* to, int to_device, const void* from, int from_device, size_t count,
                  cudaStream_t stream, bool peer_access),
                 (to, to_device, from, from_device, count, stream, peer_access))

VRAMSTOW_FORWARD(bool, isHistoryEnabled, (), ())
VRAMSTOW_FORWARD(std::shared_ptr<c10::GatheredContext>, getContextForPointer, (const void* data),
                 (data))
VRAMSTOW_FORWARD(void, recordHistory,
                 (bool enabled, caching::CreateContextFn recorder, size_t most,
                  caching::RecordContext when, bool clear,
                  const std::vector<std::string>& skipped_actions),
                 (enabled, recorder, most, when, clear, skipped_actions))
VRAMSTOW_FORWARD(void, recordHistory,
                 (bool enabled, caching::CreateContextFn recorder, size_t most,
                  caching::RecordContext when, bool clear),
                 (enabled, recorder, most, when, clear))
VRAMSTOW_FORWARD(void, recordHistory,
                 (bool enabled, caching::CreateContextFn recorder, size_t most,
                  caching::RecordContext when),
                 (enabled, recorder, most, when))
using Annotation = std::vector<std::pair<std::string, std::string>>;
VRAMSTOW_FORWARD(void, recordAnnotation, (const Annotation& annotation), (annotation))
VRAMSTOW_FORWARD(void, pushCompileContext, (std::string & text), (text))
VRAMSTOW_FORWARD(void, popCompileContext, (), ())
VRAMSTOW_FORWARD(bool, supportsUserMetadata, (), ())
VRAMSTOW_FORWARD(void, setUserMetadata, (const std::string& metadata), (metadata))
VRAMSTOW_FORWARD(std::string, getUserMetadata, (), ())
VRAMSTOW_FORWARD(void, annotateMemory, (const void* data, const std::string& metadata),
                 (data, metadata))
VRAMSTOW_FORWARD(void, attachOutOfMemoryObserver, (OutOfMemoryObserver observer),
                 (std::move(observer)))
VRAMSTOW_FORWARD(void, attachOomRejectionObserver, (OutOfMemoryObserver observer),
                 (std::move(observer)))
VRAMSTOW_FORWARD(void, attachAllocatorTraceTracker, (caching::AllocatorTraceTracker tracker),
                 (std::move(tracker)))

#undef VRAMSTOW_FORWARD

bool Forwarder::isEnabled() const { return torch_adapter::Native(native_).IsEnabled(); }

// --- Functions whose events are not reported -----------------------------------------------------

void Forwarder::recordStream(const DataPtr& data, c10::cuda::CUDAStream stream) {
  // PyTorch ignores memory that is not its own.
  if (data.get() != nullptr && data.get_deleter() == native_->raw_deleter()) blocks_->Track();
  AskIfThere<void>(native_, [&](auto* native) -> decltype(native->recordStream(data, stream)) {
    return native->recordStream(data, stream);
  });
}

void Forwarder::recordStream(const DataPtr& data, c10::Stream stream) {
  recordStream(data, c10::cuda::CUDAStream(stream));
}

// PyTorch may allocate and free a second block, in front of the requested one.
DataPtr Forwarder::allocateWithAddress(size_t size, void* address) {
  blocks_->Track();
  return AskIfThere<DataPtr>(
      native_, [&](auto* native) -> decltype(native->allocateWithAddress(size, address)) {
        return native->allocateWithAddress(size, address);
      });
}

std::shared_ptr<caching::AllocatorState> Forwarder::getCheckpointState(DeviceIndex device,
                                                                       MempoolId_t id) {
  blocks_->Track();
  return native_->getCheckpointState(device, id);
}

// PyTorch frees the blocks of the pool and allocates those of the checkpoint.
caching::CheckpointDelta Forwarder::setCheckpointPoolState(
    DeviceIndex device, std::shared_ptr<caching::AllocatorState> state) {
  blocks_->Track();
  return native_->setCheckpointPoolState(device, std::move(state));
}

void Forwarder::emptyCache() {
  AskIfThere<void>(
      native_, [](auto* native) -> decltype(native->emptyCache()) { return native->emptyCache(); });
  blocks_->CountAllSegments();
}

void Forwarder::emptyCache(MempoolId_t id) {
  torch_adapter::Native(native_).EmptyCache(id);
  blocks_->CountAllSegments();
}

void Forwarder::resetAccumulatedStats(DeviceIndex device) {
  blocks_->BeginReset(device);
  native_->resetAccumulatedStats(device);
  blocks_->EndReset(device);
}

// --- Installation --------------------------------------------------------------------------------

namespace {

// Sets c10's pointer to the allocator, with the priority of PyTorch's own allocator, so that the
// program may replace it as before. That priority is 0 or 1, and cannot be asked for; c10 ignores a
// lower one.
void ReplaceSecond(c10::Allocator* allocator) {
  constexpr int kMaxPriority = 255;
  for (int priority = 0; priority <= kMaxPriority; ++priority) {
    c10::SetAllocator(c10::DeviceType::CUDA, allocator, static_cast<uint8_t>(priority));
    if (c10::GetAllocator(c10::DeviceType::CUDA) == allocator) return;
  }
}

// A template, because a class that is abstract in this release cannot be made elsewhere.
template <typename Allocator>
bool Install(CUDAAllocator* native, const vramstow_framework_trace* trace) {
  if constexpr (std::is_abstract_v<Allocator> || !IsKnown(VRAMSTOW_TORCH_RELEASE)) {
    return false;
  } else {
    // From release 2.9 on, c10 has a second pointer to the allocator.
    const c10::Allocator* second = c10::GetAllocator(c10::DeviceType::CUDA);
    if (second != nullptr && second != native) return false;
    auto* blocks = new ReportedBlocks(trace, native);
    if (!blocks->Begin()) return false;
    auto* forwarder = new Allocator(native, blocks);
    caching::allocator.store(forwarder);
    if (second != nullptr) ReplaceSecond(forwarder);
    return true;
  }
}

}  // namespace

bool Forward(CUDAAllocator* native, const vramstow_framework_trace* trace) {
  return Install<Forwarder>(native, trace);
}

}  // namespace vramstow::torch_observer
