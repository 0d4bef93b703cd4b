#include "tools/report/json_explain.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_format.h"

namespace vramstow {
namespace {

using Json = nlohmann::ordered_json;

Json Hex(uint64_t address) { return absl::StrFormat("0x%x", address); }

Json AmountJson(const Amount& amount) {
  return {{"bytes", amount.bytes}, {"blocks", amount.blocks}};
}

Json CategoriesJson(const Facts& facts) {
  Json list = Json::array();
  for (const CategoryFacts& category : facts.by_category) {
    list.push_back({{"category", category.name},
                    {"bytes_at_peak", category.at_peak.bytes},
                    {"blocks_at_peak", category.at_peak.blocks},
                    {"evidence", category.evidence}});
  }
  return list;
}

Json SnapshotJson(const Facts& facts) {
  if (!facts.snapshot.has_value()) return nullptr;
  const SnapshotStateFacts& state = *facts.snapshot;
  Json pools = Json::array();
  for (const SnapshotStateFacts::Pool& pool : state.pools) {
    pools.push_back({{"device", pool.device},
                     {"pool", pool.id},
                     {"stream", Hex(pool.stream)},
                     {"segments", pool.segments},
                     {"reserved_bytes", pool.reserved_bytes},
                     {"allocated_bytes", pool.allocated_bytes},
                     {"largest_free_bytes", pool.largest_free_bytes}});
  }
  return {{"segments", state.segments},
          {"blocks", state.blocks},
          {"reserved_bytes", state.reserved_bytes},
          {"allocated_bytes", state.allocated_bytes},
          {"requested_bytes", state.requested_bytes},
          {"pending_free_bytes", state.pending_bytes},
          {"allocated_blocks", state.allocated_blocks},
          {"pending_free_blocks", state.pending_blocks},
          {"inactive_blocks", state.inactive_blocks},
          {"pools", std::move(pools)}};
}

Json IterationsJson(const IterationsFacts& iterations) {
  Json list = Json::array();
  for (const IterationFacts& iteration : iterations.list) {
    list.push_back({{"begin_ns", iteration.begin_ns},
                    {"end_ns", iteration.end_ns},
                    {"begin_event", iteration.begin_event},
                    {"end_event", iteration.end_event},
                    {"peak_bytes", iteration.peak_bytes},
                    {"peak_reserved_bytes", iteration.peak_reserved_bytes},
                    {"begin_bytes", iteration.begin_bytes},
                    {"end_bytes", iteration.end_bytes},
                    {"allocations", iteration.allocations},
                    {"allocated_bytes", iteration.allocated_bytes},
                    {"kept_bytes", iteration.kept_bytes},
                    {"launches", iteration.launches}});
  }
  return list;
}

Json FoundJson(const IterationsFacts& iterations) {
  return {{"by", iterations.found_by},
          {"mark", iterations.mark.empty() ? Json(nullptr) : Json(iterations.mark)},
          {"why_not", iterations.why_not.empty() ? Json(nullptr) : Json(iterations.why_not)},
          {"count", iterations.count},
          {"exact", iterations.exact},
          {"growth_bytes", iterations.growth_bytes}};
}

Json LifetimesJson(const LifetimeFacts& lifetimes) {
  if (!lifetimes.known) return nullptr;
  Json growing = Json::array();
  for (const GrowthFacts& growth : lifetimes.growing) {
    growing.push_back({{"site", growth.site},
                       {"operation", growth.operation},
                       {"bytes_per_iteration", growth.bytes_per_iteration},
                       {"iterations", growth.iterations},
                       {"blocks", growth.blocks},
                       {"bytes", growth.bytes}});
  }
  return {{"within_an_iteration", AmountJson(lifetimes.within)},
          {"across_iterations", AmountJson(lifetimes.across)},
          {"persistent", AmountJson(lifetimes.persistent)},
          {"before_the_first", AmountJson(lifetimes.before)},
          {"startup_peak_bytes", lifetimes.startup_peak_bytes},
          {"startup", SitesJson(lifetimes.startup)},
          {"growing", std::move(growing)}};
}

Json ChurnJson(const ChurnFacts& churn) {
  Json sites = Json::array();
  for (const ChurnSite& site : churn.sites) {
    sites.push_back({{"site", site.site},
                     {"operation", site.operation},
                     {"pairs", site.pairs},
                     {"bytes", site.bytes}});
  }
  return {{"pairs", churn.pairs}, {"bytes", churn.pair_bytes}, {"sites", std::move(sites)}};
}

Json CacheJson(const CacheFacts& cache) {
  if (!cache.known) return nullptr;
  const auto step = [&cache](uint64_t value) {
    return cache.tells_steps ? Json(value) : Json(nullptr);
  };
  Json flushes = Json::array();
  for (const FlushFacts& flush : cache.flushes) {
    flushes.push_back({{"time_ns", flush.time_ns},
                       {"duration_ns", flush.duration_ns},
                       {"by", flush.by},
                       {"segments", flush.segments},
                       {"bytes", flush.bytes},
                       {"taken_again_bytes", flush.taken_again_bytes}});
  }
  return {
      {"segments_taken", cache.segments_taken}, {"segments_given_back", cache.segments_given_back},
      {"taken_bytes", cache.taken_bytes},       {"given_back_bytes", cache.given_back_bytes},
      {"flush_count", cache.flush_count},       {"empty_cache_calls", cache.empty_cache_calls},
      {"misses", step(cache.misses)},           {"stitches", step(cache.stitches)},
      {"fence_waits", step(cache.fence_waits)}, {"fence_wait_ns", step(cache.fence_wait_ns)},
      {"flushes", std::move(flushes)}};
}

Json HostJson(const Facts& facts) {
  const HostFacts& host = facts.host;
  if (host.looks == 0 && facts.peak.host_bytes == 0) return nullptr;
  const auto seen = [&host](const auto& value) {
    return host.looks == 0 ? Json(nullptr) : Json(value);
  };
  return {{"looks", host.looks},
          {"highest_resident_bytes", seen(host.highest_resident_bytes)},
          {"highest_resident_time_ns", seen(host.highest_resident_time_ns)},
          {"least_free_bytes", seen(host.least_free_bytes)},
          {"least_free_time_ns", seen(host.least_free_time_ns)},
          {"limit_bytes", seen(host.limit_bytes)},
          {"limit_of", seen(host.is_of_group ? "control_group" : "machine")},
          {"pinned_bytes", facts.peak.host_bytes},
          {"pinned_rounding_bytes", host.pinned_rounding_bytes}};
}

Json BeforePeakJson(const BeforePeakFacts& before) {
  if (!before.known) return nullptr;
  Json changes = Json::array();
  for (const ChangeFacts& change : before.changes) {
    changes.push_back({{"site", change.site},
                       {"operation", change.operation},
                       {"bytes", change.bytes},
                       {"allocations", change.allocations}});
  }
  return {{"from_ns", before.from_ns},
          {"from_bytes", before.from_bytes},
          {"changes", std::move(changes)}};
}

Json AdviceJson(const std::vector<AdviceFacts>& advice) {
  Json list = Json::array();
  for (const AdviceFacts& one : advice) {
    list.push_back({{"id", one.id},
                    {"title", one.title},
                    {"bytes", one.bytes},
                    {"evidence", one.evidence},
                    {"cost", one.cost},
                    {"action", one.action}});
  }
  return list;
}

}  // namespace

Json SitesJson(const std::vector<SiteFacts>& sites, const char* name) {
  Json list = Json::array();
  for (const SiteFacts& site : sites) {
    list.push_back({{name, site.site},
                    {"operation", site.operation},
                    {"allocations", site.allocations},
                    {"total_bytes", site.total_bytes},
                    {"bytes_at_peak", site.at_peak.bytes},
                    {"blocks_at_peak", site.at_peak.blocks},
                    {"bytes_at_end", site.at_end.bytes},
                    {"blocks_at_end", site.at_end.blocks}});
  }
  return list;
}

Json HoleJson(const HoleFacts& hole) {
  const auto neighbour = [](const std::string& site, uint64_t bytes) {
    return bytes == 0 ? Json(nullptr) : Json{{"site", site}, {"bytes", bytes}};
  };
  return {{"address", Hex(hole.address)},
          {"bytes", hole.size},
          {"segment", Hex(hole.segment)},
          {"segment_bytes", hole.segment_size},
          {"before", neighbour(hole.before, hole.before_bytes)},
          {"after", neighbour(hole.after, hole.after_bytes)}};
}

void AddExplained(const Facts& facts, Json* json) {
  (*json)["by_site"] = SitesJson(facts.by_site);
  (*json)["by_operation"] = SitesJson(facts.by_operation);
  (*json)["by_module"] = SitesJson(facts.by_module, "module");
  (*json)["by_category"] = CategoriesJson(facts);
  (*json)["snapshot"] = SnapshotJson(facts);
  (*json)["iterations"] = IterationsJson(facts.iterations);
  (*json)["iterations_found"] = FoundJson(facts.iterations);
  (*json)["lifetimes"] = LifetimesJson(facts.lifetimes);
  (*json)["host"] = HostJson(facts);
  (*json)["churn"] = ChurnJson(facts.churn);
  (*json)["cache"] = CacheJson(facts.cache);
  (*json)["before_peak"] = BeforePeakJson(facts.before_peak);
  (*json)["advice"] = AdviceJson(facts.advice);
}

}  // namespace vramstow
