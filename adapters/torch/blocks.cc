#include "adapters/torch/blocks.h"

#include <c10/core/Allocator.h>
#include <c10/util/Exception.h>
#include <unistd.h>

#include <utility>
#include <vector>

#include "adapters/torch/operators.h"

namespace vramstow::torch_adapter {
namespace {

constexpr size_t kOneExbibyte = size_t{1} << 60;

cudaStream_t CurrentStream(DeviceIndex device) {
  return c10::cuda::getCurrentCUDAStream(device).stream();
}

// Makes the device's context current. PyTorch's own allocator does this by calling the runtime, and
// libraries that PyTorch uses rely on it.
void EnterContext() {
  thread_local bool entered = false;
  if (entered) [[likely]] {
    return;
  }
  entered = true;
  cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  (void)cudaThreadExchangeStreamCaptureMode(&mode);
  (void)cudaFree(nullptr);
  (void)cudaThreadExchangeStreamCaptureMode(&mode);
}

}  // namespace

Blocks::Blocks(const vramstow_framework* table, Native native, c10::DeleterFnPtr deleter,
               Devices* devices, History* history, Statistics* statistics, MemoryFraction* fraction,
               OutOfMemory* out_of_memory)
    : table_(table),
      names_callers_(table->keeps_stacks() != 0),
      native_(native),
      deleter_(deleter),
      devices_(devices),
      history_(history),
      statistics_(statistics),
      fraction_(fraction),
      out_of_memory_(out_of_memory),
      enabled_(native.IsEnabled()) {
  if (names_callers_) Operators::Follow();
}

inline int Blocks::Ask(const Request& request, vramstow_framework_block* block) {
  int served = VRAMSTOW_SERVED_FROM_CACHE;
  const int handle = request.device->handle.load(std::memory_order_relaxed);
  int result;
  if (names_callers_) [[unlikely]] {
    vramstow_framework_name names[Operators::kMaxNames];
    const int count = Operators::Names(names);
    result = table_->allocate_for(handle, request.size, NumberOf(request.stream), request.pool,
                                  names, count, block, &served);
  } else {
    result = table_->allocate(handle, request.size, NumberOf(request.stream), request.pool, block,
                              &served);
  }
  if (served != VRAMSTOW_SERVED_FROM_CACHE) statistics_->UpdateReserved(request.device);
  return result;
}

// Reports a change to the profiler's memory curve.
void Blocks::ReportToProfiler(void* data, int64_t change, Device* device) {
  c10::reportMemoryUsageToProfiler(data, change,
                                   static_cast<size_t>(device->counters.allocated_bytes()),
                                   static_cast<size_t>(device->counters.reserved_bytes()),
                                   c10::Device(c10::DeviceType::CUDA, device->index));
}

inline void* Blocks::NoteAllocated(const Request& request, const vramstow_framework_block& block,
                                   Context context) {
  Device* device = request.device;
  device->counters.Allocated(block.size, block.requested);
  if (request.pool != PoolRegistry::kCommon) device->pools.AddBlock(request.pool);
  auto* data = reinterpret_cast<void*>(block.address);
  if (history_->on()) [[unlikely]] {
    history_->Record(TraceEntry::ALLOC,
                     {device->index, block.address, request.size, request.stream,
                      device->pools.IdOf(request.pool)},
                     context);
    history_->Remember(data, std::move(context));
  }
  ReportToProfiler(data, static_cast<int64_t>(block.size), device);
  return data;
}

void* Blocks::Allocate(DeviceIndex index, size_t size, cudaStream_t stream) {
  if (size == 0) return nullptr;
  Device& device = (*devices_)[index];
  const Request request{&device, size, stream, device.pools.Route(stream)};
  if (request.pool == PoolRegistry::kNative || !IsServed(&device) ||
      !enabled_.load(std::memory_order_relaxed)) [[unlikely]] {
    const NativeAllocationScope scope(fraction_, &device);
    return native_->raw_alloc_with_stream(size, stream);
  }
  EnterContext();
  Context context;
  if (history_->on()) [[unlikely]] {
    context = history_->Gather(caching::RecordContext::STATE);
  }
  const History::MappingScope mapping(context);
  vramstow_framework_block block;
  const int result = Ask(request, &block);
  if (result == VRAMSTOW_OK) [[likely]] {
    return NoteAllocated(request, block, std::move(context));
  }
  return AllocateSlowly(request, result, std::move(context));
}

DataPtr Blocks::AllocateData(size_t size) {
  const DeviceIndex device = devices_->Current();
  if (size == 0) return Own(nullptr, device);
  TORCH_CHECK_WITH(OutOfMemoryError, size < kOneExbibyte,
                   "CUDA out of memory. Tried to allocate more than 1EB memory.");
  if (!enabled_.load(std::memory_order_relaxed)) [[unlikely]] {
    devices_->At(device).native_used = true;
    return native_->allocate(size);
  }
  const cudaStream_t stream = CurrentStream(device);
  if ((*devices_)[device].pools.Route(stream) == PoolRegistry::kNative) [[unlikely]] {
    // This block needs PyTorch's own deleter, because PyTorch's own allocator tracks streams only
    // for blocks with that deleter.
    const NativeAllocationScope scope(fraction_, &(*devices_)[device]);
    return native_->allocate(size);
  }
  return Own(Allocate(device, size, stream), device);
}

void* Blocks::AllocateOnCurrentStream(size_t size) {
  if (size == 0) return nullptr;
  const DeviceIndex device = devices_->Current();
  return Allocate(device, size, CurrentStream(device));
}

void Blocks::Free(void* data) {
  if (data == nullptr) return;
  if (history_->on()) [[unlikely]] {
    if (FreeRecorded(data)) return;
  } else if (history_->remembers()) [[unlikely]] {
    // The next block at this address must not get the context of this one.
    history_->Forget(data);
  }
  FreeUnrecorded(data);
}

void Blocks::FreeUnrecorded(void* data) {
  vramstow_framework_block block;
  const int result = table_->free(reinterpret_cast<uint64_t>(data), &block);
  if (result != VRAMSTOW_OK) [[unlikely]] {
    // The pool has no block at this address. PyTorch's own allocator may have a tensor there,
    // perhaps inside a block that it got from the pool by cuMemAlloc. If it has none either, it
    // reports the error.
    return getpid() == process_ ? native_->raw_delete(data) : FreeInForkedChild(data);
  }
  NoteFreed(block);
}

// Frees a tensor in a forked child. PyTorch's own allocator throws an exception for blocks that the
// parent allocated. The exception is caught here, because it must not end this process.
void Blocks::FreeInForkedChild(void* data) const {
  try {
    native_->raw_delete(data);
  } catch (const c10::Error&) {
  }
}

void Blocks::NoteFreed(const vramstow_framework_block& block) {
  Device& device = (*devices_)[block.device];
  device.counters.Freed(block.size, block.requested, block.state == VRAMSTOW_BLOCK_PENDING);
  if (block.pool != PoolRegistry::kCommon) device.pools.RemoveBlock(block.pool);
  ReportToProfiler(reinterpret_cast<void*>(block.address), -static_cast<int64_t>(block.size),
                   &device);
}

BlockRange Blocks::RangeOf(const vramstow_framework_block& block) const {
  Device& device = (*devices_)[block.device];
  return {device.index, block.address, block.requested, reinterpret_cast<void*>(block.stream),
          device.pools.IdOf(block.pool)};
}

// Records the free, before another thread can get the memory. Returns false if the memory is not
// from the pool.
bool Blocks::FreeRecorded(void* data) {
  const auto address = reinterpret_cast<uint64_t>(data);
  vramstow_framework_block block;
  if (table_->find(address, &block) != VRAMSTOW_OK || block.address != address ||
      block.state == VRAMSTOW_BLOCK_FOREIGN) {
    return false;
  }
  const Context context = history_->Gather(caching::RecordContext::ALL);
  const BlockRange range = RangeOf(block);
  history_->Record(TraceEntry::FREE_REQUESTED, range, context);
  if (block.state != VRAMSTOW_BLOCK_PENDING) {
    history_->Record(TraceEntry::FREE_COMPLETED, range, context);
  }
  history_->Forget(data);
  FreeUnrecorded(data);
  return true;
}

bool Blocks::Open(Device* device) {
  if (device->handle.load(std::memory_order_acquire) == Device::kNoPool) return false;
  const MutexLock lock(&device->opening);
  const int known = device->handle.load(std::memory_order_acquire);
  if (known != Device::kUnopened) return known >= 0;
  const c10::cuda::CUDAGuard guard(device->index);
  // This call creates the device's context if it does not exist yet.
  C10_CUDA_CHECK(cudaFree(nullptr));
  int handle = Device::kNoPool;
  if (table_->open(device->index, &handle) != VRAMSTOW_OK) handle = Device::kNoPool;
  device->handle.store(handle, std::memory_order_release);
  if (handle < 0) return false;
  fraction_->Adopt(device);
  return true;
}

// Asks the application to free memory. Returns true if it freed some.
bool Blocks::FreeMemoryOfApplication() const {
  bool freed = false;
  for (const auto& name : c10::FreeCudaMemoryCallbacksRegistry()->Keys()) {
    freed |= c10::FreeCudaMemoryCallbacksRegistry()->Create(name)->Execute();
  }
  return freed;
}

// Requests the block again, this time also from some private pools: those that the application has
// marked for use when memory is short.
bool Blocks::AskReserves(const Request& request, vramstow_framework_block* block) {
  const int handle = request.device->handle.load(std::memory_order_relaxed);
  const std::vector<uint64_t> reserves = request.device->pools.UsedOnOutOfMemory();
  for (const uint64_t pool : reserves) table_->keep(handle, pool, 0);
  const bool served = !reserves.empty() && Ask(request, block) == VRAMSTOW_OK;
  for (const uint64_t pool : reserves) table_->keep(handle, pool, 1);
  return served;
}

void* Blocks::AllocateSlowly(const Request& request, int result, Context context) {
  Device* device = request.device;
  vramstow_framework_block block;
  if (result == VRAMSTOW_NOT_ACTIVE || result == VRAMSTOW_INVALID) {
    // The context has ended, or this is a forked child. PyTorch's own allocator serves or refuses
    // the request.
    device->native_used = true;
    return native_->raw_alloc_with_stream(request.size, request.stream);
  }
  device->retries.fetch_add(1, std::memory_order_relaxed);
  if ((FreeMemoryOfApplication() && Ask(request, &block) == VRAMSTOW_OK) ||
      AskReserves(request, &block)) {
    return NoteAllocated(request, block, std::move(context));
  }
  if (device->pools.NativeOnOutOfMemory()) {
    const NativeAllocationScope scope(fraction_, device);
    try {
      return native_->raw_alloc_with_stream(request.size, request.stream);
    } catch (const c10::OutOfMemoryError&) {
      // Raise() below reports the failure, with the pool's figures.
    }
  }
  statistics_->UpdateReserved(device);  // what was made for the request has been released
  out_of_memory_->Raise(request);
}

void* Blocks::AllocateAt(uint64_t address, const Request& request) {
  vramstow_framework_block block;
  if (table_->allocate_at(request.device->handle, address, request.size, NumberOf(request.stream),
                          request.pool, &block) != VRAMSTOW_OK) {
    return nullptr;
  }
  return NoteAllocated(request, block, history_->Gather(caching::RecordContext::STATE));
}

DataPtr Blocks::AllocateDataAt(uint64_t address, size_t size) {
  const DeviceIndex index = devices_->Current();
  Device& device = devices_->At(index);
  const cudaStream_t stream = CurrentStream(index);
  const Request request{&device, size, stream, device.pools.Route(stream)};
  void* data = IsServed(&device) && request.pool != PoolRegistry::kNative
                   ? AllocateAt(address, request)
                   : nullptr;
  TORCH_CHECK(data != nullptr, "no memory of this stream is cached at ",
              reinterpret_cast<void*>(address));
  return Own(data, index);
}

void Blocks::RecordStream(const DataPtr& data, c10::cuda::CUDAStream stream) {
  if (!data.get()) return;
  if (data.get_deleter() != deleter_) return native_->recordStream(data, stream);
  vramstow_framework_block block;
  const auto address = reinterpret_cast<uint64_t>(data.get());
  const int result = table_->find(address, &block);
  if (result != VRAMSTOW_OK || block.state == VRAMSTOW_BLOCK_FOREIGN) {
    // PyTorch's own allocator accepts only blocks with its own deleter.
    DataPtr as_its_own(data.get(), data.get(), native_->raw_deleter(), data.device());
    native_->recordStream(as_its_own, stream);
    as_its_own.release_context();
    return;
  }
  if (block.stream == NumberOf(stream.stream())) return;
  (*devices_)[block.device].counters.FollowActive();
  table_->record_use(block.address, NumberOf(stream.stream()));
}

void* Blocks::BaseOf(void* data, size_t* size) const {
  vramstow_framework_block block;
  const int result = table_->find(reinterpret_cast<uint64_t>(data), &block);
  if (result != VRAMSTOW_OK || block.state == VRAMSTOW_BLOCK_FOREIGN) {
    return native_->getBaseAllocation(data, size);
  }
  if (size != nullptr) *size = block.size;
  return reinterpret_cast<void*>(block.address);
}

bool Blocks::Find(const void* data, BlockRange* range) const {
  vramstow_framework_block block;
  if (table_->find(reinterpret_cast<uint64_t>(data), &block) != VRAMSTOW_OK) return false;
  *range = RangeOf(block);
  return true;
}

}  // namespace vramstow::torch_adapter
