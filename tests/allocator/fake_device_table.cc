// The driver table of a FakeDevice.
#include "tests/allocator/fake_device.h"

namespace vramstow {
namespace {

FakeDevice* Self(void* self) { return static_cast<FakeDevice*>(self); }

}  // namespace

// The first lines of every function of the table: take the lock, count the call, and fail if it
// must.
#define VRAMSTOW_FAKE_CALL(name)          \
  FakeDevice* device = Self(self);        \
  std::lock_guard lock(device->mutex_);   \
  DriverResult injected = kDriverSuccess; \
  if (device->Fails(name, &injected)) return injected

void FakeDevice::FillTable() {
  table_.self = this;
  table_.describe = [](void* self, DriverDevice* out) -> DriverResult {
    VRAMSTOW_FAKE_CALL("describe");
    const Options& options = device->options_;
    *out = {options.total_bytes, options.granularity, 0,   options.virtual_memory,
            options.host_memory, options.copies,      true};
    return kDriverSuccess;
  };
  table_.memory_info = [](void* self, uint64_t* free, uint64_t* total) -> DriverResult {
    VRAMSTOW_FAKE_CALL("memory_info");
    const uint64_t used = device->created_ + device->foreign_;
    *total = device->options_.total_bytes;
    *free = used < *total ? *total - used : 0;
    return kDriverSuccess;
  };
  table_.reserve = [](void* self, uint64_t size, uint64_t alignment, uint64_t* out) {
    VRAMSTOW_FAKE_CALL("reserve");
    if (size % device->options_.granularity != 0) device->Violate("reserve of an odd size");
    if (size > device->options_.largest_reserve) return kDriverOutOfMemory;
    *out = (device->next_address_ + alignment - 1) / alignment * alignment;
    device->next_address_ = *out + size + alignment;
    device->ranges_[*out] = size;
    return kDriverSuccess;
  };
  table_.unreserve = [](void* self, uint64_t address, uint64_t size) {
    VRAMSTOW_FAKE_CALL("unreserve");
    const auto mapping = device->mappings_.lower_bound(address);
    if (mapping != device->mappings_.end() && mapping->first < address + size) {
      device->Violate("unreserve of a range with mappings");
    }
    if (device->ranges_.erase(address) == 0) device->Violate("unreserve of no range");
    return kDriverSuccess;
  };
  table_.create = [](void* self, uint64_t size, uint64_t* handle) {
    VRAMSTOW_FAKE_CALL("create");
    if (size % device->options_.granularity != 0) device->Violate("create of an odd size");
    if (device->created_ + device->foreign_ + size > device->options_.total_bytes) {
      return kDriverOutOfMemory;
    }
    *handle = device->next_handle_++;
    device->handles_[*handle] = size;
    ++device->made_[size];
    device->created_ += size;
    return kDriverSuccess;
  };
  table_.create_host = [](void* self, uint64_t size, uint64_t* handle) {
    VRAMSTOW_FAKE_CALL("create_host");
    if (!device->options_.host_memory) return kDriverNotSupported;
    *handle = device->next_handle_++;
    device->handles_[*handle] = size;
    device->host_handles_.insert(*handle);
    device->host_created_ += size;
    return kDriverSuccess;
  };
  table_.host_allocate = [](void* self, uint64_t size, uint64_t* address) {
    VRAMSTOW_FAKE_CALL("host_allocate");
    *address = device->next_address_;
    device->next_address_ += size;
    device->pinned_[*address] = {size, device->next_handle_++};
    return kDriverSuccess;
  };
  table_.host_free = [](void* self, uint64_t address) {
    VRAMSTOW_FAKE_CALL("host_free");
    const auto block = device->pinned_.find(address);
    if (block == device->pinned_.end()) {
      device->Violate("host_free of no block");
      return kDriverInvalidValue;
    }
    device->contents_.erase(block->second.second);
    device->pinned_.erase(block);
    return kDriverSuccess;
  };
  table_.copy_start = [](void* self, const DriverCopy* copies, uint32_t count, uint64_t* job) {
    VRAMSTOW_FAKE_CALL("copy_start");
    *job = device->next_handle_++;
    device->jobs_[*job].assign(copies, copies + count);
    if (!device->options_.copies_at_start) return kDriverSuccess;
    for (const DriverCopy& copy : std::exchange(device->jobs_[*job], {})) {
      const DriverResult result = device->Copy(copy);
      if (result != kDriverSuccess) return result;
    }
    return kDriverSuccess;
  };
  table_.copy_start_after = [](void* self, const DriverCopy* copies, uint32_t count,
                               uint64_t* job) {
    auto* const after = static_cast<FakeDevice*>(self);
    if (!after->options_.context_events) return kDriverNotSupported;
    after->FinishAll();
    return after->StartOrdered(copies, count, job);
  };
  table_.copy_start_behind = [](void* self, uint64_t previous, const DriverCopy* copies,
                                uint32_t count, uint64_t* job) {
    auto* const behind = static_cast<FakeDevice*>(self);
    if (behind->jobs_.count(previous) == 0) behind->Violate("copy behind no job");
    return behind->StartOrdered(copies, count, job);
  };
  // The copies are made at once, so that work that is submitted later finds them done.
  table_.copy_order = [](void* self, uint64_t job) {
    VRAMSTOW_FAKE_CALL("copy_order");
    if (!device->options_.context_events) return kDriverNotSupported;
    for (const DriverCopy& copy : std::exchange(device->jobs_[job], {})) {
      const DriverResult result = device->Copy(copy);
      if (result != kDriverSuccess) return result;
    }
    return kDriverSuccess;
  };
  table_.copy_done = [](void* self, uint64_t job) {
    const auto* const finished = static_cast<FakeDevice*>(self);
    const auto copies = finished->jobs_.find(job);
    return copies != finished->jobs_.end() && copies->second.empty();
  };
  // Unless the copies were made at once, they are made only here, so that code that does not wait
  // for them finds no data.
  table_.copy_finish = [](void* self, uint64_t job) {
    auto* const finished = static_cast<FakeDevice*>(self);
    const auto copies = finished->jobs_.extract(job);
    if (copies.empty()) finished->Violate("copy_finish of no job");
    if (finished->ordered_jobs_.erase(job) != 0) finished->FinishAll();
    VRAMSTOW_FAKE_CALL("copy_finish");
    for (const DriverCopy& copy : copies.mapped()) {
      const DriverResult result = device->Copy(copy);
      if (result != kDriverSuccess) return result;
    }
    return kDriverSuccess;
  };
  table_.release = [](void* self, uint64_t handle) {
    VRAMSTOW_FAKE_CALL("release");
    return device->Release(handle);
  };
  table_.allocate = [](void* self, uint64_t size, uint64_t* address) {
    VRAMSTOW_FAKE_CALL("allocate");
    return device->Allocate(size, address);
  };
  table_.free = [](void* self, uint64_t address) {
    VRAMSTOW_FAKE_CALL("free");
    return device->FreeAllocation(address);
  };
  table_.map = [](void* self, uint64_t address, uint64_t size, uint64_t handle) {
    VRAMSTOW_FAKE_CALL("map");
    return device->MapHandle(address, size, handle);
  };
  table_.unmap = [](void* self, uint64_t address, uint64_t size) {
    VRAMSTOW_FAKE_CALL("unmap");
    return device->UnmapRange(address, size);
  };
  table_.set_access = [](void* self, uint64_t address, uint64_t size) {
    VRAMSTOW_FAKE_CALL("set_access");
    return device->SetAccess(address, size);
  };
  table_.event_create = [](void* self, uint64_t* event) {
    VRAMSTOW_FAKE_CALL("event_create");
    *event = device->next_event_++;
    device->events_[*event] = {};
    return kDriverSuccess;
  };
  table_.event_destroy = [](void* self, uint64_t event) {
    VRAMSTOW_FAKE_CALL("event_destroy");
    if (device->events_.erase(event) == 0) device->Violate("destroy of no event");
    return kDriverSuccess;
  };
  table_.event_record = [](void* self, uint64_t event, uint64_t stream) {
    VRAMSTOW_FAKE_CALL("event_record");
    return device->Record(event, &stream);
  };
  table_.event_record_all = [](void* self, uint64_t event) {
    VRAMSTOW_FAKE_CALL("event_record_all");
    if (!device->options_.context_events) return kDriverNotSupported;
    return device->Record(event, nullptr);
  };
  table_.event_query = [](void* self, uint64_t event) {
    VRAMSTOW_FAKE_CALL("event_query");
    const auto found = device->events_.find(event);
    if (found == device->events_.end()) {
      device->Violate("query of no event");
      return kDriverInvalidHandle;
    }
    return device->Reached(found->second) ? kDriverSuccess : kDriverNotReady;
  };
  table_.synchronize = [](void* self) {
    VRAMSTOW_FAKE_CALL("synchronize");
    for (auto& [name, stream] : device->streams_) {
      if (!stream.is_foreign) stream.unfinished.clear();
    }
    return kDriverSuccess;
  };
  table_.relax_capture = [](void* self, int32_t* previous) {
    VRAMSTOW_FAKE_CALL("relax_capture");
    *previous = 0;
    return kDriverSuccess;
  };
  table_.restore_capture = [](void* self, int32_t) {
    VRAMSTOW_FAKE_CALL("restore_capture");
    return kDriverSuccess;
  };
  table_.now = [](void* self) {
    FakeDevice* device = Self(self);
    std::lock_guard lock(device->mutex_);
    return device->now_ += 1000;
  };
  table_.pause = [](void* self, uint64_t nanoseconds) {
    FakeDevice* device = Self(self);
    {
      const std::lock_guard lock(device->mutex_);
      ++device->calls_["pause"];
    }
    device->Advance(nanoseconds);
    if (device->on_pause_) device->on_pause_();
  };
}

#undef VRAMSTOW_FAKE_CALL

}  // namespace vramstow
