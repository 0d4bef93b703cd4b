#include "simulator/runtime/libraries/cupti/record_makers.h"

#include <unistd.h>

#include <string_view>
#include <unordered_map>

#include "base/mutex.h"
#include "simulator/runtime/libraries/cupti/cupti_clock.h"
#include "simulator/runtime/libraries/cupti/observer.h"
#include "simulator/runtime/libraries/cupti/records.h"

namespace vramstow::simulator {
namespace {

bool IsOn(CUpti_ActivityKind kind) { return TheObserver().IsOn(kind); }

uint64_t ToClient(const ProfiledWork& work, uint64_t virtual_ns) {
  return TheClock().ToClient(static_cast<int64_t>(virtual_ns) + work.host_offset_ns);
}

// Sets the fields that records of all kinds of work have under the same names.
template <typename Record>
void Place(const ProfiledWork& work, Record* record) {
  record->start = ToClient(work, work.start_ns);
  record->end = ToClient(work, work.end_ns);
  record->deviceId = static_cast<uint32_t>(work.device);
  record->contextId = work.context_id;
  record->streamId = work.stream;
  record->correlationId = work.correlation;
  record->graphId = work.graph;
  record->graphNodeId = work.graph_node;
}

void AddKernel(const ProfiledWork& work) {
  KernelRecord record = {};
  CUpti_ActivityKernel10& kernel = record.base;
  const bool concurrent = IsOn(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  if (!concurrent && !IsOn(CUPTI_ACTIVITY_KIND_KERNEL)) return;
  kernel.kind = concurrent ? CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL : CUPTI_ACTIVITY_KIND_KERNEL;
  Place(work, &kernel);
  kernel.completed = kernel.end;
  kernel.registersPerThread = static_cast<uint16_t>(work.registers);
  kernel.gridX = static_cast<int32_t>(work.grid[0]);
  kernel.gridY = static_cast<int32_t>(work.grid[1]);
  kernel.gridZ = static_cast<int32_t>(work.grid[2]);
  kernel.blockX = static_cast<int32_t>(work.block[0]);
  kernel.blockY = static_cast<int32_t>(work.block[1]);
  kernel.blockZ = static_cast<int32_t>(work.block[2]);
  kernel.staticSharedMemory = static_cast<int32_t>(work.static_shared_bytes);
  kernel.dynamicSharedMemory = static_cast<int32_t>(work.dynamic_shared_bytes);
  kernel.sharedMemoryExecuted = work.static_shared_bytes + work.dynamic_shared_bytes;
  kernel.localMemoryPerThread = work.local_bytes;
  static std::atomic<int64_t> grids = 0;
  kernel.gridId = ++grids;
  kernel.name = work.kernel;
  kernel.queued = CUPTI_TIMESTAMP_UNKNOWN;
  kernel.submitted = CUPTI_TIMESTAMP_UNKNOWN;
  kernel.channelType = CUPTI_CHANNEL_TYPE_COMPUTE;
  record.priority = work.priority;
  TheRecords().Add(record);
}

CUpti_ActivityMemcpyKind CopyKind(const ProfiledWork& work) {
  const bool from = work.from_device >= 0;
  const bool to = work.to_device >= 0;
  if (from && to) {
    return work.from_device == work.to_device ? CUPTI_ACTIVITY_MEMCPY_KIND_DTOD
                                              : CUPTI_ACTIVITY_MEMCPY_KIND_PTOP;
  }
  if (to) return CUPTI_ACTIVITY_MEMCPY_KIND_HTOD;
  return from ? CUPTI_ACTIVITY_MEMCPY_KIND_DTOH : CUPTI_ACTIVITY_MEMCPY_KIND_HTOH;
}

// Sets the fields that all records of copies have under the same names.
template <typename Record>
void DescribeCopy(const ProfiledWork& work, Record* record) {
  Place(work, record);
  record->copyKind = static_cast<uint8_t>(CopyKind(work));
  record->srcKind = static_cast<uint8_t>(work.from);
  record->dstKind = static_cast<uint8_t>(work.to);
  if (work.asynchronous != 0) record->flags = CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC;
  record->bytes = work.bytes;
  record->channelType = CUPTI_CHANNEL_TYPE_ASYNC_MEMCPY;
}

void AddCopy(const ProfiledWork& work) {
  if (CopyKind(work) == CUPTI_ACTIVITY_MEMCPY_KIND_PTOP) {
    if (!IsOn(CUPTI_ACTIVITY_KIND_MEMCPY2)) return;
    CUpti_ActivityMemcpyPtoP4 record = {};
    record.kind = CUPTI_ACTIVITY_KIND_MEMCPY2;
    DescribeCopy(work, &record);
    record.srcDeviceId = static_cast<uint32_t>(work.from_device);
    record.dstDeviceId = static_cast<uint32_t>(work.to_device);
    record.srcContextId = record.dstContextId = work.context_id;
    TheRecords().Add(record);
    return;
  }
  if (!IsOn(CUPTI_ACTIVITY_KIND_MEMCPY)) return;
  CUpti_ActivityMemcpy6 record = {};
  record.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  DescribeCopy(work, &record);
  record.copyCount = 1;
  TheRecords().Add(record);
}

void AddFill(const ProfiledWork& work) {
  if (!IsOn(CUPTI_ACTIVITY_KIND_MEMSET)) return;
  CUpti_ActivityMemset4 record = {};
  record.kind = CUPTI_ACTIVITY_KIND_MEMSET;
  Place(work, &record);
  record.value = work.value;
  record.bytes = work.bytes;
  if (work.asynchronous != 0) record.flags = CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC;
  record.memoryKind = static_cast<uint16_t>(work.to);
  record.channelType = CUPTI_CHANNEL_TYPE_COMPUTE;
  TheRecords().Add(record);
}

struct MemoryCall {
  std::string_view name;
  CUpti_ActivityMemoryKind kind;  // unknown for a free: the kind of its allocation is used
  bool release;
  bool asynchronous;
};

// The calls that CUPTI's memory records describe. Calls that manage virtual memory are not in the
// list.
constexpr MemoryCall kMemoryCalls[] = {
    {"cuMemAlloc", CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, false, false},
    {"cuMemAllocPitch", CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, false, false},
    {"cuMemAllocManaged", CUPTI_ACTIVITY_MEMORY_KIND_MANAGED, false, false},
    {"cuMemAllocHost", CUPTI_ACTIVITY_MEMORY_KIND_PINNED, false, false},
    {"cuMemHostAlloc", CUPTI_ACTIVITY_MEMORY_KIND_PINNED, false, false},
    {"cuMemAllocAsync", CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, false, true},
    {"cuMemAllocFromPoolAsync", CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, false, true},
    {"cuMemFree", CUPTI_ACTIVITY_MEMORY_KIND_UNKNOWN, true, false},
    {"cuMemFreeHost", CUPTI_ACTIVITY_MEMORY_KIND_PINNED, true, false},
    {"cuMemFreeAsync", CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, true, true},
};

// Stores which addresses are managed memory. For all other memory the kind follows from the call
// that allocated it.
class ManagedMemory {
 public:
  CUpti_ActivityMemoryKind Note(const MemoryCall& call, uint64_t address) {
    const MutexLock lock(&mutex_);
    if (call.kind == CUPTI_ACTIVITY_MEMORY_KIND_MANAGED) addresses_[address] = true;
    if (call.kind != CUPTI_ACTIVITY_MEMORY_KIND_UNKNOWN) return call.kind;
    return addresses_.erase(address) != 0 ? CUPTI_ACTIVITY_MEMORY_KIND_MANAGED
                                          : CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  }

 private:
  Mutex mutex_;
  std::unordered_map<uint64_t, bool> addresses_ VRAMSTOW_GUARDED_BY(mutex_);
};

CUpti_ActivitySynchronizationType SynchronizationOf(std::string_view call) {
  if (call == "cuEventSynchronize") return CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE;
  if (call == "cuStreamWaitEvent") return CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT;
  if (call == "cuStreamSynchronize") return CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE;
  if (call == "cuCtxSynchronize") return CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE;
  return CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_UNKNOWN;
}

void AddSynchronization(const ProfiledCall& call, uint64_t end) {
  if (!IsOn(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION)) return;
  const CUpti_ActivitySynchronizationType type = SynchronizationOf(call.name);
  if (type == CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_UNKNOWN) return;
  CUpti_ActivitySynchronization2 record = {};
  record.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
  record.type = type;
  record.start = call.begin;
  record.end = end;
  record.correlationId = call.correlation;
  record.contextId = call.context_id;
  record.streamId = call.stream != 0 ? call.stream : CUPTI_SYNCHRONIZATION_INVALID_VALUE;
  record.cudaEventId = call.event != 0 ? call.event : CUPTI_SYNCHRONIZATION_INVALID_VALUE;
  record.cudaEventSyncId = call.event_record;
  record.returnValue = static_cast<uint32_t>(call.result);
  TheRecords().Add(record);
}

void AddEvent(const ProfiledCall& call) {
  const std::string_view name = call.name;
  if (!IsOn(CUPTI_ACTIVITY_KIND_CUDA_EVENT) || !name.starts_with("cuEventRecord") ||
      call.result != 0 || call.event == 0) {
    return;
  }
  CUpti_ActivityCudaEvent2 record = {};
  record.kind = CUPTI_ACTIVITY_KIND_CUDA_EVENT;
  record.correlationId = call.correlation;
  record.contextId = call.context_id;
  record.streamId = call.stream;
  record.eventId = call.event;
  record.deviceId = static_cast<uint32_t>(call.device);
  record.deviceTimestamp =
      TheClock().ToClient(static_cast<int64_t>(call.time_ns) + TheClock().OffsetAt(call.time_ns));
  record.cudaEventSyncId = call.event_record;
  TheRecords().Add(record);
}

void AddPool(const ProfiledCall& call) {
  if (!IsOn(CUPTI_ACTIVITY_KIND_MEMORY_POOL) || call.result != 0 || call.pool == 0) return;
  const std::string_view name = call.name;
  CUpti_ActivityMemoryPool3 record = {};
  if (name == "cuMemPoolCreate") {
    record.memoryPoolOperationType = CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_CREATED;
  } else if (name == "cuMemPoolDestroy") {
    record.memoryPoolOperationType = CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_DESTROYED;
  } else if (name == "cuMemPoolTrimTo") {
    record.memoryPoolOperationType = CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_TRIMMED;
  } else {
    return;
  }
  record.kind = CUPTI_ACTIVITY_KIND_MEMORY_POOL;
  record.memoryPoolType = CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL;
  record.correlationId = call.correlation;
  record.processId = static_cast<uint32_t>(getpid());
  record.deviceId = static_cast<uint32_t>(call.device);
  record.address = call.pool;
  record.size = call.pool_reserved_bytes;
  record.releaseThreshold = call.pool_threshold_bytes;
  record.utilizedSize = call.pool_used_bytes;
  record.timestamp = call.begin;
  TheRecords().Add(record);
}

}  // namespace

void AddWorkRecord(const ProfiledWork& work) {
  switch (work.kind) {
    case WorkKind::kKernel:
      return AddKernel(work);
    case WorkKind::kCopy:
      return AddCopy(work);
    case WorkKind::kFill:
      return AddFill(work);
  }
}

void AddMemoryRecord(const ProfiledCall& call, uint64_t address, uint64_t bytes) {
  if (!IsOn(CUPTI_ACTIVITY_KIND_MEMORY2) || call.result != 0) return;
  static auto* managed = new ManagedMemory;
  for (const MemoryCall& known : kMemoryCalls) {
    if (known.name != call.name) continue;
    CUpti_ActivityMemory4 record = {};
    record.kind = CUPTI_ACTIVITY_KIND_MEMORY2;
    record.memoryOperationType = known.release ? CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE
                                               : CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION;
    record.memoryKind = managed->Note(known, address);
    record.correlationId = call.correlation;
    record.address = address;
    record.bytes = bytes;
    record.timestamp = call.begin;
    record.processId = static_cast<uint32_t>(getpid());
    record.deviceId = static_cast<uint32_t>(call.device);
    record.contextId = call.context_id;
    record.streamId = call.stream;
    record.isAsync = known.asynchronous ? 1 : 0;
    if (call.pool != 0) {
      record.memoryPoolConfig.memoryPoolType = CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL;
      record.memoryPoolConfig.address = call.pool;
      record.memoryPoolConfig.releaseThreshold = call.pool_threshold_bytes;
      record.memoryPoolConfig.pool.size = call.pool_reserved_bytes;
      record.memoryPoolConfig.utilizedSize = call.pool_used_bytes;
    }
    TheRecords().Add(record);
    return;
  }
}

void AddDriverRecords(const ProfiledCall& call, uint64_t end) {
  AddSynchronization(call, end);
  AddEvent(call);
  AddPool(call);
}

void AddFlushOverhead(uint64_t start, uint64_t end) {
  if (!IsOn(CUPTI_ACTIVITY_KIND_OVERHEAD)) return;
  CUpti_ActivityOverhead3 record = {};
  record.kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
  record.overheadKind = CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH;
  record.objectKind = CUPTI_ACTIVITY_OBJECT_PROCESS;
  record.objectId.pt.processId = static_cast<uint32_t>(getpid());
  record.start = start;
  record.end = end;
  TheRecords().Add(record);
}

}  // namespace vramstow::simulator
