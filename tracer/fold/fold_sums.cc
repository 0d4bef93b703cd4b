#include "tracer/fold/fold_sums.h"

#include <algorithm>
#include <bit>

namespace vramstow {
namespace {

constexpr uint64_t kIsStack = uint64_t{1} << 62;
constexpr uint64_t kIsCaller = uint64_t{1} << 61;

constexpr size_t kNames = FoldLevels::kMaxNames;
constexpr size_t kBytes = 256;
constexpr size_t kSizeClasses = 65;

}  // namespace

void FoldSums::Add(const Event& event, MemoryKind freed, FoldLevels* levels) {
  ++totals_.events;
  ++kinds_[static_cast<uint8_t>(event.kind)];
  if (event.layer == Layer::kPool || event.kind == EventKind::kLaunch) return;
  ++levels->Library(event.library).calls;
  ++levels->Call(event.call).calls;
  ++levels->Memory(event.memory).calls;
  if (event.kind == EventKind::kAllocate && event.result == 0) AddAllocation(event, levels);
  if (event.kind != EventKind::kFree) return;
  ++totals_.frees;
  ++levels->Library(event.library).frees;
  ++levels->Call(event.call).frees;
  ++levels->Memory(freed).frees;
}

void FoldSums::AddAllocation(const Event& event, FoldLevels* levels) {
  ++totals_.allocations;
  for (FoldTally* tally : {&levels->Library(event.library), &levels->Call(event.call),
                           &levels->Memory(event.memory)}) {
    ++tally->allocations;
    tally->bytes += event.size;
  }
  if (!IsFoldedDeviceMemory(event.memory)) return;
  ++totals_.device_blocks;
  totals_.largest_block = std::max(totals_.largest_block, event.size);
  totals_.largest_request =
      std::max(totals_.largest_request, event.requested != 0 ? event.requested : event.size);
  SizeClass& size_class = sizes_[static_cast<size_t>(std::bit_width(event.size))];
  ++size_class.allocations;
  size_class.bytes += event.size;
  Site& site = SiteOf(event);
  ++site.allocations;
  site.bytes += event.size;
}

FoldSums::Site& FoldSums::SiteOf(const Event& event) {
  const uint64_t key = event.stack != 0 ? kIsStack | event.stack
                                        : kIsCaller | uint64_t{event.library} << 16 | event.call;
  for (size_t slot = static_cast<size_t>((key * 0x9E3779B97F4A7C15u) >> 48);;
       slot = (slot + 1) % kSites) {
    static_assert(kSites == size_t{1} << (64 - 48));
    Site& site = sites_[slot];
    if (site.key == key) return site;
    if (site.key != 0) continue;
    if (site_count_ == kMaxSites) return unknown_site_;
    site.number = static_cast<uint32_t>(++site_count_);
    site.key = key;
    return site;
  }
}

void FoldSums::FillTally(const FoldTally& tally, TraceSum* sum) {
  sum->calls = tally.calls;
  sum->allocations = tally.allocations;
  sum->frees = tally.frees;
  sum->bytes = tally.bytes;
  sum->highest_device = tally.highest_device;
  sum->highest_other = tally.highest_other;
}

// Stores the sum with the number `at` in *sum. The sums have consecutive numbers, one kind of sums
// after the other. Returns false if there is no such number.
bool FoldSums::FillSum(const FoldLevels& levels, size_t at, TraceSum* sum) const {
  // The accessors are not const, but nothing is changed here.
  FoldLevels& all = const_cast<FoldLevels&>(levels);
  const auto number = [&at, sum](size_t count) {
    sum->number = static_cast<uint32_t>(at);
    if (at < count) return true;
    at -= count;
    return false;
  };
  sum->of = SumOf::kKind;
  if (number(kBytes)) {
    sum->calls = kinds_[at];
  } else if (sum->of = SumOf::kLibrary; number(kNames)) {
    FillTally(all.Library(static_cast<uint16_t>(at)), sum);
  } else if (sum->of = SumOf::kCall; number(kNames)) {
    FillTally(all.Call(static_cast<uint16_t>(at)), sum);
  } else if (sum->of = SumOf::kMemory; number(kBytes)) {
    FillTally(all.Memory(static_cast<MemoryKind>(at)), sum);
  } else if (sum->of = SumOf::kDevice; number(FoldLevels::kMaxDevices)) {
    FillTally(all.Device(static_cast<int16_t>(static_cast<int>(at) - 1)), sum);
  } else if (sum->of = SumOf::kSizeClass; number(kSizeClasses)) {
    sum->allocations = sizes_[at].allocations;
    sum->bytes = sizes_[at].bytes;
  } else if (number(kSites + 1)) {
    const Site& site = at == kSites ? unknown_site_ : sites_[at];
    sum->of = (site.key & kIsStack) != 0 ? SumOf::kStack : SumOf::kCaller;
    sum->number = static_cast<uint32_t>(site.key);
    sum->allocations = site.allocations;
    sum->bytes = site.bytes;
  } else {
    return false;
  }
  return true;
}

bool FoldSums::NextSamples(const FoldLevels& levels, uint32_t level, size_t* at,
                           SumSamples* samples) const {
  const FoldSamples& all = levels.samples();
  *samples = SumSamples();
  samples->shift = all.clock().shift();
  samples->count = all.clock().count();
  for (; *at <= kSites; ++*at) {
    const uint32_t* row = all.OfAll();  // the first row is for all sites together
    if (*at != 0) {
      const Site& site = sites_[*at - 1];
      row = site.key == 0 ? nullptr : all.Of(site.number, level);
      samples->of = (site.key & kIsStack) != 0 ? SumOf::kStack : SumOf::kCaller;
      samples->number = static_cast<uint32_t>(site.key);
    }
    if (row == nullptr) continue;
    std::copy_n(row, samples->count, samples->levels);
    ++*at;
    return true;
  }
  return false;
}

bool FoldSums::NextSum(const FoldLevels& levels, size_t* at, TraceSum* sum) const {
  for (;;) {
    *sum = TraceSum();
    if (!FillSum(levels, (*at)++, sum)) return false;
    if ((sum->calls | sum->allocations | sum->frees | sum->bytes | sum->highest_device |
         sum->highest_other) != 0) {
      return true;
    }
  }
}

}  // namespace vramstow
