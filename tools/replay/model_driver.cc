#include "tools/replay/model_driver.h"

#include <algorithm>

#include "base/rounding.h"
#include "base/units.h"
#include "tools/base/link.h"

namespace vramstow {
namespace {

constexpr uint64_t kGranularity = 2 * kMiB;

}  // namespace

ModelDriver::ModelDriver(ModelDevice* device, uint64_t total_bytes)
    : device_(device), total_bytes_(total_bytes) {
  FillMemory();
  FillHost();
  FillOrder();
}

// Memory counts as reserved from its creation on, but the call is counted when the memory is
// mapped.
void ModelDriver::FillMemory() {
  table_.self = this;
  table_.describe = [](void* self, DriverDevice* description) {
    *description = {.total_bytes = Of(self)->total_bytes_,
                    .granularity_bytes = kGranularity,
                    .ordinal = 0,
                    .virtual_memory = true,
                    .host_memory = true,
                    .copies = true};
    return kDriverSuccess;
  };
  table_.memory_info = [](void* self, uint64_t* free_bytes, uint64_t* all_bytes) {
    *all_bytes = Of(self)->total_bytes_;
    *free_bytes = *all_bytes - std::min(*all_bytes, Of(self)->created_bytes_);
    return kDriverSuccess;
  };
  table_.reserve = [](void* self, uint64_t size, uint64_t alignment, uint64_t* address) {
    // Reserves a larger range, which contains an aligned range of the requested size.
    const uint64_t base = Of(self)->device_->Reserve(size + alignment);
    if (base == 0) return kDriverOutOfMemory;
    *address = RoundUp(base, alignment);
    Of(self)->ranges_[*address] = size;
    return kDriverSuccess;
  };
  table_.unreserve = [](void* self, uint64_t address, uint64_t) {
    Of(self)->ranges_.erase(address);
    return kDriverSuccess;
  };
  table_.create = [](void* self, uint64_t size, uint64_t* handle) {
    ModelDriver* driver = Of(self);
    if (size > driver->total_bytes_ - std::min(driver->total_bytes_, driver->created_bytes_) ||
        !driver->device_->Charge(size)) {
      return kDriverOutOfMemory;
    }
    *handle = driver->next_handle_++;
    driver->handles_[*handle] = size;
    driver->created_bytes_ += size;
    return kDriverSuccess;
  };
  table_.release = [](void* self, uint64_t handle) {
    ModelDriver* driver = Of(self);
    const auto known = driver->handles_.find(handle);
    if (known == driver->handles_.end()) return kDriverInvalidValue;
    driver->device_->Discharge(known->second);
    driver->created_bytes_ -= known->second;
    driver->handles_.erase(known);
    return kDriverSuccess;
  };
  // Moving a chunk is an unmap and a map, which count as releasing the chunk and creating it again.
  table_.map = [](void* self, uint64_t, uint64_t, uint64_t) {
    Of(self)->device_->Count(DeviceCall::kMap);
    return kDriverSuccess;
  };
  table_.unmap = [](void* self, uint64_t, uint64_t) {
    Of(self)->device_->Count(DeviceCall::kUnmap);
    return kDriverSuccess;
  };
  table_.set_access = [](void*, uint64_t, uint64_t) { return kDriverSuccess; };
}

// Host memory is not limited in these functions, because the offloader limits it.
void ModelDriver::FillHost() {
  table_.create_host = [](void* self, uint64_t, uint64_t* handle) {
    *handle = Of(self)->next_handle_++;
    Of(self)->handles_[*handle] = 0;
    return kDriverSuccess;
  };
  table_.host_allocate = [](void* self, uint64_t, uint64_t* address) {
    *address = Of(self)->next_handle_++;
    return kDriverSuccess;
  };
  table_.host_free = [](void*, uint64_t) { return kDriverSuccess; };
  table_.copy_start = [](void* self, const DriverCopy* copies, uint32_t count, uint64_t* job) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < count; ++i) bytes += copies[i].size;
    Of(self)->now_ns_ += LinkNs(bytes);
    *job = 1;
    return kDriverSuccess;
  };
  table_.copy_finish = [](void*, uint64_t) { return kDriverSuccess; };
}

void ModelDriver::FillOrder() {
  table_.event_create = [](void* self, uint64_t* event) {
    *event = Of(self)->next_handle_++;
    return kDriverSuccess;
  };
  table_.event_destroy = [](void*, uint64_t) { return kDriverSuccess; };
  table_.event_record = [](void*, uint64_t, uint64_t) { return kDriverSuccess; };
  table_.event_record_all = [](void*, uint64_t) { return kDriverSuccess; };
  table_.event_query = [](void*, uint64_t) { return kDriverSuccess; };
  table_.synchronize = [](void*) { return kDriverSuccess; };
  table_.relax_capture = [](void*, int32_t* previous) {
    *previous = 0;
    return kDriverSuccess;
  };
  table_.restore_capture = [](void*, int32_t) { return kDriverSuccess; };
  table_.now = [](void* self) { return Of(self)->now_ns_; };
  table_.pause = [](void* self, uint64_t nanoseconds) { Of(self)->now_ns_ += nanoseconds; };
}

}  // namespace vramstow
