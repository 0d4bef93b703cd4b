#include "tools/jobs/gpu_use.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tools/analysis/facts/named_facts.h"

namespace vramstow {
namespace {

// The use of a GPU by one process.
struct Share {
  size_t trace = 0;
  uint64_t reserved_bytes = 0;
  std::optional<uint64_t> taken_at_start;  // with its own context
  uint64_t begin_ns = 0;
  uint64_t end_ns = 0;  // it lived at least until then
};

struct SharedGpu {
  std::string name;
  uint64_t total_bytes = 0;
  std::optional<uint64_t> context_bytes;  // of one process
  std::vector<Share> shares;
};

bool IsUsed(const DeviceFacts& device) {
  return device.total_bytes.has_value() &&
         (device.free_bytes_at_start.has_value() || device.peak_reserved_bytes > 0);
}

// Returns a name for the GPU that is the same in all processes that use it.
std::string KeyOf(const Facts& facts, const DeviceFacts& device) {
  const std::string uuid =
      FactText(facts.trace_metadata, absl::StrCat("device.", device.device, ".uuid"));
  return absl::StrCat(FactText(facts.trace_metadata, "process.host"), "/",
                      uuid.empty() ? absl::StrCat(device.device) : uuid);
}

void AddShare(const Facts& facts, const DeviceFacts& device, Share share, SharedGpu* gpu) {
  const uint64_t total = *device.total_bytes;
  gpu->name = device.name;
  gpu->total_bytes = std::max(gpu->total_bytes, total);
  if (device.free_bytes_at_start.has_value()) {
    const uint64_t taken = total - std::min(total, *device.free_bytes_at_start);
    // The process that began first found only its own context.
    gpu->context_bytes = std::min(gpu->context_bytes.value_or(taken), taken);
    share.taken_at_start = taken;
  }
  share.reserved_bytes = device.peak_reserved_bytes;
  share.end_ns =
      share.begin_ns == 0 ? std::numeric_limits<uint64_t>::max() : share.begin_ns + facts.end_ns;
  gpu->shares.push_back(share);
}

// A process may hold memory for long after its last event. If a later one found more taken than a
// context, it is assumed that all earlier ones still lived then.
void ExtendLives(SharedGpu* gpu) {
  const uint64_t context = gpu->context_bytes.value_or(0);
  for (const Share& later : gpu->shares) {
    if (later.taken_at_start.value_or(0) < context + context / 2 + 1) continue;
    for (Share& share : gpu->shares) {
      if (share.begin_ns <= later.begin_ns) share.end_ns = std::max(share.end_ns, later.begin_ns);
    }
  }
}

GpuUse UseOf(SharedGpu gpu) {
  ExtendLives(&gpu);
  GpuUse use{.name = std::move(gpu.name), .total_bytes = gpu.total_bytes, .traces = {}};
  // The number of processes is highest at a moment at which one of them begins.
  for (const Share& moment : gpu.shares) {
    GpuUse then;
    for (const Share& share : gpu.shares) {
      if (share.begin_ns > moment.begin_ns || moment.begin_ns > share.end_ns) continue;
      ++then.processes;
      then.reserved_bytes += share.reserved_bytes;
      then.context_bytes += gpu.context_bytes.value_or(0);
    }
    use.processes = std::max(use.processes, then.processes);
    if (then.taken_bytes() < use.taken_bytes()) continue;
    use.reserved_bytes = then.reserved_bytes;
    use.context_bytes = then.context_bytes;
  }
  std::ranges::stable_sort(gpu.shares, std::ranges::greater(), &Share::reserved_bytes);
  for (const Share& share : gpu.shares) use.traces.push_back(share.trace);
  return use;
}

}  // namespace

std::vector<GpuUse> GpusUsedBy(const std::vector<Facts>& traces,
                               const std::vector<uint64_t>& starts) {
  std::map<std::string, SharedGpu> gpus;
  for (size_t i = 0; i < traces.size(); ++i) {
    for (const DeviceFacts& device : traces[i].devices) {
      if (!IsUsed(device)) continue;
      Share share;
      share.trace = i;
      share.begin_ns = starts[i];
      AddShare(traces[i], device, share, &gpus[KeyOf(traces[i], device)]);
    }
  }
  std::vector<GpuUse> uses;
  for (auto& [key, gpu] : gpus) uses.push_back(UseOf(std::move(gpu)));
  std::ranges::stable_sort(uses, std::ranges::greater(), &GpuUse::taken_bytes);
  return uses;
}

}  // namespace vramstow
