#include "tools/analysis/accounts/accounts.h"

#include <charconv>
#include <string>
#include <string_view>
#include <tuple>

#include "tools/analysis/facts/named_facts.h"
#include "tools/base/library_name.h"

namespace vramstow {
namespace {

TallyFacts TallyFactsOf(const Tally& tally, uint64_t epoch) {
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

// A tally counts the blocks of one library, kind or entry point. The tally with the most bytes at
// the peak comes first; among equal ones, the tally with the highest level.
bool IsListedFirst(const TallyFacts& a, const TallyFacts& b) {
  return std::tie(b.at_peak.bytes, b.highest_bytes, b.total_bytes, b.calls, a.name, a.path) <
         std::tie(a.at_peak.bytes, a.highest_bytes, a.total_bytes, a.calls, b.name, b.path);
}

}  // namespace

Accounts::Accounts(const EventSource& source) : opening_call_(source.OpeningCall()) {
  constexpr std::string_view kBegin = "device.";
  constexpr std::string_view kEnd = ".free_bytes_at_start";
  for (const auto& [key, value] : source.facts()) {
    if (!key.starts_with(kBegin) || !key.ends_with(kEnd)) continue;
    int16_t device = kNoDevice;
    uint64_t bytes = 0;
    const char* number = key.data() + kBegin.size();
    const char* number_end = key.data() + key.size() - kEnd.size();
    if (number >= number_end || std::from_chars(number, number_end, device).ptr != number_end ||
        device < 0 ||
        std::from_chars(value.data(), value.data() + value.size(), bytes).ec != std::errc()) {
      continue;
    }
    DeviceLevel& level = levels_.Device(device);
    level.free_from = FreeKnownFrom::kStart;
    level.free = bytes;
    const std::string total = "device." + std::to_string(device) + ".total_bytes";
    level.total = FactNumber<uint64_t>(source.facts(), total).value_or(0);
  }
}

void Accounts::CountCall(const Event& event) {
  ++levels_.Library(event.library).calls;
  ++levels_.Call(event.call).calls;
  ++levels_.Kind(event.memory).calls;
}

void Accounts::CountFailedCall(uint16_t library, uint16_t call, MemoryKind memory) {
  ++levels_.Library(library).failed;
  ++levels_.Call(call).failed;
  ++levels_.Kind(memory).failed;
}

void Accounts::CountFree(const Event& event, MemoryKind memory) {
  ++counts_.frees;
  ++levels_.Library(event.library).frees;
  ++levels_.Call(event.call).frees;
  ++levels_.Kind(memory).frees;
}

void Accounts::UncountFree(uint16_t library, uint16_t call, MemoryKind memory) {
  --counts_.frees;
  --levels_.Library(library).frees;
  --levels_.Call(call).frees;
  --levels_.Kind(memory).frees;
}

void Accounts::CountAllocation(const LiveBlock& block) {
  ++counts_.allocations;
  levels_.CountAllocation(block);
  if (!IsDeviceMemory(block.memory)) return;
  Request(block.requested);
  if (block.site >= site_sums_.size()) site_sums_.resize(sites_.sites().size());
  SiteSum& sum = site_sums_[block.site];
  ++sum.allocations;
  sum.bytes += block.size;
}

void Accounts::Holds(LiveBlock* block) {
  levels_.Holds(*block);
  --counts_.allocations;
  levels_.UncountAllocation(*block);
  SiteSum& sum = site_sums_[block->site];
  --sum.allocations;
  sum.bytes -= block->size;
  block->holds = true;
}

LiveBlock Accounts::BlockOf(const Event& event) {
  LiveBlock block;
  block.site = SiteOf(event);
  block.address = event.address;
  block.size = event.size;
  block.requested = RequestedBytes(event);
  block.time_ns = now_ns_;
  block.birth = events_;
  block.library = event.library;
  block.call = event.call;
  block.device = event.device;
  block.memory = event.memory;
  block.tensor = event.layer == Layer::kFramework;
  if (block.tensor) block.stream = event.stream;
  return block;
}

Life Accounts::LifeOf(const LiveBlock& block) {
  Life life;
  life.address = block.address;
  life.size = block.size;
  life.requested = block.requested;
  life.birth = block.birth;
  life.birth_ns = block.time_ns;
  life.site = block.site;
  life.stream = block.stream;
  life.device = block.device;
  life.opened = block.opened;
  life.library = block.library;
  life.tensor = block.tensor;
  return life;
}

void Accounts::End(const LiveBlock& block, uint32_t free_site) {
  levels_.Died(block);
  if (block.imported || block.holds || !IsDeviceMemory(block.memory)) return;
  Life life = LifeOf(block);
  life.death = events_;
  life.death_ns = now_ns_;
  life.free_site = free_site;
  lives_.Add(life);
}

void Accounts::AddSums(const TraceSums& sums) {
  now_ns_ = std::max(now_ns_, sums.totals.until_ns);
  counts_.allocations += sums.totals.allocations;
  counts_.frees += sums.totals.frees;
  Request(sums.totals.largest_request);
  levels_.AddTotals(sums.totals);
  for (const TraceSum& sum : sums.sums) AddSum(sum);
}

void Accounts::AddSum(const TraceSum& sum) {
  constexpr uint32_t kMaxNumber = 0xFFFF;
  constexpr uint16_t kMaxDevices = 256;
  if (sum.of == SumOf::kStack) return AddSite(sum, sum.number, kUnknownName, kUnknownName);
  if (sum.of == SumOf::kCaller) {
    return AddSite(sum, 0, static_cast<uint16_t>(sum.number >> 16),
                   static_cast<uint16_t>(sum.number));
  }
  if (sum.number > kMaxNumber) return;  // no valid trace has such a number
  const auto number = static_cast<uint16_t>(sum.number);
  switch (sum.of) {
    case SumOf::kKind:
      if (number < counts_.by_kind.size()) counts_.by_kind[number] += sum.calls;
      return;
    case SumOf::kLibrary:
      return Levels::AddTally(sum, &levels_.Library(number));
    case SumOf::kCall:
      return Levels::AddTally(sum, &levels_.Call(number));
    case SumOf::kMemory:
      if (number > 0xFF) return;
      return Levels::AddTally(sum, &levels_.Kind(static_cast<MemoryKind>(number)));
    case SumOf::kDevice:
      if (number <= kMaxDevices) levels_.AddDevice(sum);
      return;
    case SumOf::kSizeClass:
      return levels_.AddSizeClass(sum);
    default:
      return;
  }
}

void Accounts::AddSite(const TraceSum& sum, uint32_t stack, uint16_t library, uint16_t call) {
  const uint32_t site = sites_.Find(stack, library, call);
  if (site >= site_sums_.size()) site_sums_.resize(sites_.sites().size());
  site_sums_[site].allocations += sum.allocations;
  site_sums_[site].bytes += sum.bytes;
}

void Accounts::FillFacts(const EventSource& source, Facts* facts) const {
  facts->counts = counts_;
  facts->peak = levels_.peak();
  facts->largest_block_bytes = levels_.largest_block();
  FillTallies(source, facts);
  FillHistogram(facts);
  FillDevices(source, facts);
}

void Accounts::FillTallies(const EventSource& source, Facts* facts) const {
  const uint64_t epoch = levels_.epoch();
  for (size_t i = 0; i < levels_.libraries().size(); ++i) {
    if (IsUntouched(levels_.libraries()[i])) continue;
    TallyFacts tally = TallyFactsOf(levels_.libraries()[i], epoch);
    tally.path = source.LibraryPath(static_cast<uint16_t>(i));
    tally.name = LibraryName(tally.path);
    facts->by_library.push_back(std::move(tally));
  }
  for (size_t i = 0; i < levels_.calls().size(); ++i) {
    if (IsUntouched(levels_.calls()[i])) continue;
    TallyFacts tally = TallyFactsOf(levels_.calls()[i], epoch);
    tally.name = source.CallName(static_cast<uint16_t>(i));
    facts->by_call.push_back(std::move(tally));
  }
  for (size_t i = 0; i < levels_.kinds().size(); ++i) {
    if (IsUntouched(levels_.kinds()[i])) continue;
    TallyFacts tally = TallyFactsOf(levels_.kinds()[i], epoch);
    tally.name = MemoryKindName(static_cast<MemoryKind>(i));
    facts->by_kind.push_back(std::move(tally));
  }
  for (auto* tallies : {&facts->by_library, &facts->by_call, &facts->by_kind}) {
    std::sort(tallies->begin(), tallies->end(), IsListedFirst);
  }
}

void Accounts::FillHistogram(Facts* facts) const {
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

void Accounts::FillDevices(const EventSource& source, Facts* facts) const {
  for (size_t i = 0; i < levels_.devices().size(); ++i) {
    const DeviceLevel& level = levels_.devices()[i];
    if (!level.seen) continue;
    DeviceFacts device;
    device.device = static_cast<int>(i) - 1;
    const std::string prefix = "device." + std::to_string(device.device) + ".";
    const auto name = source.facts().find(prefix + "name");
    if (name != source.facts().end()) device.name = name->second;
    device.total_bytes = FactNumber<uint64_t>(source.facts(), prefix + "total_bytes");
    device.free_bytes_at_start =
        FactNumber<uint64_t>(source.facts(), prefix + "free_bytes_at_start");
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

}  // namespace vramstow
