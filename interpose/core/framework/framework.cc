#include "interpose/core/framework/framework.h"

#include <atomic>

#include "base/keep_errno.h"
#include "base/typed_event.h"
#include "interpose/core/framework/attachment.h"
#include "interpose/core/framework/census.h"
#include "interpose/core/framework/collection.h"
#include "interpose/core/framework/observed.h"
#include "interpose/core/pools/out_of_memory.h"
#include "interpose/core/pools/pool_trace.h"
#include "interpose/core/pools/pools.h"
#include "interpose/core/pools/regions.h"
#include "interpose/core/record/free_bytes.h"
#include "interpose/core/record/trace.h"
#include "interpose/core/runtime/process.h"
#include "interpose/core/runtime/reentrancy_guard.h"
#include "interpose/core/runtime/settings.h"

#define VRAMSTOW_IMPLEMENTATION
#include "include/vramstow/framework.h"
#include "include/vramstow/vramstow.h"

namespace vramstow {
namespace {

constinit std::atomic<const vramstow_framework_observer*> the_observer{nullptr};

constexpr size_t kMaxNames = 8;  // the most names of one allocation

// Returns the adapter's number in the trace. There is only one adapter, so the number is looked up
// once.
uint16_t LibraryOf(const void* return_address) {
  static constinit std::atomic<uint16_t> known{kUnknownName};
  uint16_t library = known.load(std::memory_order_relaxed);
  if (library == kUnknownName) [[unlikely]] {
    library = framework_context.trace.Library(return_address);
    known.store(library, std::memory_order_relaxed);
  }
  return library;
}

// Marks a request of the adapter, which is no call of a driver function. While the pool works for
// this request, calls that reach the hooks are passed on to the driver.
class FrameworkCall {
 public:
  explicit FrameworkCall(const void* return_address, EventKind kind = EventKind::kFree,
                         const StackName* names = nullptr, size_t count = 0)
      : call_(framework_context.trace, LibraryOf(return_address), kind, names, count) {}
  // Records the failed request in the form that is used for functions of the driver. The pool
  // itself records the steps by which it tried to serve the request.
  void RecordRefusal(const BlockRequest& request, int device, FailureEnd end) const {
    Event event;
    event.kind = EventKind::kAllocate;
    event.layer = Layer::kFramework;
    event.memory = MemoryKind::kDevice;
    event.device = static_cast<int16_t>(device);
    event.stream = request.stream;
    event.size = event.requested = request.size;
    event.object = ObjectOf(end);
    event.result = CUDA_ERROR_OUT_OF_MEMORY;
    framework_context.pool_trace.Record(&event);
  }
  FrameworkCall(const FrameworkCall&) = delete;
  FrameworkCall& operator=(const FrameworkCall&) = delete;

 private:
  KeepErrno keep_errno_;
  ScopedCallContext call_;
  ReentrancyGuard guard_;
};

int CodeOf(PoolError error) {
  switch (error) {
    case PoolError::kOk:
      return VRAMSTOW_OK;
    case PoolError::kOutOfMemory:
      return VRAMSTOW_OUT_OF_MEMORY;
    case PoolError::kNotOurs:
      return VRAMSTOW_NOT_OURS;
    case PoolError::kInvalid:
      return VRAMSTOW_INVALID;
    case PoolError::kUnavailable:
      break;
  }
  return VRAMSTOW_NOT_ACTIVE;
}

Pools::Use UseOf(int handle) { return framework_context.pools.At(handle); }

void PutBlock(const BlockRequest& request, const Block& served, int device,
              vramstow_framework_block* block) {
  *block = {served.address, served.size, request.size,        request.stream,
            request.pool,   device,      VRAMSTOW_BLOCK_LIVE, 0};
}

int Open(int device, int* handle) {
  const FrameworkCall call(__builtin_return_address(0));
  Pools& pools = framework_context.pools;
  Pools::Use use = pools.ForCurrentContext();
  if (!use || use.device() != device) return VRAMSTOW_NOT_ACTIVE;
  framework_context.free_bytes.Describe(use.device());
  use->ServeFramework();
  *handle = pools.NumberOf(use);
  return VRAMSTOW_OK;
}

// True if the adapter reports each request that failed for good, by the table's function `refused`.
// It is set before the adapter allocates.
constinit bool the_adapter_reports_failures = false;

inline int AllocateBlock(const FrameworkCall& call, int handle, uint64_t size, uint64_t stream,
                         uint64_t pool, vramstow_framework_block* block, int* served) {
  Pools::Use use = UseOf(handle);
  if (!use) return VRAMSTOW_NOT_ACTIVE;
  // Memory of a private pool stays mapped at its address, because graphs may write to it.
  const BlockRequest request{size, stream, pool, Layer::kFramework, Regions::Current()};
  Block made;
  const PoolError error = use->Allocate(request, &made);
  if (error == PoolError::kOk) {
    PutBlock(request, made, use.device(), block);
    *served = made.served == Served::kHit ? VRAMSTOW_SERVED_FROM_CACHE : VRAMSTOW_SERVED_SLOWLY;
    if (made.served != Served::kHit) {
      LogFailedCheck(use.get());
      framework_context.free_bytes.Sample(use.device());
    }
    return VRAMSTOW_OK;
  }
  LogFailedCheck(use.get());
  if (error == PoolError::kOutOfMemory && !the_adapter_reports_failures) {
    call.RecordRefusal(request, use.device(), FailureEnd::kProgram);
    DescribeOutOfMemory(framework_context.trace, use);
  }
  return CodeOf(error);
}

int Allocate(int handle, uint64_t size, uint64_t stream, uint64_t pool,
             vramstow_framework_block* block, int* served) {
  const FrameworkCall call(__builtin_return_address(0), EventKind::kAllocate);
  return AllocateBlock(call, handle, size, stream, pool, block, served);
}

int KeepsStacks() { return WantsNames(framework_context.process.options()) ? 1 : 0; }

std::string_view KindOf(const vramstow_framework_name& name) {
  switch (name.kind) {
    case VRAMSTOW_NAME_OPERATOR:
      return "<operator>";
    case VRAMSTOW_NAME_BACKWARD:
      return "<backward>";
    default:
      return "<module>";
  }
}

// Converts the framework's names to the form that a stack needs.
class StackNames {
 public:
  StackNames(const vramstow_framework_name* names, int count) {
    for (int i = 0; i < count && count_ < kMaxNames; ++i) {
      names_[count_++] = {names[i].text, KindOf(names[i])};
    }
  }
  const StackName* data() const { return names_; }
  size_t size() const { return count_; }

 private:
  StackName names_[kMaxNames];
  size_t count_ = 0;
};

int AllocateFor(int handle, uint64_t size, uint64_t stream, uint64_t pool,
                const vramstow_framework_name* names, int count, vramstow_framework_block* block,
                int* served) {
  const StackNames known(names, count);
  const FrameworkCall call(__builtin_return_address(0), EventKind::kAllocate, known.data(),
                           known.size());
  return AllocateBlock(call, handle, size, stream, pool, block, served);
}

int Refused(int handle, uint64_t size, uint64_t stream, const vramstow_framework_name* names,
            int count, int done_without) {
  const StackNames known(names, count);
  const FrameworkCall call(__builtin_return_address(0), EventKind::kAllocate, known.data(),
                           known.size());
  Pools::Use use = UseOf(handle);
  if (!use) return VRAMSTOW_NOT_ACTIVE;
  const FailureEnd end = done_without != 0 ? FailureEnd::kDoneWithout : FailureEnd::kProgram;
  call.RecordRefusal({.size = size, .stream = stream, .layer = Layer::kFramework}, use.device(),
                     end);
  if (done_without == 0) DescribeOutOfMemory(framework_context.trace, use);
  return VRAMSTOW_OK;
}

int AllocateAt(int handle, uint64_t address, uint64_t size, uint64_t stream, uint64_t pool,
               vramstow_framework_block* block) {
  const FrameworkCall call(__builtin_return_address(0), EventKind::kAllocate);
  Pools::Use use = UseOf(handle);
  if (!use) return VRAMSTOW_NOT_ACTIVE;
  const BlockRequest request{size, stream, pool, Layer::kFramework};
  Block made;
  const PoolError error = use->AllocateAt(address, request, &made);
  if (error == PoolError::kOk) PutBlock(request, made, use.device(), block);
  return CodeOf(error);
}

void PutBlock(const BlockInfo& info, int device, vramstow_framework_block* block) {
  *block = {info.address,
            info.size,
            info.requested,
            info.stream,
            info.pool,
            device,
            info.layer == Layer::kFramework ? VRAMSTOW_BLOCK_LIVE : VRAMSTOW_BLOCK_FOREIGN,
            0};
}

int Free(uint64_t address, vramstow_framework_block* block) {
  const FrameworkCall call(__builtin_return_address(0));
  Pools::Use use = framework_context.pools.Owning(address);
  if (!use) return VRAMSTOW_NOT_OURS;
  BlockInfo info;
  // The address may belong to a tensor of PyTorch's own allocator that lies in a block of this
  // pool, because that allocator called cuMemAlloc. Such a block must not be freed here.
  const PoolError error = use->Free(address, &info, true);
  if (error != PoolError::kOk) return CodeOf(error);
  PutBlock(info, use.device(), block);
  if (info.pending) block->state = VRAMSTOW_BLOCK_PENDING;
  return VRAMSTOW_OK;
}

int RecordUse(uint64_t address, uint64_t stream) {
  const FrameworkCall call(__builtin_return_address(0));
  Pools::Use use = framework_context.pools.Owning(address);
  return use ? CodeOf(use->RecordUse(address, stream)) : VRAMSTOW_NOT_OURS;
}

int FindBlock(uint64_t address, vramstow_framework_block* block) {
  Pools::Use use = framework_context.pools.Owning(address);
  if (!use) return VRAMSTOW_NOT_OURS;
  BlockInfo info;
  const PoolError error = use->Find(address, &info);
  if (error == PoolError::kOk) PutBlock(info, use.device(), block);
  if (error == PoolError::kOk && info.pending && block->state == VRAMSTOW_BLOCK_LIVE) {
    block->state = VRAMSTOW_BLOCK_PENDING;
  }
  return CodeOf(error);
}

int Keep(int handle, uint64_t pool, int keep) {
  Pools::Use use = UseOf(handle);
  if (!use) return VRAMSTOW_NOT_ACTIVE;
  use->KeepPrivate(pool, keep != 0);
  return VRAMSTOW_OK;
}

int Trim(int handle, int wait, uint64_t* released_bytes) {
  const FrameworkCall call(__builtin_return_address(0), EventKind::kCacheTrim);
  Pools::Use use = UseOf(handle);
  if (!use) return VRAMSTOW_NOT_ACTIVE;
  use.ReleaseHost();
  const PoolStats stats = use->Stats();
  *released_bytes = 0;
  if (stats.reserved_bytes == stats.allocated_bytes) return VRAMSTOW_OK;
  if (wait != 0) use->Synchronize();
  *released_bytes = use->Trim({}).released_bytes;
  return VRAMSTOW_OK;
}

int SetFrameworkLimit(int handle, uint64_t bytes) {
  Pools::Use use = UseOf(handle);
  if (!use) return VRAMSTOW_NOT_ACTIVE;
  use->SetShare(bytes);
  return VRAMSTOW_OK;
}

int ReadStats(int handle, vramstow_framework_stats* stats) {
  Pools::Use use = UseOf(handle);
  if (!use) return VRAMSTOW_NOT_ACTIVE;
  const PoolStats all = use->Stats();
  const MappedBytes mapped = use->Mapped(0);
  stats->reserved_bytes = all.reserved_bytes;
  stats->mapped_small = mapped.small;
  stats->mapped_large = mapped.large;
  stats->foreign_bytes = use->MappedWithoutStream();
  stats->grown_chunks = all.grown_chunks;
  stats->released_chunks = all.released_chunks;
  stats->fence_waits = all.fence_waits;
  stats->total_bytes = use->device_bytes();
  return VRAMSTOW_OK;
}

int Mapped(int handle, uint64_t pool, uint64_t* small_bytes, uint64_t* large_bytes) {
  Pools::Use use = UseOf(handle);
  if (!use) return VRAMSTOW_NOT_ACTIVE;
  const MappedBytes mapped = use->Mapped(pool);
  *small_bytes = mapped.small;
  *large_bytes = mapped.large;
  return VRAMSTOW_OK;
}

struct Visit {
  vramstow_framework_visitor visitor;
  void* context;
  int device;
};

void VisitSpan(void* context, const PoolSpan& span) {
  const auto* visit = static_cast<const Visit*>(context);
  int state = VRAMSTOW_BLOCK_FREE;
  if (span.state == SpanState::kPending) state = VRAMSTOW_BLOCK_PENDING;
  if (span.state == SpanState::kLive) state = VRAMSTOW_BLOCK_LIVE;
  if (state != VRAMSTOW_BLOCK_FREE && span.layer != Layer::kFramework) {
    state = VRAMSTOW_BLOCK_FOREIGN;
  }
  const vramstow_framework_block block = {span.address, span.size,         span.requested,
                                          span.stream,  span.pool,         visit->device,
                                          state,        span.small ? 0 : 1};
  visit->visitor(visit->context, &block);
}

int VisitBlocks(int handle, vramstow_framework_visitor visitor, void* context) {
  Pools::Use use = UseOf(handle);
  if (!use) return VRAMSTOW_NOT_ACTIVE;
  Visit visit{visitor, context, use.device()};
  use->VisitSpans(VisitSpan, &visit);
  return VRAMSTOW_OK;
}

int Shortage(int handle, vramstow_framework_shortage* shortage) {
  Pools::Use use = UseOf(handle);
  if (!use) return VRAMSTOW_NOT_ACTIVE;
  const OutOfMemoryReport report = use->LastReport();
  *shortage = {};
  shortage->requested_bytes = report.requested_bytes;
  shortage->allocated_bytes = report.allocated_bytes;
  shortage->reserved_bytes = report.reserved_bytes;
  shortage->limit_bytes = report.limit_bytes;
  shortage->device_free_bytes = report.device_free_bytes;
  shortage->device_total_bytes = report.device_total_bytes;
  shortage->free_bytes = report.free_bytes;
  shortage->largest_free_bytes = report.largest_free_bytes;
  shortage->pending_bytes = report.pending_bytes;
  shortage->live_blocks = report.live_blocks;
  static_assert(OutOfMemoryReport::kHolders == 8);
  shortage->holder_count = report.holder_count;
  for (int i = 0; i < report.holder_count; ++i) {
    shortage->holders[i].address = report.holders[i].address;
    shortage->holders[i].bytes = report.holders[i].bytes;
    shortage->holders[i].stream = report.holders[i].stream;
  }
  return VRAMSTOW_OK;
}

// Calls the observer for the events that it needs. It is called for every event of the pools.
void OnEvent(const Event& event) {
  const vramstow_framework_observer* observer = the_observer.load(std::memory_order_acquire);
  if (observer == nullptr) return;
  // A segment (an allocation of the plain driver) is mapped as long as it exists, so its allocation
  // is reported as a mapping.
  const bool segment = event.layer == Layer::kPool && event.memory == MemoryKind::kDevice;
  switch (event.kind) {
    case EventKind::kAllocate:
    case EventKind::kFree:
      if (!segment || event.result != 0) break;
      observer->mapping(event.device, event.address, event.size,
                        event.kind == EventKind::kAllocate ? 1 : 0);
      break;
    case EventKind::kMap:
      if (event.result == 0) observer->mapping(event.device, event.address, event.size, 1);
      break;
    case EventKind::kUnmap:
      observer->mapping(event.device, event.address, event.size, 0);
      break;
    case EventKind::kFreeCompleted:
      if (event.layer == Layer::kFramework) {
        observer->completed(event.device, event.address, event.size, event.requested);
      }
      break;
    default:
      break;
  }
}

int Observe(const vramstow_framework_observer* observer) {
  the_observer.store(observer, std::memory_order_release);
  framework_context.pool_trace.Observe(OnEvent);
  return VRAMSTOW_OK;
}

constexpr vramstow_framework kTable = {
    {VRAMSTOW_TABLE_POOL, VRAMSTOW_TABLE_POOL_VERSION, sizeof(vramstow_framework), 0},
    Open,
    Allocate,
    AllocateAt,
    Free,
    RecordUse,
    FindBlock,
    Keep,
    Trim,
    SetFrameworkLimit,
    ReadStats,
    Mapped,
    VisitBlocks,
    Shortage,
    Observe,
    KeepsStacks,
    AllocateFor,
    Refused,
};

const vramstow_table* PoolTable(uint32_t version) {
  constexpr uint32_t kReportsFailures = 2;
  Process& process = framework_context.process;
  if (!process.Start() || !WantsPool(process.options())) return nullptr;
  the_adapter_reports_failures = version >= kReportsFailures;
  return &kTable.head;
}

}  // namespace

const vramstow_table* TableOf(uint32_t kind, uint32_t version) {
  const vramstow_table* table = nullptr;
  switch (kind) {
    case VRAMSTOW_TABLE_POOL:
      table = PoolTable(version);
      break;
    case VRAMSTOW_TABLE_TRACE:
      table = TraceTable();
      break;
    case VRAMSTOW_TABLE_CENSUS:
      table = CensusTable();
      break;
    case VRAMSTOW_TABLE_COLLECTION:
      table = CollectionTable();
      break;
    case VRAMSTOW_TABLE_ATTACHMENT:
      table = AttachmentTable();
      break;
    default:
      break;
  }
  const bool is_known = table != nullptr && version > 0 && version <= table->version;
  return is_known ? table : nullptr;
}

bool HasFramework() { return the_observer.load(std::memory_order_acquire) != nullptr; }

}  // namespace vramstow
