// Blocks come and go. The fast path is first: a hit is one call of the pool and a few additions.
#include <c10/core/Allocator.h>

#include "adapters/torch/adapter.h"
#include "adapters/torch/operators.h"

namespace vramstow::torch_adapter {
namespace {

constexpr size_t kOneExbibyte = size_t{1} << 60;

cudaStream_t CurrentStream(DeviceIndex device) {
  return c10::cuda::getCurrentCUDAStream(device).stream();
}

// PyTorch's own allocator calls the runtime, which makes the device's context the thread's.
// Libraries that PyTorch uses rely on that.
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

uint64_t NumberOf(cudaStream_t stream) { return reinterpret_cast<uint64_t>(stream); }

}  // namespace

void Adapter::Delete(void* data) { TheAdapter()->raw_delete(data); }

Device& Adapter::At(DeviceIndex device) {
  TORCH_CHECK(device >= 0 && device < kMaxDevices, "Allocator not initialized for device ",
              static_cast<int>(device), ": did you call init?");
  return devices_[device];
}

inline bool Adapter::IsServed(Device* device) {
  return device->handle.load(std::memory_order_acquire) >= 0 || OpenPool(device);
}

inline int Adapter::Ask(const Request& request, vramstow_framework_block* block) {
  int served = VRAMSTOW_SERVED_FROM_CACHE;
  const int handle = request.device->handle.load(std::memory_order_relaxed);
  int result;
  if (names_callers_) [[unlikely]] {
    vramstow_framework_name names[Operators::kMostNames];
    const int count = Operators::Names(names);
    result = table_->allocate_for(handle, request.size, NumberOf(request.stream), request.pool,
                                  names, count, block, &served);
  } else {
    result = table_->allocate(handle, request.size, NumberOf(request.stream), request.pool, block,
                              &served);
  }
  if (served != VRAMSTOW_SERVED_FROM_CACHE) NoteReserved(request.device);
  return result;
}

inline void* Adapter::Born(const Request& request, const vramstow_framework_block& block,
                           Context context) {
  Device* device = request.device;
  device->counters.Allocated(block.size, block.requested);
  if (request.pool != PrivatePools::kCommon) device->pools.BlockBorn(request.pool);
  auto* data = reinterpret_cast<void*>(block.address);
  if (history_.on()) [[unlikely]] {
    history_.Record(TraceEntry::ALLOC,
                    {device->index, block.address, request.size, request.stream,
                     device->pools.IdOf(request.pool)},
                    context);
    history_.Remember(data, std::move(context));
  }
  Report(data, static_cast<int64_t>(block.size), device);
  return data;
}

void* Adapter::Allocate(DeviceIndex index, size_t size, cudaStream_t stream) {
  Device& device = devices_[index];
  const Request request{&device, size, stream, device.pools.Route(stream)};
  if (request.pool == PrivatePools::kNative || !IsServed(&device) ||
      !enabled_.load(std::memory_order_relaxed)) [[unlikely]] {
    const Turn turn(this, &device);
    return native_->raw_alloc_with_stream(size, stream);
  }
  EnterContext();
  Context context;
  if (history_.on()) [[unlikely]] {
    context = history_.Gather(caching::RecordContext::STATE);
  }
  const History::Mapping mapping(context);
  vramstow_framework_block block;
  const int result = Ask(request, &block);
  if (result == VRAMSTOW_OK) [[likely]] {
    return Born(request, block, std::move(context));
  }
  return AllocateSlowly(request, result, std::move(context));
}

// With one device there is nothing to ask; the runtime takes a third of an allocation's time.
inline DeviceIndex Adapter::CurrentDevice() const {
  DeviceIndex device = 0;
  if (device_count_.load(std::memory_order_relaxed) != 1) {
    C10_CUDA_CHECK(c10::cuda::GetDevice(&device));
  }
  return device;
}

DataPtr Adapter::allocate(size_t size) {
  const DeviceIndex device = CurrentDevice();
  const c10::Device where(c10::DeviceType::CUDA, device);
  if (size == 0) return {nullptr, nullptr, &Delete, where};
  TORCH_CHECK_WITH(OutOfMemoryError, size < kOneExbibyte,
                   "CUDA out of memory. Tried to allocate more than 1EB memory.");
  if (!enabled_.load(std::memory_order_relaxed)) [[unlikely]] {
    At(device).native_used = true;
    return native_->allocate(size);
  }
  const cudaStream_t stream = CurrentStream(device);
  if (devices_[device].pools.Route(stream) == PrivatePools::kNative) [[unlikely]] {
    // With its own deleter: only blocks that have it does PyTorch's own allocator keep for streams.
    const Turn turn(this, &devices_[device]);
    return native_->allocate(size);
  }
  void* data = Allocate(device, size, stream);
  return {data, data, &Delete, where};
}

void* Adapter::raw_alloc(size_t size) {
  if (size == 0) return nullptr;
  const DeviceIndex device = CurrentDevice();
  return Allocate(device, size, CurrentStream(device));
}

void* Adapter::raw_alloc_with_stream(size_t size, cudaStream_t stream) {
  if (size == 0) return nullptr;
  return Allocate(CurrentDevice(), size, stream);
}

void Adapter::raw_delete(void* data) {
  if (data == nullptr) return;
  if (history_.on()) [[unlikely]] {
    if (FreeWatched(data)) return;
  }
  Free(data);
}

void Adapter::Free(void* data) {
  vramstow_framework_block block;
  const int result = table_->free(reinterpret_cast<uint64_t>(data), &block);
  if (result != VRAMSTOW_OK) [[unlikely]] {
    // Of PyTorch's own allocator, perhaps inside a block of ours that it asked cuMemAlloc for; or
    // of the parent, in a forked child, which it knows not to touch; or of nobody, as it will say.
    return native_->raw_delete(data);
  }
  ForgetBlock(block);
}

void Adapter::ForgetBlock(const vramstow_framework_block& block) {
  Device& device = devices_[block.device];
  device.counters.Freed(block.size, block.requested, block.state == VRAMSTOW_BLOCK_PENDING);
  if (block.pool != PrivatePools::kCommon) device.pools.BlockGone(block.pool);
  Report(reinterpret_cast<void*>(block.address), -static_cast<int64_t>(block.size), &device);
}

// While something is recorded: what is told of a free has to come before anybody can have the
// memory again. False: not ours.
bool Adapter::FreeWatched(void* data) {
  const auto address = reinterpret_cast<uint64_t>(data);
  vramstow_framework_block block;
  if (table_->find(address, &block) != VRAMSTOW_OK || block.address != address ||
      block.state == VRAMSTOW_BLOCK_FOREIGN) {
    return false;
  }
  Device& device = devices_[block.device];
  const Context context = history_.Gather(caching::RecordContext::ALL);
  const Place place{device.index, address, block.requested, reinterpret_cast<void*>(block.stream),
                    device.pools.IdOf(block.pool)};
  history_.Record(TraceEntry::FREE_REQUESTED, place, context);
  if (block.state != VRAMSTOW_BLOCK_PENDING) {
    history_.Record(TraceEntry::FREE_COMPLETED, place, context);
  }
  history_.Forget(data);
  Free(data);
  return true;
}

// The profiler's memory curve.
void Adapter::Report(void* data, int64_t change, Device* device) {
  c10::reportMemoryUsageToProfiler(data, change,
                                   static_cast<size_t>(device->counters.allocated_bytes()),
                                   static_cast<size_t>(device->counters.reserved_bytes()),
                                   c10::Device(c10::DeviceType::CUDA, device->index));
}

// --- What is rare -------------------------------------------------------------------------------

bool Adapter::OpenPool(Device* device) {
  if (device->handle.load(std::memory_order_acquire) == Device::kNoPool) return false;
  const std::lock_guard<std::mutex> lock(device->opening);
  const int known = device->handle.load(std::memory_order_acquire);
  if (known != Device::kUnopened) return known >= 0;
  const c10::cuda::CUDAGuard guard(device->index);
  // Makes the context, if nobody did.
  C10_CUDA_CHECK(cudaFree(nullptr));
  int handle = Device::kNoPool;
  if (table_->open(device->index, &handle) != VRAMSTOW_OK) handle = Device::kNoPool;
  device->handle.store(handle, std::memory_order_release);
  if (handle < 0) return false;
  if (!device->has_fraction) {
    // One may come from PyTorch's settings.
    device->fraction = native_->getMemoryFraction(device->index);
    device->has_fraction = device->fraction < 1;
  }
  if (device->has_fraction) ApplyFraction(device);
  return true;
}

// What the pool could not serve: first what the application can drop, then pools that may be used
// in need.
void* Adapter::AllocateSlowly(const Request& request, int result, Context context) {
  Device* device = request.device;
  vramstow_framework_block block;
  if (result == VRAMSTOW_NOT_ACTIVE || result == VRAMSTOW_INVALID) {
    // The context is gone, or this is a forked child: as PyTorch itself has it.
    device->native_used = true;
    return native_->raw_alloc_with_stream(request.size, request.stream);
  }
  device->retries.fetch_add(1, std::memory_order_relaxed);
  bool freed = false;
  for (const auto& name : c10::FreeCudaMemoryCallbacksRegistry()->Keys()) {
    freed |= c10::FreeCudaMemoryCallbacksRegistry()->Create(name)->Execute();
  }
  if (freed && Ask(request, &block) == VRAMSTOW_OK) {
    return Born(request, block, std::move(context));
  }
  const int handle = device->handle.load(std::memory_order_relaxed);
  const std::vector<uint64_t> reserves = device->pools.UsedOnOutOfMemory();
  for (const uint64_t pool : reserves) table_->keep(handle, pool, 0);
  const bool served = !reserves.empty() && Ask(request, &block) == VRAMSTOW_OK;
  for (const uint64_t pool : reserves) table_->keep(handle, pool, 1);
  if (served) return Born(request, block, std::move(context));
  // Of pools that PyTorch's own allocator serves.
  if (device->pools.NativeOnOutOfMemory()) {
    const Turn turn(this, device);
    try {
      return native_->raw_alloc_with_stream(request.size, request.stream);
    } catch (const c10::OutOfMemoryError&) {
      // Told below, with what the pool knows.
    }
  }
  Fail(request);
}

DataPtr Adapter::allocateWithAddress(size_t size, void* address) {
  const DeviceIndex index = CurrentDevice();
  Device& device = At(index);
  const cudaStream_t stream = CurrentStream(index);
  const Request request{&device, size, stream, device.pools.Route(stream)};
  vramstow_framework_block block;
  TORCH_CHECK(IsServed(&device) && request.pool != PrivatePools::kNative &&
                  table_->allocate_at(device.handle, reinterpret_cast<uint64_t>(address), size,
                                      NumberOf(stream), request.pool, &block) == VRAMSTOW_OK,
              "no memory of this stream is cached at ", address);
  void* data = Born(request, block, history_.Gather(caching::RecordContext::STATE));
  return {data, data, &Delete, c10::Device(c10::DeviceType::CUDA, index)};
}

void Adapter::recordStream(const DataPtr& data, c10::cuda::CUDAStream stream) {
  if (!data.get()) return;
  if (data.get_deleter() != &Delete) return native_->recordStream(data, stream);
  vramstow_framework_block block;
  const auto address = reinterpret_cast<uint64_t>(data.get());
  const int result = table_->find(address, &block);
  if (result != VRAMSTOW_OK || block.state == VRAMSTOW_BLOCK_FOREIGN) {
    // It looks at blocks with its own deleter only.
    DataPtr as_its_own(data.get(), data.get(), native_->raw_deleter(), data.device());
    native_->recordStream(as_its_own, stream);
    as_its_own.release_context();
    return;
  }
  if (block.stream == NumberOf(stream.stream())) return;
  devices_[block.device].counters.FollowActive();
  table_->record_use(block.address, NumberOf(stream.stream()));
}

void Adapter::recordStream(const DataPtr& data, c10::Stream stream) {
  recordStream(data, c10::cuda::CUDAStream(stream));
}

c10::DeleterFnPtr Adapter::raw_deleter() const { return &Delete; }

void Adapter::copy_data(void* to, const void* from, std::size_t count) const {
  C10_CUDA_CHECK(cudaMemcpy(to, from, count, cudaMemcpyKind::cudaMemcpyDeviceToDevice));
}

bool Adapter::initialized() { return device_count_ > 0; }

void Adapter::init(int device_count) {
  native_->init(device_count);
  device_count_ = device_count < kMaxDevices ? device_count : kMaxDevices;
  if (device_count > 0) max_split_size_ = native_->getDeviceStats(0).max_split_size;
}

void Adapter::enable(bool value) {
  native_->enable(value);
  enabled_.store(value, std::memory_order_relaxed);
}
bool Adapter::isEnabled() const { return native_->isEnabled(); }

// Programs look for the name to see whether this is an allocator with all features.
std::string Adapter::name() { return native_->name(); }

}  // namespace vramstow::torch_adapter
