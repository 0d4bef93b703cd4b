#include "adapters/torch/observer/reported_blocks.h"

#include <dlfcn.h>

#include <algorithm>
#include <type_traits>

#include "adapters/torch/observer/import_slot.h"

namespace vramstow::torch_observer {
namespace {

using torch_adapter::TraceEntry;

const void* AllocatorFunction() { return reinterpret_cast<const void*>(&c10::cuda::device_count); }

// Returns the mangled name of the function to which the allocator reports, or null.
const char* NameOfReport() {
  Dl_info about{};
  if (dladdr(reinterpret_cast<const void*>(&c10::reportMemoryUsageToProfiler), &about) == 0) {
    return nullptr;
  }
  return about.dli_sname;
}

uint64_t NumberOf(cudaStream_t stream) { return reinterpret_cast<uint64_t>(stream); }

cudaStream_t CurrentStream(c10::DeviceIndex index) {
  const c10::cuda::CUDAStream stream = c10::cuda::getCurrentCUDAStream(index);
  // The default stream has the number 0, and its handle needs not be looked up.
  return stream.id() == 0 ? nullptr : stream.stream();
}

}  // namespace

std::atomic<ReportedBlocks*> ReportedBlocks::listener_{nullptr};

// This class does its work last, so that the functions of this class replace this function on the
// stack.
void ReportedBlocks::Listen(void* data, int64_t bytes, size_t allocated, size_t reserved,
                            c10::Device where) {
  static_assert(std::is_same_v<decltype(&ReportedBlocks::Listen),
                               decltype(&c10::reportMemoryUsageToProfiler)>);
  c10::reportMemoryUsageToProfiler(data, bytes, allocated, reserved, where);
  const c10::DeviceIndex index = where.index();
  if (!where.is_cuda() || index < 0 || index >= kMaxDevices) return;
  ReportedBlocks* const listener = listener_.load(std::memory_order_acquire);
  if (listener == nullptr) return;
  const auto address = reinterpret_cast<uint64_t>(data);
  if (bytes <= 0) return listener->OnFreed(index, address);
  listener->OnAllocated(index, address, static_cast<uint64_t>(bytes), reserved);
}

bool ReportedBlocks::Begin() {
  const char* name = NameOfReport();
  const int count = c10::cuda::device_count();
  if (name == nullptr || count > kMaxDevices || HasMemory()) return false;
  if (!ReplaceImport(AllocatorFunction(), name, reinterpret_cast<const void*>(&Listen))) {
    return false;
  }
  listener_.store(this, std::memory_order_release);
  allocator_->attachOutOfMemoryObserver(
      [this](int64_t device, size_t requested, size_t allowed, size_t) {
        CountSegments(static_cast<c10::DeviceIndex>(device));
        RecordOutOfMemory(trace_, allocator_, device, requested, allowed);
      });
  return true;
}

// True if the allocator has memory of a device. Otherwise the totals so far, which are not to be
// counted, are noted.
bool ReportedBlocks::HasMemory() {
  for (int i = 0; i < c10::cuda::device_count() && i < kMaxDevices; ++i) {
    const auto stats = allocator_->getDeviceStats(static_cast<c10::DeviceIndex>(i));
    const auto& reserved = stats.reserved_bytes[0];
    if (reserved.current != 0) return true;
    Device& device = devices_[static_cast<size_t>(i)];
    const MutexLock lock(&device.counting);
    device.got = static_cast<uint64_t>(reserved.allocated);
    device.returned = static_cast<uint64_t>(reserved.freed);
  }
  return false;
}

// Several threads may attach a tracker at once, because a lock must not be held meanwhile: the
// owner of a device's lock may call this function, too. Each device uses only one of the trackers.
void ReportedBlocks::Track() {
  if (is_tracked_.load(std::memory_order_acquire)) return;
  const int tracker = trackers_.fetch_add(1) + 1;
  allocator_->attachAllocatorTraceTracker(
      [this, tracker](const TraceEntry& entry) { OnEntry(entry, tracker); });
  is_tracked_.store(true, std::memory_order_release);
}

void ReportedBlocks::CountSegments(c10::DeviceIndex index) {
  if (index < 0 || index >= kMaxDevices) return;
  Device& device = devices_[static_cast<size_t>(index)];
  const uint32_t resets = device.resets.load();
  const auto reserved = allocator_->getDeviceStats(index).reserved_bytes[0];
  const auto got = static_cast<uint64_t>(reserved.allocated);
  const auto returned = static_cast<uint64_t>(reserved.freed);
  const MutexLock lock(&device.counting);
  // These totals may be from before a reset, after which all is counted again.
  if (device.resets.load() != resets) return;
  // Another thread may have counted newer totals.
  if (got < device.got || returned < device.returned) return;
  device.reserved.store(static_cast<uint64_t>(reserved.current), std::memory_order_relaxed);
  // Memory that PyTorch got and returned since the last count was never recorded.
  const uint64_t lost = returned - device.returned;
  const uint64_t released = std::min(lost, device.recorded);
  const uint64_t gained = got - device.got;
  const uint64_t grown = gained - std::min(gained, lost - released);
  device.got = got;
  device.returned = returned;
  device.recorded += grown - released;
  if (released != 0) trace_->reserve(index, -static_cast<int64_t>(released), 0);
  if (grown != 0) trace_->reserve(index, static_cast<int64_t>(grown), 0);
}

void ReportedBlocks::CountAllSegments() {
  for (int i = 0; i < c10::cuda::device_count(); ++i) {
    CountSegments(static_cast<c10::DeviceIndex>(i));
  }
}

void ReportedBlocks::BeginReset(c10::DeviceIndex index) {
  CountSegments(index);
  if (index >= 0 && index < kMaxDevices) devices_[static_cast<size_t>(index)].resets.fetch_add(1);
}

void ReportedBlocks::EndReset(c10::DeviceIndex index) {
  if (index < 0 || index >= kMaxDevices) return;
  Device& device = devices_[static_cast<size_t>(index)];
  {
    const MutexLock lock(&device.counting);
    device.got = device.returned = 0;
    device.resets.fetch_add(1);
  }
  CountSegments(index);
}

[[gnu::noinline]] void ReportedBlocks::OnAllocated(c10::DeviceIndex index, uint64_t address,
                                                   uint64_t size, uint64_t reserved) {
  Device& device = devices_[static_cast<size_t>(index)];
  auto* const request = static_cast<Request*>(*trace_->place());
  if (reserved != device.reserved.load(std::memory_order_relaxed) && request != nullptr)
      [[unlikely]] {
    device.reserved.store(reserved, std::memory_order_relaxed);
    request->grown_device_ = index;
  }
  vramstow_framework_event event = {VRAMSTOW_EVENT_ALLOCATE, index, address, size, size, 0};
  if (device.last_entry.address == address) [[unlikely]] {
    event.requested = device.last_entry.requested;
    event.stream = device.last_entry.stream;
    device.last_entry.address = 0;
  } else if (request != nullptr) {
    event.requested = request->bytes_;
    event.stream = NumberOf(request->is_current_ ? CurrentStream(index) : request->stream_);
  }
  Block* const kept = device.blocks.FindOrInsert(address);
  if (kept != nullptr) *kept = {event.size, event.requested, event.stream};
  trace_->emit(&event);
}

[[gnu::noinline]] void ReportedBlocks::OnFreed(c10::DeviceIndex index, uint64_t address) {
  Device& device = devices_[static_cast<size_t>(index)];
  // This free was recorded from a trace entry, which PyTorch makes before it reports.
  if (device.tracker != 0) return;
  Block block;
  if (!device.blocks.Take(address, &block)) return;
  vramstow_framework_event event = {VRAMSTOW_EVENT_FREE, index,           address,
                                    block.size,          block.requested, block.stream};
  trace_->emit(&event);
  event.kind = VRAMSTOW_EVENT_FREE_COMPLETED;
  trace_->emit(&event);
}

void ReportedBlocks::OnEntry(const TraceEntry& entry, int tracker) {
  const auto index = static_cast<c10::DeviceIndex>(entry.device_);
  if (index < 0 || index >= kMaxDevices || entry.action_ == TraceEntry::SNAPSHOT) return;
  Device& device = devices_[static_cast<size_t>(index)];
  if (device.tracker == 0) device.tracker = tracker;
  if (device.tracker != tracker) return;
  vramstow_framework_event event = {VRAMSTOW_EVENT_FREE,
                                    index,
                                    static_cast<uint64_t>(entry.addr_),
                                    0,
                                    static_cast<uint64_t>(entry.size_),
                                    reinterpret_cast<uint64_t>(entry.stream_)};
  if (entry.action_ == TraceEntry::ALLOC) {
    device.last_entry = {event.address, event.requested, event.stream};
  } else if (entry.action_ == TraceEntry::FREE_REQUESTED) {
    const Block* const block = device.blocks.Find(event.address);
    if (block != nullptr) event.size = block->size;
    trace_->emit(&event);
  } else if (entry.action_ == TraceEntry::FREE_COMPLETED) {
    Block block{};
    device.blocks.Take(event.address, &block);
    event.kind = VRAMSTOW_EVENT_FREE_COMPLETED;
    event.size = block.size;
    trace_->emit(&event);
  }
}

}  // namespace vramstow::torch_observer
