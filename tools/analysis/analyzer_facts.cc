// The end of the analysis: from what the analyzer has counted to facts with names.
#include <algorithm>
#include <array>
#include <charconv>
#include <tuple>

#include "tools/analysis/analyzer.h"
#include "tools/analysis/event_pipe.h"
#include "tools/analysis/library_name.h"

namespace vramstow {
namespace {

TallyFacts FactsOf(const Tally& tally, uint64_t epoch) {
  TallyFacts facts;
  facts.calls = tally.calls;
  facts.allocations = tally.allocations;
  facts.frees = tally.frees;
  facts.failed = tally.failed;
  facts.total_bytes = tally.total_bytes;
  facts.at_peak = tally.device.AtPeak(epoch);
  facts.at_end = tally.device.now();
  facts.highest_bytes = tally.device.highest_bytes();
  facts.other_at_end = tally.other.now();
  facts.other_highest_bytes = tally.other.highest_bytes();
  return facts;
}

bool IsUntouched(const Tally& tally) { return tally.calls == 0 && tally.allocations == 0; }

// Who held most at the peak first, then who allocated most.
bool ComesFirst(const TallyFacts& a, const TallyFacts& b) {
  return std::tie(b.at_peak.bytes, b.highest_bytes, b.total_bytes, b.calls, a.name, a.path) <
         std::tie(a.at_peak.bytes, a.highest_bytes, a.total_bytes, a.calls, b.name, b.path);
}

BlockFacts FactsOf(const LiveBlock& block, const EventSource& source) {
  BlockFacts facts;
  facts.address = block.address;
  facts.size = block.size;
  facts.requested = block.requested;
  facts.time_ns = block.time_ns;
  facts.device = block.device;
  facts.memory = block.memory;
  facts.call = source.CallName(block.call);
  facts.library = LibraryName(source.LibraryPath(block.library));
  facts.site_number = block.site;
  return facts;
}

template <typename Number>
std::optional<Number> NumberFact(const std::map<std::string, std::string>& facts,
                                 const std::string& key) {
  const auto fact = facts.find(key);
  if (fact == facts.end()) return std::nullopt;
  Number number = 0;
  const char* end = fact->second.data() + fact->second.size();
  const auto [stop, error] = std::from_chars(fact->second.data(), end, number);
  if (error != std::errc() || stop != end) return std::nullopt;
  return number;
}

}  // namespace

void Analyzer::ForEachLive(const std::function<void(const LiveBlock&)>& visit) const {
  for (const BlockTable* table : {&addresses_, &arrays_, &registered_, &blocks_}) {
    table->ForEach(visit);
  }
  physical_.ForEach([&visit](const LiveBlock& block) {
    if (!block.imported) visit(block);
  });
}

Analysis Analyzer::Finish(const EventSource& source) {
  KeepPeakFragmentation();
  EndFlush();
  Analysis analysis;
  Facts& facts = analysis.facts;
  facts.end_ns = now_ns_;
  facts.counts = counts_;
  facts.peak = levels_.peak();
  facts.peak.mapped_bytes = address_space_.highest_mapped_bytes();
  facts.peak.address_range_bytes = address_space_.highest_reserved_bytes();
  facts.largest_block_bytes = levels_.largest_block();
  facts.timeline = timeline_.Finish(State());
  FillTallies(source, &facts);
  FillHistogram(&facts);
  FillDevices(source, &facts);
  FillPeakBlocks(source, &facts);
  FillLive(source, &facts);
  FillFragmentation(&facts);
  for (const OutOfMemory& failure : out_of_memory_) {
    facts.out_of_memory.push_back(failure.facts);
    facts.out_of_memory.back().call = source.CallName(failure.call);
    facts.out_of_memory.back().library = LibraryName(source.LibraryPath(failure.library));
  }
  FillSites(source, &analysis.detail);
  FillLives(&analysis.detail);
  FillLayers(analysis.detail, &facts);
  return analysis;
}

void Analyzer::FillTallies(const EventSource& source, Facts* facts) const {
  const uint64_t epoch = levels_.epoch();
  for (size_t i = 0; i < levels_.libraries().size(); ++i) {
    if (IsUntouched(levels_.libraries()[i])) continue;
    TallyFacts tally = FactsOf(levels_.libraries()[i], epoch);
    tally.path = source.LibraryPath(static_cast<uint16_t>(i));
    tally.name = LibraryName(tally.path);
    facts->by_library.push_back(std::move(tally));
  }
  for (size_t i = 0; i < levels_.calls().size(); ++i) {
    if (IsUntouched(levels_.calls()[i])) continue;
    TallyFacts tally = FactsOf(levels_.calls()[i], epoch);
    tally.name = source.CallName(static_cast<uint16_t>(i));
    facts->by_call.push_back(std::move(tally));
  }
  for (size_t i = 0; i < levels_.kinds().size(); ++i) {
    if (IsUntouched(levels_.kinds()[i])) continue;
    TallyFacts tally = FactsOf(levels_.kinds()[i], epoch);
    tally.name = MemoryKindName(static_cast<MemoryKind>(i));
    facts->by_kind.push_back(std::move(tally));
  }
  for (auto* tallies : {&facts->by_library, &facts->by_call, &facts->by_kind}) {
    std::sort(tallies->begin(), tallies->end(), ComesFirst);
  }
}

void Analyzer::FillHistogram(Facts* facts) const {
  for (size_t bits = 0; bits < levels_.sizes().size(); ++bits) {
    const SizeClass& size_class = levels_.sizes()[bits];
    if (size_class.allocations == 0) continue;
    HistogramRow row;
    row.from_bytes = bits == 0 ? 0 : uint64_t{1} << (bits - 1);
    row.to_bytes = bits == 0 ? 0 : row.from_bytes + (row.from_bytes - 1);
    row.allocations = size_class.allocations;
    row.total_bytes = size_class.total_bytes;
    row.at_peak = size_class.level.AtPeak(levels_.epoch());
    row.at_end = size_class.level.now();
    facts->histogram.push_back(row);
  }
}

void Analyzer::FillDevices(const EventSource& source, Facts* facts) const {
  for (size_t i = 0; i < levels_.devices().size(); ++i) {
    const DeviceLevel& level = levels_.devices()[i];
    if (!level.seen) continue;
    DeviceFacts device;
    device.device = static_cast<int>(i) - 1;
    const std::string prefix = "device." + std::to_string(device.device) + ".";
    const auto name = source.facts().find(prefix + "name");
    if (name != source.facts().end()) device.name = name->second;
    device.total_bytes = NumberFact<uint64_t>(source.facts(), prefix + "total_bytes");
    device.free_bytes_at_start =
        NumberFact<uint64_t>(source.facts(), prefix + "free_bytes_at_start");
    device.peak_bytes = level.highest;
    device.peak_reserved_bytes = level.highest_reserved;
    device.end_bytes = level.allocated;
    device.end_reserved_bytes = level.reserved;
    device.out_of_memory = level.out_of_memory;
    device.lowest_free_bytes = level.lowest_free;
    device.lowest_free_time_ns = level.lowest_free_time_ns;
    facts->devices.push_back(std::move(device));
  }
}

void Analyzer::FillPeakBlocks(const EventSource& source, Facts* facts) const {
  PeakBlocks largest = levels_.peak_blocks();
  ForEachLive([this, &largest](const LiveBlock& block) {
    if (IsDeviceMemory(block.memory) && block.birth <= levels_.peak_event() &&
        !largest.Contains(block.birth)) {
      largest.Offer(block);
    }
  });
  for (const LiveBlock& block : largest.Sorted()) {
    if (facts->largest_at_peak.size() == kMostBlocksAtPeak) break;
    facts->largest_at_peak.push_back(FactsOf(block, source));
  }
}

void Analyzer::FillLive(const EventSource& source, Facts* facts) const {
  using Alike = std::tuple<uint32_t, uint16_t, uint16_t, MemoryKind, int16_t, uint64_t>;
  struct Group {
    LiveBlock first;  // so that the same trace gives the same text
    uint64_t count = 0;
  };
  absl::flat_hash_map<Alike, Group> groups;
  ForEachLive([&](const LiveBlock& block) {
    Amount& amount = IsDeviceMemory(block.memory) ? facts->live.device : facts->live.other;
    amount.bytes += block.size;
    ++amount.blocks;
    Group& group = groups[Alike(block.site, block.library, block.call, block.memory, block.device,
                                block.size)];
    if (group.count++ == 0 || block.birth < group.first.birth) group.first = block;
  });
  std::vector<Group> sorted;
  sorted.reserve(groups.size());
  for (const auto& [key, group] : groups) sorted.push_back(group);
  const size_t told = std::min(sorted.size(), kMostLiveGroups);
  std::partial_sort(sorted.begin(), sorted.begin() + static_cast<ptrdiff_t>(told), sorted.end(),
                    [](const Group& a, const Group& b) {
                      const uint64_t bytes_a = a.first.size * a.count;
                      const uint64_t bytes_b = b.first.size * b.count;
                      return bytes_a != bytes_b ? bytes_a > bytes_b : a.first.birth < b.first.birth;
                    });
  for (size_t i = 0; i < told; ++i) {
    facts->live.groups.push_back(FactsOf(sorted[i].first, source));
    facts->live.groups.back().count = sorted[i].count;
  }
  facts->live.groups_left_out = sorted.size() - told;
}

void Analyzer::FillFragmentation(Facts* facts) const {
  FragmentationFacts& fragmentation = facts->fragmentation;
  fragmentation.in_pool = pool_space_.any();
  fragmentation.moves = pool_space_.moves();
  fragmentation.any_ranges = fragmentation.in_pool || address_space_.any_ranges();
  if (tells_free_completed_) fragmentation.pending_peak_bytes = pending_peak_bytes_;
  fragmentation.largest_request_bytes = largest_request_;
  fragmentation.at_peak = peak_ranges_;
  fragmentation.at_end = FreeNow();
  fragmentation.worst = worst_ranges_;
  fragmentation.worst_time_ns = worst_ranges_time_ns_;
  if (fragmentation.at_end.unusable_bytes >= fragmentation.worst.unusable_bytes) {
    fragmentation.worst = fragmentation.at_end;
    fragmentation.worst_time_ns = now_ns_;
  }
}

Analysis AnalyzeInDetail(EventSource* source, const std::string& file) {
  Analyzer analyzer(*source);
  {
    EventPipe pipe(source);
    while (const EventBatch* batch = pipe.Next()) analyzer.AddBatch(*batch);
  }
  Analysis analysis = analyzer.Finish(*source);
  Facts& facts = analysis.facts;
  facts.kind = source->Kind();
  facts.file = file;
  facts.facts = source->facts();
  facts.report = source->report();
  facts.missing = source->missing();
  facts.rank = NumberFact<int64_t>(facts.facts, "process.rank");
  facts.simulated = facts.facts.contains("simulated");
  return analysis;
}

Facts Analyze(EventSource* source, const std::string& file) {
  return AnalyzeInDetail(source, file).facts;
}

}  // namespace vramstow
