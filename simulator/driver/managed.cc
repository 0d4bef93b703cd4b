// Implements advice, prefetch and queries of managed memory. Its pages always lie on the host here,
// so advice and prefetch are stored, returned by queries, and have no other effect.
#include <cuda.h>
#include <string.h>

#include <algorithm>
#include <set>

#include "simulator/driver/context.h"
#include "simulator/driver/stream.h"

namespace vramstow::simulator {
namespace {

struct Location {
  CUmemLocationType type = CU_MEM_LOCATION_TYPE_INVALID;
  int id = CU_DEVICE_INVALID;
  bool operator==(const Location& other) const = default;
};

struct Advice {
  bool read_mostly = false;
  Location preferred;
  Location prefetched;
  std::set<int> accessed_by;
  bool operator==(const Advice& other) const = default;
};

// Address ranges of one managed block, each with its own advice. The key is the first byte of a
// range; the range ends at the next key.
using Runs = std::map<uint64_t, Advice>;

// Returns the ranges with advice of a block. They are stored by the block's id, which is never
// reused. The few ranges of freed blocks are not removed. Guarded by the driver's lock; never
// destroyed.
Runs& RunsOf(const Block& block) {
  static auto* all = new std::unordered_map<uint64_t, Runs>;
  Runs& runs = (*all)[block.id];
  if (runs.empty()) runs[block.address] = {};
  return runs;
}

// Splits the range that contains `address`, so that a range begins exactly there.
void SplitAt(Runs* runs, uint64_t address) {
  const auto next = runs->upper_bound(address);
  const auto run = std::prev(next);
  if (run->first != address) runs->insert(next, {address, run->second});
}

template <typename Change>
void ForRange(const Block& block, uint64_t address, uint64_t size, Change&& change) {
  Runs& runs = RunsOf(block);
  SplitAt(&runs, address);
  if (address + size < block.address + block.size) SplitAt(&runs, address + size);
  for (auto run = runs.find(address); run != runs.end() && run->first < address + size; ++run) {
    change(&run->second);
  }
}

// Returns the advice that the whole range has in common. If a field differs within the range, it
// has its default in the result.
Advice CommonAdvice(const Block& block, uint64_t address, uint64_t size) {
  Advice common;
  bool first = true;
  ForRange(block, address, size, [&](Advice* advice) {
    if (first) {
      common = *advice;
      first = false;
      return;
    }
    common.read_mostly &= advice->read_mostly;
    if (!(common.preferred == advice->preferred)) common.preferred = {};
    if (!(common.prefetched == advice->prefetched)) common.prefetched = {};
    std::erase_if(common.accessed_by,
                  [&](int device) { return !advice->accessed_by.contains(device); });
  });
  return common;
}

const Block* FindManaged(Call& call, CUdeviceptr address, size_t size) {
  const Block* block = call.machine().memory.FindAround(address);
  if (block == nullptr || block->kind != BlockKind::kManaged) return nullptr;
  return size > 0 && size <= block->size - (address - block->address) ? block : nullptr;
}

// Converts a location of the driver's API to *place. Returns false if the location does not exist.
bool ReadLocation(Call& call, const CUmemLocation& location, Location* place) {
  *place = {location.type, location.id};
  switch (static_cast<int>(location.type)) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
      return location.id >= 0 && location.id < call.machine().devices();
    case CU_MEM_LOCATION_TYPE_HOST:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
      place->id = 0;
      return true;
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
      return location.id == 0;  // this machine is one NUMA node
    default:
      return false;
  }
}

// Returns the device number for attributes that can report devices only.
int DeviceNumber(const Location& place) {
  switch (static_cast<int>(place.type)) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
      return place.id;
    case CU_MEM_LOCATION_TYPE_HOST:
      return CU_DEVICE_CPU;
    default:
      return CU_DEVICE_INVALID;
  }
}

CUmemLocation LocationOf(CUdevice device) {
  CUmemLocation location = {};
  location.type = device == CU_DEVICE_CPU ? CU_MEM_LOCATION_TYPE_HOST : CU_MEM_LOCATION_TYPE_DEVICE;
  location.id = device == CU_DEVICE_CPU ? 0 : device;
  return location;
}

void Change(CUmem_advise advice, const Location& place, Advice* to) {
  switch (advice) {
    case CU_MEM_ADVISE_SET_READ_MOSTLY:
    case CU_MEM_ADVISE_UNSET_READ_MOSTLY:
      to->read_mostly = advice == CU_MEM_ADVISE_SET_READ_MOSTLY;
      break;
    case CU_MEM_ADVISE_SET_PREFERRED_LOCATION:
      to->preferred = place;
      break;
    case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION:
      to->preferred = {};
      break;
    case CU_MEM_ADVISE_SET_ACCESSED_BY:
      to->accessed_by.insert(DeviceNumber(place));
      break;
    default:
      to->accessed_by.erase(DeviceNumber(place));
      break;
  }
}

CUresult Advise(CUdeviceptr address, size_t size, CUmem_advise advice,
                const CUmemLocation& location) {
  return Serve("cuMemAdvise", Needs::kContext, [&](Call& call) {
    if (advice < CU_MEM_ADVISE_SET_READ_MOSTLY || advice > CU_MEM_ADVISE_UNSET_ACCESSED_BY) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    const Block* block = FindManaged(call, address, size);
    if (block == nullptr) return CUDA_ERROR_INVALID_VALUE;
    // As documented, the location is ignored for these kinds of advice.
    const bool ignored = advice == CU_MEM_ADVISE_SET_READ_MOSTLY ||
                         advice == CU_MEM_ADVISE_UNSET_READ_MOSTLY ||
                         advice == CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION;
    Location place;
    if (!ReadLocation(call, location, &place) && !ignored) {
      return location.type == CU_MEM_LOCATION_TYPE_DEVICE ? CUDA_ERROR_INVALID_DEVICE
                                                          : CUDA_ERROR_INVALID_VALUE;
    }
    ForRange(*block, address, size, [&](Advice* to) { Change(advice, place, to); });
    return CUDA_SUCCESS;
  });
}

CUresult Prefetch(CUdeviceptr address, size_t size, const CUmemLocation& location,
                  CUstream handle) {
  return Serve("cuMemPrefetchAsync", Needs::kContext, [&](Call& call) {
    Stream* stream = FindStream(call, handle);
    if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    const Block* block = FindManaged(call, address, size);
    if (block == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Location place;
    if (!ReadLocation(call, location, &place)) {
      return location.type == CU_MEM_LOCATION_TYPE_DEVICE ? CUDA_ERROR_INVALID_DEVICE
                                                          : CUDA_ERROR_INVALID_VALUE;
    }
    ForRange(*block, address, size, [&](Advice* to) { to->prefetched = place; });
    if (stream->capture == nullptr) Submit(call, stream, nullptr);
    return CUDA_SUCCESS;
  });
}

// A list of ranges and their locations. As documented, a location has an index: it applies to the
// ranges from this index up to the index of the next location.
struct Batch {
  CUdeviceptr* addresses;
  size_t* sizes;
  size_t count;
  CUmemLocation* locations;
  size_t* indices;
  size_t location_count;
};

CUresult PrefetchBatch(const char* name, const Batch& batch, unsigned long long flags,
                       CUstream handle) {
  return Serve(name, Needs::kContext, [&](Call& call) {
    Stream* stream = FindStream(call, handle);
    if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (flags != 0 || batch.count == 0 || batch.addresses == nullptr || batch.sizes == nullptr ||
        batch.locations == nullptr || batch.indices == nullptr || batch.location_count == 0 ||
        batch.location_count > batch.count || batch.indices[0] != 0) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    // All ranges are checked before the first is prefetched.
    for (const bool submit : {false, true}) {
      size_t location = 0;
      for (size_t i = 0; i < batch.count; ++i) {
        if (location + 1 < batch.location_count && batch.indices[location + 1] <= i) ++location;
        const Block* block = FindManaged(call, batch.addresses[i], batch.sizes[i]);
        Location place;
        if (block == nullptr || !ReadLocation(call, batch.locations[location], &place)) {
          return CUDA_ERROR_INVALID_VALUE;
        }
        if (!submit) continue;
        ForRange(*block, batch.addresses[i], batch.sizes[i],
                 [&](Advice* to) { to->prefetched = place; });
      }
    }
    if (stream->capture == nullptr) Submit(call, stream, nullptr);
    return CUDA_SUCCESS;
  });
}

CUresult PutNumber(int value, size_t size, void* data) {
  if (size != sizeof(value)) return CUDA_ERROR_INVALID_VALUE;  // it has 32 bits
  memcpy(data, &value, sizeof(value));
  return CUDA_SUCCESS;
}

CUresult PutDevices(const std::set<int>& devices, size_t size, void* data) {
  if (size == 0 || size % sizeof(int) != 0) return CUDA_ERROR_INVALID_VALUE;
  std::vector<int> list(devices.begin(), devices.end());
  list.resize(size / sizeof(int), CU_DEVICE_INVALID);
  memcpy(data, list.data(), size);
  return CUDA_SUCCESS;
}

CUresult PutAttribute(const Advice& advice, int attribute, size_t size, void* data) {
  switch (attribute) {
    case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY:
      return PutNumber(advice.read_mostly ? 1 : 0, size, data);
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION:
      return PutNumber(DeviceNumber(advice.preferred), size, data);
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION:
      return PutNumber(DeviceNumber(advice.prefetched), size, data);
    case CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY:
      return PutDevices(advice.accessed_by, size, data);
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE:
      return PutNumber(advice.preferred.type, size, data);
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID:
      return PutNumber(advice.preferred.id, size, data);
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE:
      return PutNumber(advice.prefetched.type, size, data);
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID:
      return PutNumber(advice.prefetched.id, size, data);
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

}  // namespace
}  // namespace vramstow::simulator

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C ABI is global

extern "C" {

#undef cuMemAdvise
CUresult cuMemAdvise(CUdeviceptr address, size_t size, CUmem_advise advice, CUdevice device) {
  return Advise(address, size, advice, LocationOf(device));
}
CUresult cuMemAdvise_v2(CUdeviceptr address, size_t size, CUmem_advise advice,
                        CUmemLocation location) {
  return Advise(address, size, advice, location);
}

#undef cuMemPrefetchAsync
CUresult cuMemPrefetchAsync(CUdeviceptr address, size_t size, CUdevice device, CUstream stream) {
  return Prefetch(address, size, LocationOf(device), stream);
}
CUresult cuMemPrefetchAsync_v2(CUdeviceptr address, size_t size, CUmemLocation location,
                               unsigned int flags, CUstream stream) {
  return flags != 0 ? CUDA_ERROR_INVALID_VALUE : Prefetch(address, size, location, stream);
}

CUresult cuMemPrefetchBatchAsync(CUdeviceptr* addresses, size_t* sizes, size_t count,
                                 CUmemLocation* locations, size_t* indices, size_t location_count,
                                 unsigned long long flags, CUstream stream) {
  return PrefetchBatch("cuMemPrefetchBatchAsync",
                       {addresses, sizes, count, locations, indices, location_count}, flags,
                       stream);
}

// Discarded memory may read as anything; here it keeps its bytes.
CUresult cuMemDiscardAndPrefetchBatchAsync(CUdeviceptr* addresses, size_t* sizes, size_t count,
                                           CUmemLocation* locations, size_t* indices,
                                           size_t location_count, unsigned long long flags,
                                           CUstream stream) {
  return PrefetchBatch("cuMemDiscardAndPrefetchBatchAsync",
                       {addresses, sizes, count, locations, indices, location_count}, flags,
                       stream);
}

CUresult cuMemDiscardBatchAsync(CUdeviceptr* addresses, size_t* sizes, size_t count,
                                unsigned long long flags, CUstream handle) {
  return Serve("cuMemDiscardBatchAsync", Needs::kContext, [&](Call& call) {
    if (FindStream(call, handle) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (flags != 0 || count == 0 || addresses == nullptr || sizes == nullptr) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    for (size_t i = 0; i < count; ++i) {
      if (FindManaged(call, addresses[i], sizes[i]) == nullptr) return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
  });
}

CUresult cuMemRangeGetAttributes(void** data, size_t* sizes, CUmem_range_attribute* attributes,
                                 size_t count, CUdeviceptr address, size_t size) {
  return Serve("cuMemRangeGetAttributes", Needs::kContext, [&](Call& call) {
    if (data == nullptr || sizes == nullptr || attributes == nullptr || count == 0) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    const Block* block = FindManaged(call, address, size);
    if (block == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const Advice advice = CommonAdvice(*block, address, size);
    for (size_t i = 0; i < count; ++i) {
      if (data[i] == nullptr) return CUDA_ERROR_INVALID_VALUE;
      const CUresult result = PutAttribute(advice, attributes[i], sizes[i], data[i]);
      if (result != CUDA_SUCCESS) return result;
    }
    return CUDA_SUCCESS;
  });
}

CUresult cuMemRangeGetAttribute(void* data, size_t data_size, CUmem_range_attribute attribute,
                                CUdeviceptr address, size_t size) {
  return cuMemRangeGetAttributes(&data, &data_size, &attribute, 1, address, size);
}

}  // extern "C"
