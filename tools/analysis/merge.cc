#include "tools/analysis/merge.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "tools/analysis/compare_ranks.h"

namespace vramstow {
namespace {

void Add(const Amount& from, Amount* to) {
  to->bytes += from.bytes;
  to->blocks += from.blocks;
}

void Add(const Counts& from, Counts* to) {
  to->allocations += from.allocations;
  to->frees += from.frees;
  to->out_of_memory += from.out_of_memory;
  to->failed_allocations += from.failed_allocations;
  to->refused_frees += from.refused_frees;
  to->frees_of_unseen += from.frees_of_unseen;
  to->frees_missed += from.frees_missed;
  to->freed_with_context += from.freed_with_context;
  to->unmatched_refusals += from.unmatched_refusals;
  to->other_layers += from.other_layers;
  for (size_t i = 0; i < from.by_kind.size(); ++i) to->by_kind[i] += from.by_kind[i];
}

void Add(const OffloadFacts& from, OffloadFacts* to) {
  to->out_bytes += from.out_bytes;
  to->returned_bytes += from.returned_bytes;
  to->gate_ns += from.gate_ns;
  to->longest_gate_ns = std::max(to->longest_gate_ns, from.longest_gate_ns);
  to->most_bytes += from.most_bytes;
  to->left_out += from.left_out;
  for (size_t i = 0; i < from.by_reason.size(); ++i) to->by_reason[i] += from.by_reason[i];
}

void Add(const Peak& from, Peak* to) {
  to->allocated_bytes += from.allocated_bytes;
  to->reserved_then_bytes += from.reserved_then_bytes;
  to->requested_then_bytes += from.requested_then_bytes;
  to->reserved_bytes += from.reserved_bytes;
  to->requested_bytes += from.requested_bytes;
  to->host_bytes += from.host_bytes;
  to->registered_bytes += from.registered_bytes;
  to->managed_bytes += from.managed_bytes;
  to->imported_bytes += from.imported_bytes;
  to->mapped_bytes += from.mapped_bytes;
  to->address_range_bytes += from.address_range_bytes;
}

void Add(const ReadReport& from, ReadReport* to) {
  to->events += from.events;
  to->chunks += from.chunks;
  to->damaged_chunks += from.damaged_chunks;
  to->damaged_bytes += from.damaged_bytes;
  to->missing_events += from.missing_events;
  to->dropped_events += from.dropped_events;
  to->overwritten_events += from.overwritten_events;
  to->closed = to->closed && from.closed;
}

void Add(const std::vector<TallyFacts>& from, std::vector<TallyFacts>* to) {
  for (const TallyFacts& tally : from) {
    auto known = std::find_if(to->begin(), to->end(), [&tally](const TallyFacts& other) {
      return other.name == tally.name && other.path == tally.path;
    });
    if (known == to->end()) {
      to->push_back(tally);
      continue;
    }
    known->calls += tally.calls;
    known->allocations += tally.allocations;
    known->frees += tally.frees;
    known->failed += tally.failed;
    known->total_bytes += tally.total_bytes;
    Add(tally.at_peak, &known->at_peak);
    Add(tally.at_end, &known->at_end);
    known->highest_bytes += tally.highest_bytes;
    Add(tally.other_at_end, &known->other_at_end);
    known->other_highest_bytes += tally.other_highest_bytes;
  }
  std::stable_sort(to->begin(), to->end(), [](const TallyFacts& a, const TallyFacts& b) {
    return std::tie(b.at_peak.bytes, b.total_bytes, b.calls) <
           std::tie(a.at_peak.bytes, a.total_bytes, a.calls);
  });
}

void Add(const std::vector<HistogramRow>& from, std::vector<HistogramRow>* to) {
  for (const HistogramRow& row : from) {
    auto place = std::lower_bound(
        to->begin(), to->end(), row.from_bytes,
        [](const HistogramRow& other, uint64_t bytes) { return other.from_bytes < bytes; });
    if (place == to->end() || place->from_bytes != row.from_bytes) {
      to->insert(place, row);
      continue;
    }
    place->allocations += row.allocations;
    place->total_bytes += row.total_bytes;
    Add(row.at_peak, &place->at_peak);
    Add(row.at_end, &place->at_end);
  }
}

void Add(const LiveFacts& from, LiveFacts* to) {
  Add(from.device, &to->device);
  Add(from.other, &to->other);
  for (const BlockFacts& group : from.groups) {
    auto known = std::find_if(to->groups.begin(), to->groups.end(), [&](const BlockFacts& other) {
      return std::tie(other.site, other.library, other.call, other.memory, other.size) ==
             std::tie(group.site, group.library, group.call, group.memory, group.size);
    });
    if (known == to->groups.end()) {
      to->groups.push_back(group);
    } else {
      known->count += group.count;
      known->time_ns = std::min(known->time_ns, group.time_ns);
      // As a rule each rank has a card of its own, and what it keeps is the same.
      if (known->device != group.device) known->device = kNoDevice;
    }
  }
  to->groups_left_out += from.groups_left_out;
  std::stable_sort(
      to->groups.begin(), to->groups.end(),
      [](const BlockFacts& a, const BlockFacts& b) { return a.size * a.count > b.size * b.count; });
  if (to->groups.size() > kMostLiveGroups) {
    to->groups_left_out += to->groups.size() - kMostLiveGroups;
    to->groups.resize(kMostLiveGroups);
  }
}

// Facts that all have in common; the others are each trace's own.
void Intersect(const std::map<std::string, std::string>& with,
               std::map<std::string, std::string>* facts) {
  std::erase_if(*facts, [&with](const auto& fact) {
    const auto other = with.find(fact.first);
    return other == with.end() || other->second != fact.second;
  });
}

// What has no meaning for several.
void ClearOwn(Facts* total) {
  total->missing.clear();
  total->by_site.clear();
  total->by_operation.clear();
  total->by_module.clear();
  total->by_category.clear();
  total->snapshot.reset();
  total->iterations = {};
  total->lifetimes = {};
  total->churn = {};
  total->cache = {};
  total->host = {};
  total->before_peak = {};
  total->advice.clear();
}

void Add(const std::vector<LaunchedFacts>& from, std::vector<LaunchedFacts>* to) {
  for (const LaunchedFacts& row : from) {
    const auto same = std::find_if(to->begin(), to->end(), [&row](const LaunchedFacts& other) {
      return other.name == row.name;
    });
    if (same != to->end()) {
      same->launches += row.launches;
    } else {
      to->push_back(row);
    }
  }
  std::stable_sort(to->begin(), to->end(), [](const LaunchedFacts& a, const LaunchedFacts& b) {
    return a.launches > b.launches;
  });
  if (to->size() > kMostLaunched) to->resize(kMostLaunched);
}

void Add(const LaunchesFacts& from, LaunchesFacts* to) {
  to->launches += from.launches;
  to->sampled = to->sampled || from.sampled;
  Add(from.by_kernel, &to->by_kernel);
  Add(from.by_range, &to->by_range);
}

void AddTrace(const Facts& trace, Facts* total) {
  if (trace.kind != total->kind) total->kind = "several";
  total->reserved_known = total->reserved_known && trace.reserved_known;
  total->simulated = total->simulated && trace.simulated;
  total->end_ns = std::max(total->end_ns, trace.end_ns);
  total->largest_block_bytes = std::max(total->largest_block_bytes, trace.largest_block_bytes);
  Intersect(trace.facts, &total->facts);
  Add(trace.report, &total->report);
  Add(trace.counts, &total->counts);
  Add(trace.offload, &total->offload);
  Add(trace.launches, &total->launches);
  Add(trace.peak, &total->peak);
  Add(trace.by_library, &total->by_library);
  Add(trace.by_kind, &total->by_kind);
  Add(trace.by_call, &total->by_call);
  Add(trace.histogram, &total->histogram);
  Add(trace.live, &total->live);
}

}  // namespace

FactSet MergeTraces(std::vector<Facts> traces) {
  std::stable_sort(traces.begin(), traces.end(), [](const Facts& a, const Facts& b) {
    constexpr int64_t kLast = std::numeric_limits<int64_t>::max();
    return a.rank.value_or(kLast) < b.rank.value_or(kLast);
  });
  FactSet set;
  set.total = traces.front();
  if (traces.size() > 1) {
    set.total.file.clear();
    set.total.rank.reset();
    set.total.peak.time_ns = 0;
    set.total.peak.sequence = 0;
    set.total.devices.clear();
    set.total.out_of_memory.clear();
    set.total.largest_at_peak.clear();
    set.total.timeline = {};
    set.total.fragmentation = {};
    ClearOwn(&set.total);
    set.total.traces = traces.size();
    for (size_t i = 1; i < traces.size(); ++i) AddTrace(traces[i], &set.total);
  }
  set.comparison = CompareRanks(traces);
  set.traces = std::move(traces);
  return set;
}

}  // namespace vramstow
