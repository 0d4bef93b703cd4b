#include "tools/replay/replay.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace vramstow {
namespace {

// The size of the device if it is unknown.
constexpr uint64_t kUnknownDevice = uint64_t{1} << 40;

// Returns each pool and the last request that names it, in the order of these requests.
std::vector<std::pair<uint64_t, uint32_t>> EndsOfPools(const Requests& requests) {
  std::vector<std::pair<uint64_t, uint32_t>> ends;
  for (uint32_t pool = 1; pool < requests.pools; ++pool) {
    ends.push_back({requests.last_of_pool[pool], pool});
  }
  std::ranges::sort(ends);
  return ends;
}

// Finds the first use of each block by work, and for each use the next one of the same block.
class TouchPlan {
 public:
  explicit TouchPlan(const Requests& requests) {
    if (requests.touches == 0) return;
    first_.assign(requests.blocks, ModelRequest::kNoTouch);
    next_.assign(requests.list.size(), ModelRequest::kNoTouch);
    for (size_t i = requests.list.size(); i-- > 0;) {
      if (requests.list[i].kind != RequestKind::kTouch) continue;
      next_[i] = std::exchange(first_[requests.list[i].block], i);
    }
  }
  uint64_t First(uint32_t block) const {
    return first_.empty() ? ModelRequest::kNoTouch : first_[block];
  }
  uint64_t Next(size_t request) const { return next_[request]; }

 private:
  std::vector<uint64_t> first_;  // the first touch of each block
  std::vector<uint64_t> next_;   // for each touch, the next one of the same block
};

}  // namespace

const char* DeviceCallName(DeviceCall call) {
  switch (call) {
    case DeviceCall::kAllocate:
      return "segment_alloc";
    case DeviceCall::kFree:
      return "segment_free";
    case DeviceCall::kMap:
      return "segment_map";
    case DeviceCall::kUnmap:
      return "segment_unmap";
    case DeviceCall::kReserve:
      return "address_reserve";
    case DeviceCall::kUnreserve:
      return "address_free";
  }
  return "unknown";
}

ModelOutcome Replay(const Requests& requests, const ModelSpec& spec, const ReplayOptions& options) {
  ModelDevice device(options.memory_bytes);
  if (options.keep_steps) device.KeepSteps();
  uint64_t device_bytes = options.memory_bytes;
  if (device_bytes == 0) device_bytes = requests.device_bytes;
  if (device_bytes == 0) device_bytes = kUnknownDevice;
  const auto model = MakeModel(spec, &device, device_bytes);
  ModelOutcome outcome;
  outcome.name = spec.name;
  std::vector<bool> lacking(requests.blocks);
  uint64_t missing = 0;  // blocks that were refused, and that the program has not freed yet
  const auto ends = EndsOfPools(requests);
  auto next_end = ends.begin();
  const TouchPlan plan(requests);
  const auto allocate = [&](const Request& request) {
    const ModelRequest wanted{request.block, request.stream, request.pool, request.bytes,
                              plan.First(request.block)};
    if (model->Allocate(wanted)) return true;
    if (outcome.out_of_memory++ == 0) outcome.first_out_of_memory = request.event;
    return false;
  };
  for (size_t i = 0; i < requests.list.size(); ++i) {
    const Request& request = requests.list[i];
    device.BeginRequest(i);
    if (i == requests.judged_from) {
      device.ForgetPeak();
      outcome.peak_allocated = outcome.allocated_at_peak = model->allocated();
      outcome.out_of_memory = missing;
    }
    for (; next_end != ends.end() && next_end->first < i; ++next_end) {
      model->PoolEnds(next_end->second);
    }
    const uint64_t peak = device.peak_reserved();
    switch (request.kind) {
      case RequestKind::kAllocate:
        lacking[request.block] = !allocate(request);
        missing += lacking[request.block];
        break;
      case RequestKind::kTry:
        if (allocate(request)) model->Free(request.block);
        break;
      case RequestKind::kFree:
        if (!lacking[request.block]) model->Free(request.block);
        missing -= lacking[request.block];
        break;
      case RequestKind::kFlush:
        model->Flush();
        break;
      case RequestKind::kTouch:
        if (lacking[request.block]) break;
        model->Touch({request.block, request.stream, request.bytes, plan.Next(i)});
        break;
      case RequestKind::kNone:
        break;
    }
    if (request.kind != RequestKind::kAllocate) continue;
    const uint64_t allocated = model->allocated();
    outcome.peak_allocated = std::max(outcome.peak_allocated, allocated);
    if (device.peak_reserved() > peak) outcome.allocated_at_peak = allocated;
  }
  outcome.peak_reserved = device.peak_reserved();
  outcome.allocated_at_end = model->allocated();
  outcome.device_calls = device.calls();
  outcome.calls = device.counts();
  outcome.stall_ns = device.stall_ns();
  outcome.steps = device.steps();
  if (const OffloadTraffic* traffic = model->traffic()) outcome.traffic = *traffic;
  return outcome;
}

ReplayBounds Bounds(const Requests& requests, const PackingBudget& budget) {
  // Time is counted in phases. Consecutive allocations without a free between them are in the same
  // phase.
  std::vector<LifeSpan> lives(requests.blocks);
  uint64_t phase = 0;
  bool freed = false;
  for (const Request& request : requests.list) {
    if (request.kind == RequestKind::kAllocate) {
      phase += freed;
      freed = false;
      lives[request.block] = {phase, std::numeric_limits<uint64_t>::max(), request.bytes};
    } else if (request.kind == RequestKind::kFree) {
      freed = true;
      lives[request.block].end = phase + 1;
    }
  }
  for (LifeSpan& life : lives) life.end = std::min(life.end, phase + 1);
  std::erase_if(lives, [](const LifeSpan& life) { return life.size == 0; });
  ReplayBounds bounds;
  bounds.maximum_load = MaximumLoad(lives);
  bounds.static_packing = PackStatically(lives, budget).bytes;
  bounds.searched = lives.size() <= budget.most_searched;
  return bounds;
}

}  // namespace vramstow
