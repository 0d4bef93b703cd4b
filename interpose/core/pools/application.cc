#include "interpose/core/pools/application.h"

#include <cstddef>
#include <cstdio>
#include <cstring>

#include "base/keep_errno.h"
#include "base/rounding.h"
#include "interpose/core/pools/pool_trace.h"
#include "interpose/core/pools/pools.h"
#include "interpose/core/record/observed_memory.h"
#include "interpose/core/record/trace.h"
#include "interpose/core/runtime/process.h"
#include "interpose/core/runtime/settings.h"
#include "interpose/core/runtime/this_thread.h"

#define VRAMSTOW_IMPLEMENTATION
#include "include/vramstow/vramstow.h"

namespace vramstow {
namespace {

static_assert(static_cast<int>(HookKind::kPressure) == VRAMSTOW_HOOK_PRESSURE);
static_assert(static_cast<int>(HookKind::kTrimmed) == VRAMSTOW_HOOK_RELEASED);

bool IsDevice(int device) { return device >= VRAMSTOW_ALL_DEVICES; }

struct BlockList {
  char* blocks;
  size_t size;  // the size of an entry in the caller's version
  uint64_t room;
  uint64_t seen;
  int device;
};

// Writes a block into the caller's array. It is called under locks of the pool, so it does nothing
// else.
void ListBlock(void* context, const PoolSpan& span) {
  if (span.state != SpanState::kLive) return;
  auto* list = static_cast<BlockList*>(context);
  if (list->seen < list->room) {
    const vramstow_block block = {span.address, span.size, span.requested, list->device, 0};
    char* const place = list->blocks + list->seen * list->size;
    std::memset(place, 0, list->size);
    std::memcpy(place, &block, list->size < sizeof block ? list->size : sizeof block);
  }
  ++list->seen;
}

struct Pieces {
  uint64_t chunk_bytes;
  uint64_t bytes;
};

// Adds the size of a free span that contains no whole chunk to the caller's sum. Spans of whole
// chunks are not counted, because their chunks can be moved together.
void AddPiece(void* context, const PoolSpan& span) {
  if (span.state != SpanState::kFree) return;
  auto* const pieces = static_cast<Pieces*>(context);
  const uint64_t chunk = pieces->chunk_bytes;
  const uint64_t begin = RoundUp(span.address, chunk);
  const uint64_t end = (span.address + span.size) / chunk * chunk;
  pieces->bytes += span.size - (end > begin ? end - begin : 0);
}

// Records what limits a device's pools from now on, as marks, so that the analysis knows when. The
// Python package then replaces the place by the line of its caller.
void TellLimit(Trace& trace, int device, uint64_t bytes, const char* by) {
  char text[96];
  std::snprintf(text, sizeof text, "vramstow.fact device.%d.limited_bytes %llu", device,
                static_cast<unsigned long long>(bytes));
  trace.Mark(MarkKind::kMoment, text, 0);
  for (const char* fact : {"limited_by", "limited_at"}) {
    std::snprintf(text, sizeof text, "vramstow.fact device.%d.%s %s", device, fact, by);
    trace.Mark(MarkKind::kMoment, text, 0);
  }
}

// vramstow_stats contains exactly the statistics of statistics.def, in that order.
struct StatisticsInOrder {
#define STATISTIC(name, value, seen) uint64_t name;
#include "interpose/core/pools/statistics.def"
#undef STATISTIC
};
#define STATISTIC(name, value, seen) \
  static_assert(offsetof(vramstow_stats, name) == offsetof(StatisticsInOrder, name));
#include "interpose/core/pools/statistics.def"
#undef STATISTIC
static_assert(sizeof(vramstow_stats) == sizeof(StatisticsInOrder));

// Adds a number to a sum. The sum becomes unknown (VRAMSTOW_NOT_KNOWN) if the number is unknown.
void Add(uint64_t value, uint64_t* sum) {
  const bool is_known = value != VRAMSTOW_NOT_KNOWN && *sum != VRAMSTOW_NOT_KNOWN;
  *sum = is_known ? *sum + value : VRAMSTOW_NOT_KNOWN;
}

void AddTo(vramstow_stats* sum, const ObservedFigures& observed) {
#define STATISTIC(name, value, seen) Add(seen, &sum->name);
#include "interpose/core/pools/statistics.def"
#undef STATISTIC
}

void AddTo(vramstow_stats* sum, const Pools::Use& use) {
  Pool& pool = *use.get();
  const PoolStats stats = pool.Stats();
  const OffloadStats offload =
      use.offloader() == nullptr ? OffloadStats{} : use.offloader()->Stats();
#define STATISTIC(name, value, seen) Add(value, &sum->name);
#include "interpose/core/pools/statistics.def"
#undef STATISTIC
}

}  // namespace

// Calls visit(pool, device) for every open pool of the device, where `pool` is a Pools::Use.
// Returns the number of pools.
template <typename Visit>
int Application::VisitPools(int device, Visit visit) const {
  KeepErrno keep_errno;
  ScopedCallContext call;
  int seen = 0;
  for (int i = 0; i < Pools::kMaxPools; ++i) {
    Pools::Use use = pools_.At(i);
    if (!use || (device >= 0 && use.device() != device)) continue;
    visit(use, use.device());
    ++seen;
  }
  return seen;
}

int Application::GiveBack(int device, GivenBack* given) const {
  if (!IsDevice(device)) return VRAMSTOW_INVALID;
  *given = GivenBack();
  const int seen = VisitPools(device, [given](const Pools::Use& pool, int) {
    // Waits briefly for work that is about to finish. Memory that is still in use afterwards is not
    // released.
    constexpr uint64_t kWaitNs = 100'000'000;
    const uint64_t since = pool->pages()->Now();
    given->device_bytes += pool->Trim({.wait_ns = kWaitNs}).released_bytes;
    given->host_bytes += pool.ReleaseHost();
    given->duration_ns += pool->pages()->Now() - since;
  });
  return seen == 0 ? VRAMSTOW_NOT_ACTIVE : VRAMSTOW_OK;
}

int Application::EmptyCache(int device, uint64_t* released_bytes, uint64_t* duration_ns) const {
  GivenBack given;
  const int code = GiveBack(device, &given);
  if (code != VRAMSTOW_OK) return code;
  if (released_bytes != nullptr) *released_bytes = given.device_bytes;
  if (duration_ns != nullptr) *duration_ns = given.duration_ns;
  return VRAMSTOW_OK;
}

int Application::SetLimit(int device, uint64_t bytes, const char* by) const {
  if (!IsDevice(device)) return VRAMSTOW_INVALID;
  uint64_t devices = 0;  // bit N stands for device N
  const int seen = VisitPools(device, [&](const Pools::Use& pool, int owner) {
    pool->SetLimit(bytes);
    if (owner >= 0 && owner < 64) devices |= uint64_t{1} << owner;
  });
  for (int i = 0; devices >> i != 0; ++i) {
    if ((devices >> i & 1) != 0) TellLimit(trace_, i, bytes, by);
    if (i == 63) break;
  }
  return seen == 0 ? VRAMSTOW_NOT_ACTIVE : VRAMSTOW_OK;
}

void Application::SettleFrees(int device) const {
  VisitPools(device, [](const Pools::Use& pool, int) { pool->SettleFrees(); });
}

int Application::GetStats(int device, vramstow_stats* stats, size_t size) const {
  if (!IsDevice(device) || stats == nullptr || size == 0) return VRAMSTOW_INVALID;
  vramstow_stats sum{};
  const int seen = VisitPools(device, [&sum](const Pools::Use& pool, int) { AddTo(&sum, pool); });
  if (seen == 0 && AddObserved(device, &sum) == 0) return VRAMSTOW_NOT_ACTIVE;
  std::memset(stats, 0, size);
  std::memcpy(stats, &sum, size < sizeof sum ? size : sizeof sum);
  return VRAMSTOW_OK;
}

bool Application::HasPool(int device) const {
  return VisitPools(device, [](const Pools::Use&, int) {}) != 0;
}

int Application::AddObserved(int device, vramstow_stats* sum) const {
  int seen = 0;
  for (int i = 0; i < ObservedMemory::kMaxDevices; ++i) {
    ObservedFigures figures;
    if ((device >= 0 && i != device) || !observed_.Read(i, &figures)) continue;
    AddTo(sum, figures);
    ++seen;
  }
  return seen;
}

const char* Application::WhyNoStats() const {
  if (WantsPool(process_.options())) return "the pool has served no memory yet";
  if (observed_.is_followed()) return "PyTorch has not requested any device memory yet";
  return "PyTorch is not observed in this process; with --pool=on there are the numbers of the "
         "pool";
}

int Application::GetMemory(int device, DeviceMemory* memory) const {
  if (!IsDevice(device) || memory == nullptr) return VRAMSTOW_INVALID;
  *memory = DeviceMemory();
  const int seen = VisitPools(device, [memory](const Pools::Use& pool, int) {
    Pieces pieces = {pool->chunk_bytes(), 0};
    pool->VisitSpans(AddPiece, &pieces);
    memory->unusable_bytes += pieces.bytes;
    uint64_t free = 0;
    uint64_t total = 0;
    if (pool->MemoryInfo(&free, &total) != 0) return;
    // Each pool of a device could get all of the device's free memory. So the result is the largest
    // of the pools' figures, not their sum.
    memory->has_pool = true;
    memory->device_bytes = total;
    memory->head_room = std::max(memory->head_room, free);
  });
  if (seen == 0) memory->device_bytes = observed_.SizeOf(device);
  return seen == 0 ? VRAMSTOW_NOT_ACTIVE : VRAMSTOW_OK;
}

int Application::GetBlocks(int device, vramstow_block* blocks, uint64_t* count, size_t size) const {
  if (!IsDevice(device) || count == nullptr || size == 0 || (blocks == nullptr && *count != 0)) {
    return VRAMSTOW_INVALID;
  }
  BlockList list{reinterpret_cast<char*>(blocks), size, *count, 0, 0};
  const int seen = VisitPools(device, [&list](const Pools::Use& pool, int owner) {
    list.device = owner;
    pool->VisitSpans(ListBlock, &list);
  });
  if (seen == 0) return VRAMSTOW_NOT_ACTIVE;
  *count = list.seen;
  return VRAMSTOW_OK;
}

int Application::ResetPeaks(int device) const {
  if (!IsDevice(device)) return VRAMSTOW_INVALID;
  const int pools = VisitPools(device, [](const Pools::Use& pool, int) { pool->ResetPeaks(); });
  bool is_observed = false;
  for (int i = 0; pools == 0 && i < ObservedMemory::kMaxDevices; ++i) {
    const bool is_meant = device < 0 || i == device;
    if (is_meant && observed_.ResetPeaks(i)) is_observed = true;
  }
  return pools == 0 && !is_observed ? VRAMSTOW_NOT_ACTIVE : VRAMSTOW_OK;
}

// --- Hooks --------------------------------------------------------------------------------------

int ApplicationHooks::Add(Function function, void* context) {
  if (function == nullptr) return VRAMSTOW_INVALID;
  if (!WantsPool(process_.options())) return VRAMSTOW_NOT_ACTIVE;
  MutexLock lock(&mutex_);
  for (int i = 0; i < count_; ++i) {
    if (entries_[i].function == function && entries_[i].context == context) return VRAMSTOW_OK;
  }
  if (count_ == kMax) return VRAMSTOW_FULL;
  entries_[count_++] = {function, context};
  return VRAMSTOW_OK;
}

int ApplicationHooks::Remove(Function function, void* context) {
  MutexLock lock(&mutex_);
  for (int i = 0; i < count_; ++i) {
    if (entries_[i].function != function || entries_[i].context != context) continue;
    for (int k = i + 1; k < count_; ++k) entries_[k - 1] = entries_[k];
    --count_;
    return VRAMSTOW_OK;
  }
  return VRAMSTOW_INVALID;
}

// Resets the thread's depth, because calls of the driver by the hook are the application's own and
// must be handled like any other call.
void ApplicationHooks::Call(void* context, HookKind kind, uint64_t bytes) {
  auto* hooks = static_cast<ApplicationHooks*>(context);
  Entry entries[kMax];
  int count = 0;
  {
    MutexLock lock(&hooks->mutex_);
    count = hooks->count_;
    for (int i = 0; i < count; ++i) entries[i] = hooks->entries_[i];
  }
  VramstowThread* thread = ThisThread();
  const uint32_t depth = thread->depth;
  void* const pool_call = thread->pool_call;
  thread->depth = 0;
  thread->pool_call = nullptr;
  for (int i = 0; i < count; ++i) {
    entries[i].function(entries[i].context, static_cast<int>(kind), bytes);
  }
  thread->depth = depth;
  thread->pool_call = pool_call;
}

}  // namespace vramstow
