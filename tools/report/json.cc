#include "tools/report/json.h"
#include "tools/analysis/link.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "tools/report/json_explain.h"

namespace vramstow {
namespace {

using Json = nlohmann::ordered_json;

template <typename Number>
Json OrNull(const std::optional<Number>& number) {
  return number.has_value() ? Json(*number) : Json(nullptr);
}

Json Device(int device) { return device == kNoDevice ? Json(nullptr) : Json(device); }

Json Hex(uint64_t address) { return absl::StrFormat("0x%x", address); }

Json Fact(const Facts& facts, const char* key) {
  const auto fact = facts.facts.find(key);
  return fact == facts.facts.end() ? Json(nullptr) : Json(fact->second);
}

// A fact that is a number; as text where it is not.
Json NumberFact(const Facts& facts, const char* key) {
  const auto fact = facts.facts.find(key);
  if (fact == facts.facts.end()) return nullptr;
  int64_t number = 0;
  return absl::SimpleAtoi(fact->second, &number) ? Json(number) : Json(fact->second);
}

Json Process(const Facts& facts) {
  return {{"program", Fact(facts, "process.program")},
          {"command", Fact(facts, "process.command")},
          {"pid", NumberFact(facts, "process.pid")},
          {"parent", NumberFact(facts, "process.parent")},
          {"rank", OrNull(facts.rank)},
          {"local_rank", NumberFact(facts, "process.local_rank")},
          {"host", Fact(facts, "process.host")},
          {"start_time_unix_ns", NumberFact(facts, "process.start_time")},
          {"simulated", facts.simulated}};
}

Json Input(const Facts& facts) {
  const ReadReport& report = facts.report;
  const bool complete = report.damaged_chunks == 0 && report.damaged_bytes == 0 &&
                        report.missing_events == 0 && report.dropped_events == 0 &&
                        report.overwritten_events == 0 && report.closed;
  Json missing = Json::array();
  for (const std::string& sentence : facts.missing) missing.push_back(sentence);
  return {{"kind", facts.kind},
          {"file", facts.traces == 1 ? Json(facts.file) : Json(nullptr)},
          {"traces", facts.traces},
          {"events", report.events},
          {"duration_ns", facts.end_ns},
          {"complete", complete},
          {"report",
           {{"chunks", report.chunks},
            {"damaged_chunks", report.damaged_chunks},
            {"damaged_bytes", report.damaged_bytes},
            {"missing_events", report.missing_events},
            {"dropped_events", report.dropped_events},
            {"overwritten_events", report.overwritten_events},
            {"closed", report.closed}}},
          {"missing", std::move(missing)}};
}

Json CountsOf(const Counts& counts) {
  Json events = Json::object();
  for (size_t i = 0; i < counts.by_kind.size(); ++i) {
    if (counts.by_kind[i] == 0) continue;
    const char* name = EventKindName(static_cast<EventKind>(i));
    events[name] = events.value(name, uint64_t{0}) + counts.by_kind[i];
  }
  return {{"allocations", counts.allocations},
          {"frees", counts.frees},
          {"out_of_memory", counts.out_of_memory},
          {"failed_allocations", counts.failed_allocations},
          {"refused_frees", counts.refused_frees},
          {"frees_of_unseen", counts.frees_of_unseen},
          {"frees_missed", counts.frees_missed},
          {"freed_with_context", counts.freed_with_context},
          {"unmatched_refusals", counts.unmatched_refusals},
          {"other_layers", counts.other_layers},
          {"events_by_kind", std::move(events)}};
}

Json OffloadOf(const Facts& facts) {
  const OffloadFacts& offload = facts.offload;
  Json reasons = Json::object();
  for (size_t i = 0; i < facts.offload.by_reason.size(); ++i) {
    const auto reason = static_cast<OffloadReason>(i);
    const uint64_t bytes = facts.offload.by_reason[i];
    if (reason == OffloadReason::kTouched) continue;  // only to come back
    if (reason != OffloadReason::kUnknown || bytes > 0) reasons[OffloadReasonName(reason)] = bytes;
  }
  Json sites = Json::array();
  for (const OffloadSite& site : facts.offload.sites) {
    sites.push_back({{"site", site.site}, {"operation", site.operation}, {"bytes", site.bytes}});
  }
  return {{"out_bytes", offload.out_bytes},
          {"returned_bytes", offload.returned_bytes},
          {"gate_ns", offload.gate_ns},
          {"longest_gate_ns", offload.longest_gate_ns},
          {"most_bytes", facts.offload.most_bytes},
          {"link_ns", LinkNs(offload.out_bytes + offload.returned_bytes)},
          {"by_reason", std::move(reasons)},
          {"sites", std::move(sites)}};
}

Json BlockOf(const BlockFacts& block) {
  return {{"address", Hex(block.address)},
          {"bytes", block.size},
          {"requested_bytes", block.requested},
          {"time_ns", block.time_ns},
          {"kind", MemoryKindName(block.memory)},
          {"call", block.call},
          {"library", block.library},
          {"site", block.site.empty() ? Json(nullptr) : Json(block.site)},
          {"device", Device(block.device)}};
}

Json PeakOf(const Facts& facts) {
  const Peak& peak = facts.peak;
  const bool is_one = facts.traces == 1;
  Json blocks = Json::array();
  for (const BlockFacts& block : facts.largest_at_peak) blocks.push_back(BlockOf(block));
  return {{"allocated_bytes", peak.allocated_bytes},
          {"reserved_bytes", facts.reserved_known ? Json(peak.reserved_bytes) : Json(nullptr)},
          {"requested_bytes", peak.requested_bytes},
          {"reserved_then_bytes",
           facts.reserved_known ? Json(peak.reserved_then_bytes) : Json(nullptr)},
          {"requested_then_bytes", peak.requested_then_bytes},
          {"time_ns", is_one ? Json(peak.time_ns) : Json(nullptr)},
          {"sequence", is_one ? Json(peak.sequence) : Json(nullptr)},
          {"host_pinned_bytes", peak.host_bytes},
          {"host_registered_bytes", peak.registered_bytes},
          {"managed_bytes", peak.managed_bytes},
          {"imported_bytes", peak.imported_bytes},
          {"mapped_bytes", peak.mapped_bytes},
          {"address_range_bytes", peak.address_range_bytes},
          {"largest_block_bytes", facts.largest_block_bytes},
          {"blocks", std::move(blocks)}};
}

Json Tallies(const std::vector<TallyFacts>& tallies, const char* name, bool with_path) {
  Json list = Json::array();
  for (const TallyFacts& tally : tallies) {
    Json entry = {{name, tally.name}};
    if (with_path) entry["path"] = tally.path;
    entry.update({{"calls", tally.calls},
                  {"allocations", tally.allocations},
                  {"frees", tally.frees},
                  {"failed", tally.failed},
                  {"total_bytes", tally.total_bytes},
                  {"bytes_at_peak", tally.at_peak.bytes},
                  {"blocks_at_peak", tally.at_peak.blocks},
                  {"highest_bytes", tally.highest_bytes},
                  {"bytes_at_end", tally.at_end.bytes},
                  {"blocks_at_end", tally.at_end.blocks},
                  {"other_highest_bytes", tally.other_highest_bytes},
                  {"other_bytes_at_end", tally.other_at_end.bytes},
                  {"other_blocks_at_end", tally.other_at_end.blocks}});
    list.push_back(std::move(entry));
  }
  return list;
}

Json Devices(const std::vector<DeviceFacts>& devices) {
  Json list = Json::array();
  for (const DeviceFacts& device : devices) {
    const bool asked = device.lowest_free_bytes.has_value();
    list.push_back({{"device", Device(device.device)},
                    {"name", device.name},
                    {"total_bytes", OrNull(device.total_bytes)},
                    {"free_bytes_at_start", OrNull(device.free_bytes_at_start)},
                    {"peak_bytes", device.peak_bytes},
                    {"peak_reserved_bytes", device.peak_reserved_bytes},
                    {"reserved_bytes_at_end", device.end_reserved_bytes},
                    {"bytes_at_end", device.end_bytes},
                    {"out_of_memory", device.out_of_memory},
                    {"lowest_free_bytes", OrNull(device.lowest_free_bytes)},
                    {"lowest_free_time_ns", asked ? Json(device.lowest_free_time_ns) : nullptr}});
  }
  return list;
}

Json Histogram(const std::vector<HistogramRow>& rows) {
  Json list = Json::array();
  for (const HistogramRow& row : rows) {
    list.push_back({{"from_bytes", row.from_bytes},
                    {"to_bytes", row.to_bytes},
                    {"allocations", row.allocations},
                    {"total_bytes", row.total_bytes},
                    {"bytes_at_peak", row.at_peak.bytes},
                    {"blocks_at_peak", row.at_peak.blocks},
                    {"bytes_at_end", row.at_end.bytes},
                    {"blocks_at_end", row.at_end.blocks}});
  }
  return list;
}

template <typename Value>
Json Series(const TimelineFacts& timeline, Value value) {
  Json series = Json::array();
  for (const TimelinePoint& point : timeline.points) series.push_back(value(point));
  return series;
}

Json TimelineOf(const Facts& facts) {
  const TimelineFacts& timeline = facts.timeline;
  using Point = const TimelinePoint&;
  Json json = {
      {"interval_ns", timeline.interval_ns},
      {"allocated_bytes", Series(timeline, [](Point p) { return p.allocated_highest; })},
      {"reserved_bytes", facts.reserved_known
                             ? Series(timeline, [](Point p) { return p.reserved_highest; })
                             : Json(nullptr)},
      {"allocated_at_end_bytes", Series(timeline, [](Point p) { return p.allocated_last; })},
      {"requested_at_end_bytes", Series(timeline, [](Point p) { return p.requested_last; })},
      {"host_pinned_bytes", Series(timeline, [](Point p) { return p.host_highest; })},
      {"managed_bytes", Series(timeline, [](Point p) { return p.managed_highest; })}};
  if (!facts.fragmentation.any_ranges) return json;
  json["free_range_bytes"] = Series(timeline, [](Point p) { return p.ranges.free_bytes; });
  json["largest_free_range_bytes"] =
      Series(timeline, [](Point p) { return p.ranges.largest_bytes; });
  json["unusable_bytes"] = Series(timeline, [](Point p) { return p.ranges.unusable_bytes; });
  return json;
}

Json RangesOf(const FreeMemory& ranges, bool moves) {
  const double share =
      static_cast<double>(ranges.largest_bytes) / static_cast<double>(ranges.free_bytes);
  return {{"free_bytes", ranges.free_bytes},
          {"largest_free_range_bytes", ranges.largest_bytes},
          {"unusable_bytes", ranges.unusable_bytes},
          {"movable_bytes", moves ? Json(ranges.movable_bytes) : Json(nullptr)},
          {"largest_over_free", ranges.free_bytes == 0 ? Json(nullptr) : Json(share)}};
}

Json FragmentationOf(const Facts& facts) {
  const FragmentationFacts& fragmentation = facts.fragmentation;
  const Peak& peak = facts.peak;
  const double ratio =
      static_cast<double>(peak.reserved_bytes) / static_cast<double>(peak.allocated_bytes);
  Json json = {
      {"peak_reserved_over_allocated",
       peak.allocated_bytes == 0 || !facts.reserved_known ? Json(nullptr) : Json(ratio)},
      {"unusable_bytes_at_peak",
       fragmentation.any_ranges ? Json(fragmentation.at_peak.unusable_bytes) : Json(nullptr)},
      {"largest_request_bytes", fragmentation.largest_request_bytes},
      {"ranges_seen", fragmentation.any_ranges},
      {"in_pool", fragmentation.in_pool},
      {"rounding_bytes_at_peak",
       peak.allocated_bytes - std::min(peak.allocated_bytes, peak.requested_then_bytes)},
      {"pending_free_peak_bytes", OrNull(fragmentation.pending_peak_bytes)}};
  if (!fragmentation.any_ranges) return json;
  json["at_peak"] = RangesOf(fragmentation.at_peak, fragmentation.moves);
  json["worst"] = RangesOf(fragmentation.worst, fragmentation.moves);
  json["worst"]["time_ns"] = fragmentation.worst_time_ns;
  json["at_end"] = RangesOf(fragmentation.at_end, fragmentation.moves);
  if (!fragmentation.holes_known) return json;
  Json holes = Json::array();
  for (const HoleFacts& hole : fragmentation.holes) holes.push_back(HoleJson(hole));
  Json streams = Json::array();
  for (const FragmentationFacts::Stream& stream : fragmentation.streams) {
    const bool known = stream.stream != kUnknownStream;
    streams.push_back({{"stream", known ? Json(Hex(stream.stream)) : Json(nullptr)},
                       {"reserved_bytes", stream.reserved_bytes},
                       {"free_bytes", stream.free_bytes}});
  }
  json["streams"] = std::move(streams);
  json["hole_count"] = fragmentation.hole_count;
  json["holes"] = std::move(holes);
  return json;
}

const char* FreeFrom(FreeKnownFrom from) {
  switch (from) {
    case FreeKnownFrom::kStart:
      return "start";
    case FreeKnownFrom::kMemoryInfo:
      return "memory_info";
    case FreeKnownFrom::kNothing:
      break;
  }
  return "unknown";
}

void AddOutOfMemory(const Facts& facts, Json* list) {
  for (const OutOfMemoryFacts& failure : facts.out_of_memory) {
    const bool known = failure.free_from != FreeKnownFrom::kNothing;
    list->push_back(
        {{"time_ns", failure.time_ns},
         {"event", failure.event},
         {"sequence", failure.sequence},
         {"rank", OrNull(facts.rank)},
         {"device", Device(failure.device)},
         {"thread", failure.thread},
         {"kind", MemoryKindName(failure.memory)},
         {"call", failure.call},
         {"library", failure.library},
         {"site", failure.site.empty() ? Json(nullptr) : Json(failure.site)},
         {"operation", failure.operation.empty() ? Json(nullptr) : Json(failure.operation)},
         {"requested_bytes", failure.requested_bytes},
         {"allocated_bytes", failure.allocated_bytes},
         {"free_bytes", known ? Json(failure.free_bytes) : Json(nullptr)},
         {"free_known_from", FreeFrom(failure.free_from)},
         {"free_known_at_ns", known ? Json(failure.free_known_at_ns) : Json(nullptr)},
         {"largest_free_range_bytes", OrNull(failure.largest_free_range_bytes)}});
    if (!failure.has_pool) continue;
    list->back()["pool"] = {{"reserved_bytes", failure.reserved_bytes},
                            {"free_bytes", failure.pool_free_bytes},
                            {"free_ranges", failure.pool_free_ranges},
                            {"movable_bytes", OrNull(failure.pool_movable_bytes)},
                            {"pending_free_bytes", failure.pending_bytes},
                            {"largest_hole", HoleJson(failure.largest_hole)}};
  }
}

Json Leaks(const LiveFacts& live) {
  Json groups = Json::array();
  for (const BlockFacts& group : live.groups) {
    Json entry = BlockOf(group);
    entry["blocks"] = group.count;
    entry["total_bytes"] = group.size * group.count;
    groups.push_back(std::move(entry));
  }
  return {{"device_bytes", live.device.bytes}, {"device_blocks", live.device.blocks},
          {"other_bytes", live.other.bytes},   {"other_blocks", live.other.blocks},
          {"groups", std::move(groups)},       {"groups_left_out", live.groups_left_out}};
}

Json LaunchesOf(const LaunchesFacts& launches) {
  if (launches.launches == 0) return nullptr;
  const auto list = [](const std::vector<LaunchedFacts>& rows, const char* key) {
    Json json = Json::array();
    for (const LaunchedFacts& row : rows) {
      json.push_back({{key, row.name}, {"launches", row.launches}});
    }
    return json;
  };
  return {{"launches", launches.launches},
          {"sampled", launches.sampled},
          {"by_kernel", list(launches.by_kernel, "kernel")},
          {"by_range", list(launches.by_range, "range")}};
}

// All of one trace, or of the total. `failures_of`: whose out-of-memory events are listed.
Json FactsOf(const Facts& facts, const std::vector<const Facts*>& failures_of) {
  Json failures = Json::array();
  for (const Facts* trace : failures_of) AddOutOfMemory(*trace, &failures);
  Json json = {{"input", Input(facts)},
               {"process", Process(facts)},
               {"facts", facts.facts},
               {"counts", CountsOf(facts.counts)},
               {"offload", OffloadOf(facts)},
               {"launches", LaunchesOf(facts.launches)},
               {"peak", PeakOf(facts)},
               {"by_library", Tallies(facts.by_library, "library", true)},
               {"by_kind", Tallies(facts.by_kind, "kind", false)},
               {"by_call", Tallies(facts.by_call, "call", false)},
               {"histogram", Histogram(facts.histogram)},
               {"out_of_memory", std::move(failures)},
               {"leaks", Leaks(facts.live)}};
  if (facts.traces > 1) return json;
  json["devices"] = Devices(facts.devices);
  json["timeline"] = TimelineOf(facts);
  json["fragmentation"] = FragmentationOf(facts);
  AddExplained(facts, &json);
  return json;
}

Json ComparisonOf(const std::optional<RankComparison>& comparison) {
  if (!comparison.has_value()) return nullptr;
  Json figures = Json::object();
  for (const RankFigure& figure : comparison->figures) {
    figures[figure.name] = {{"median", figure.median},
                            {"least", figure.least},
                            {"least_rank", figure.least_rank},
                            {"most", figure.most},
                            {"most_rank", figure.most_rank}};
  }
  Json sites = Json::array();
  for (const RankSite& site : comparison->sites) {
    sites.push_back({{"site", site.site},
                     {"operation", site.operation},
                     {"bytes_at_peak", site.bytes_at_peak},
                     {"median_bytes_at_peak", site.median_bytes_at_peak}});
  }
  return {{"ranks", comparison->ranks},
          {"balanced", comparison->balanced},
          {"straggler",
           {{"rank", comparison->straggler},
            {"host", comparison->host},
            {"over_median_bytes", comparison->over_median_bytes},
            {"sites", std::move(sites)}}},
          {"figures", std::move(figures)}};
}

}  // namespace

std::string JsonText(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string JsonReport(const FactSet& set) {
  Json json = {{"schema", {{"name", kSchemaName}, {"version", kSchemaVersion}}}};
  std::vector<const Facts*> all;
  all.reserve(set.traces.size());
  Json ranks = Json::array();
  for (const Facts& trace : set.traces) {
    all.push_back(&trace);
    ranks.push_back(FactsOf(trace, {&trace}));
  }
  json.update(FactsOf(set.total, all));
  json["rank_comparison"] = ComparisonOf(set.comparison);
  json["ranks"] = std::move(ranks);
  Json left_out = Json::array();
  for (const std::string& sentence : set.left_out) left_out.push_back(sentence);
  json["left_out"] = std::move(left_out);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace vramstow
