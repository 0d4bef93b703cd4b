#include "tools/replay/pool_model.h"

#include <algorithm>

#include "base/units.h"

namespace vramstow {
namespace {

constexpr uint64_t kTickNs = 1'000'000;
constexpr uint64_t kGranularity = 2 * kMiB;

}  // namespace

struct PoolModel::Driver {
  explicit Driver(ModelDevice* model_device, uint64_t bytes)
      : device(model_device), total_bytes(bytes) {
    Fill();
  }

  static Driver* Of(void* self) { return static_cast<Driver*>(self); }
  void Fill();

  DriverTable table{};
  ModelDevice* device;
  uint64_t total_bytes;
  uint64_t now_ns = 0;
  uint64_t next_handle = 1;
  uint64_t created_bytes = 0;
  absl::flat_hash_map<uint64_t, uint64_t> handles;  // handle → bytes
  absl::flat_hash_map<uint64_t, uint64_t> ranges;   // address → bytes
};

// Memory is charged to the device when it is made; what is counted is when it is mapped.
void PoolModel::Driver::Fill() {
  table.self = this;
  table.describe = [](void* self, DriverDevice* description) {
    *description = {.total_bytes = Of(self)->total_bytes,
                    .granularity_bytes = kGranularity,
                    .ordinal = 0,
                    .virtual_memory = true};
    return kDriverSuccess;
  };
  table.memory_info = [](void* self, uint64_t* free_bytes, uint64_t* all_bytes) {
    *all_bytes = Of(self)->total_bytes;
    *free_bytes = *all_bytes - std::min(*all_bytes, Of(self)->created_bytes);
    return kDriverSuccess;
  };
  table.reserve = [](void* self, uint64_t size, uint64_t alignment, uint64_t* address) {
    // The range that is aligned lies somewhere in one that is larger.
    const uint64_t base = Of(self)->device->Reserve(size + alignment);
    if (base == 0) return kDriverOutOfMemory;
    *address = (base + alignment - 1) / alignment * alignment;
    Of(self)->ranges[*address] = size;
    return kDriverSuccess;
  };
  table.unreserve = [](void* self, uint64_t address, uint64_t) {
    Of(self)->ranges.erase(address);
    return kDriverSuccess;
  };
  table.create = [](void* self, uint64_t size, uint64_t* handle) {
    Driver* driver = Of(self);
    if (size > driver->total_bytes - std::min(driver->total_bytes, driver->created_bytes) ||
        !driver->device->Charge(size)) {
      return kDriverOutOfMemory;
    }
    *handle = driver->next_handle++;
    driver->handles[*handle] = size;
    driver->created_bytes += size;
    return kDriverSuccess;
  };
  table.release = [](void* self, uint64_t handle) {
    Driver* driver = Of(self);
    const auto known = driver->handles.find(handle);
    if (known == driver->handles.end()) return kDriverInvalidValue;
    driver->device->Discharge(known->second);
    driver->created_bytes -= known->second;
    driver->handles.erase(known);
    return kDriverSuccess;
  };
  // A chunk that moves counts as one that is given back and made again.
  table.map = [](void* self, uint64_t, uint64_t, uint64_t) {
    Of(self)->device->Count(DeviceCall::kMap);
    return kDriverSuccess;
  };
  table.unmap = [](void* self, uint64_t, uint64_t) {
    Of(self)->device->Count(DeviceCall::kUnmap);
    return kDriverSuccess;
  };
  table.set_access = [](void*, uint64_t, uint64_t) { return kDriverSuccess; };
  table.event_create = [](void* self, uint64_t* event) {
    *event = Of(self)->next_handle++;
    return kDriverSuccess;
  };
  table.event_destroy = [](void*, uint64_t) { return kDriverSuccess; };
  table.event_record = [](void*, uint64_t, uint64_t) { return kDriverSuccess; };
  table.event_record_all = [](void*, uint64_t) { return kDriverSuccess; };
  table.event_query = [](void*, uint64_t) { return kDriverSuccess; };
  table.synchronize = [](void*) { return kDriverSuccess; };
  table.relax_capture = [](void*, int32_t* previous) {
    *previous = 0;
    return kDriverSuccess;
  };
  table.restore_capture = [](void*, int32_t) { return kDriverSuccess; };
  table.now = [](void* self) { return Of(self)->now_ns; };
  table.pause = [](void* self, uint64_t nanoseconds) { Of(self)->now_ns += nanoseconds; };
}

PoolModel::PoolModel(ModelDevice* device, uint64_t device_bytes)
    : driver_(std::make_unique<Driver>(device, device_bytes)), pool_(std::make_unique<Pool>()) {
  opened_ = pool_->Open(&driver_->table, PoolConfig()) == PoolError::kOk;
}

PoolModel::~PoolModel() {
  if (opened_) pool_->Close(PoolEnd::kAlive);
}

bool PoolModel::Allocate(const ModelRequest& request) {
  driver_->now_ns += kTickNs;
  Block block{};
  // Stream numbers of the driver begin with 0, the default stream.
  const BlockRequest wanted{std::max<uint64_t>(request.bytes, 1), request.stream, request.pool,
                            Layer::kFramework};
  if (!opened_ || pool_->Allocate(wanted, &block) != PoolError::kOk) return false;
  if (addresses_.size() <= request.block) addresses_.resize(request.block + 1);
  addresses_[request.block] = block.address;
  return true;
}

void PoolModel::Free(uint32_t block) {
  driver_->now_ns += kTickNs;
  pool_->Free(addresses_[block]);
}

void PoolModel::Flush() { pool_->Trim(TrimRequest()); }

uint64_t PoolModel::allocated() const { return pool_->Stats().allocated_bytes; }

}  // namespace vramstow
