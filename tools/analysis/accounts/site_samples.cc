#include "tools/analysis/accounts/site_samples.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

namespace vramstow {
namespace {

constexpr uint64_t kNsPerHour = uint64_t{3600} * 1'000'000'000;
constexpr uint64_t kLeastRunNs = uint64_t{300} * 1'000'000'000;
constexpr size_t kMaxHourSites = 50;

using Levels64 = std::array<uint64_t, kMaxSamples>;

// The lowest levels in each of the last three quarters of the samples.
struct Quarters {
  uint64_t second = 0;
  uint64_t third = 0;
  uint64_t last = 0;
};

Quarters LowestOf(const Levels64& levels, size_t count) {
  const auto lowest = [&levels](size_t from, size_t to) {
    return kSampleUnit * *std::min_element(levels.begin() + static_cast<ptrdiff_t>(from),
                                           levels.begin() + static_cast<ptrdiff_t>(to));
  };
  const size_t quarter = count / 4;
  return {lowest(quarter, 2 * quarter), lowest(2 * quarter, 3 * quarter),
          lowest(count - quarter, count)};
}

int64_t Rise(uint64_t from, uint64_t to) { return static_cast<int64_t>(to - from); }

int64_t ByTheHour(int64_t bytes, uint64_t over_ns) {
  return static_cast<int64_t>(static_cast<double>(bytes) * static_cast<double>(kNsPerHour) /
                              static_cast<double>(over_ns));
}

// True if the level still rises in the last quarter of the run. By the time of the last quarter the
// start-up is over, and a cache with a limit is full.
bool IsEndless(const Quarters& lowest) {
  constexpr uint64_t kLeastBytes = uint64_t{1} << 20;
  constexpr uint64_t kLeastPart = 100;  // 1/100 of the latest level
  if (lowest.third <= lowest.second || lowest.last <= lowest.third) return false;
  const uint64_t before = lowest.third - lowest.second;
  const uint64_t last = lowest.last - lowest.third;
  return last >= before / 2 && before + last >= kLeastBytes &&
         before + last >= lowest.last / kLeastPart;
}

}  // namespace

void SiteSamples::PassMoments(uint64_t time_ns, const Levels& levels) {
  sites_.resize(std::max(sites_.size(), levels.sites().size()));
  clock_.Pass(
      time_ns,
      [&](size_t i) {
        all_[i] = SampleOf(levels.allocated());
        for (size_t site = 0; site < levels.sites().size(); ++site) {
          sites_[site][i] = SampleOf(levels.sites()[site].now().bytes);
        }
      },
      [this] {
        Halve(&all_);
        for (Row& row : sites_) Halve(&row);
      });
}

void SiteSamples::Halve(Row* row) {
  for (size_t i = 0; i < kMaxSamples / 2; ++i) (*row)[i] = (*row)[2 * i + 1];
}

void SiteSamples::AddTo(const SumSamples& samples, Row* row) const {
  if (samples.shift > clock_.shift()) return;  // only an invalid trace has such samples
  const uint64_t step = uint64_t{1} << (clock_.shift() - samples.shift);
  for (size_t i = 0; i < clock_.count(); ++i) {
    const uint64_t theirs = (i + 1) * step - 1;
    if (theirs >= samples.count) return;
    (*row)[i] = samples.levels[theirs];
  }
}

void SiteSamples::AddSums(const std::vector<SumSamples>& samples, uint64_t until_ns,
                          Accounts* accounts) {
  last_rise_ns_ = std::max(last_rise_ns_, until_ns);
  for (const SumSamples& one : samples) {
    if (one.of == SumOf::kDevice) {
      AddTo(one, &all_);
    } else if (one.of == SumOf::kStack || one.of == SumOf::kCaller) {
      const bool by_stack = one.of == SumOf::kStack;
      const uint32_t site =
          accounts->SiteNumber(by_stack ? one.number : 0,
                               by_stack ? kUnknownName : static_cast<uint16_t>(one.number >> 16),
                               by_stack ? kUnknownName : static_cast<uint16_t>(one.number));
      if (site >= sites_.size()) sites_.resize(site + size_t{1});
      AddTo(one, &sites_[site]);
    }
  }
}

size_t SiteSamples::CountBeforeEnd() const {
  const size_t all = clock_.count();
  size_t count = std::min<size_t>(all, last_rise_ns_ >> clock_.shift());
  if (count == 0) return all;
  const auto to = all_.begin() + static_cast<ptrdiff_t>(count);
  const uint32_t lowest = *std::min_element(to - static_cast<ptrdiff_t>((count + 3) / 4), to);
  while (count < all && all_[count] >= lowest) ++count;
  // A process that has been low for longer has not ended, but waits.
  constexpr size_t kMostOfEnd = 8;
  return (all - count) * kMostOfEnd <= all + kMostOfEnd ? count : all;
}

HourFacts SiteSamples::Growth(const std::vector<SiteDetail>& sites, uint64_t end_ns) const {
  HourFacts growth;
  const size_t count = CountBeforeEnd();
  if (count < clock_.count()) end_ns = std::max(last_rise_ns_, count << clock_.shift());
  if (end_ns < kLeastRunNs || count < 4) return growth;
  growth.known = true;
  growth.over_ns = (count - 2 * (count / 4)) << clock_.shift();
  Levels64 all;
  std::copy(all_.begin(), all_.end(), all.begin());
  const Quarters lowest = LowestOf(all, count);
  growth.from_bytes = lowest.second;
  growth.to_bytes = lowest.last;
  growth.is_endless = IsEndless(lowest);
  const int64_t rise = Rise(lowest.second, lowest.last);
  growth.bytes_per_hour = ByTheHour(rise, growth.over_ns);
  if (rise <= 0) return growth;
  std::map<std::pair<std::string, std::string>, Levels64> named;  // several sites may have one name
  for (size_t i = 0; i < std::min(sites_.size(), sites.size()); ++i) {
    Levels64& levels = named.try_emplace({sites[i].site, sites[i].operation}).first->second;
    for (size_t at = 0; at < count; ++at) levels[at] += sites_[i][at];
  }
  for (const auto& [name, levels] : named) {
    const Quarters own = LowestOf(levels, count);
    const int64_t risen = Rise(own.second, own.last);
    if (risen < std::max<int64_t>(rise / 100, 1)) continue;
    growth.by_site.push_back({name.first, name.second, "", ByTheHour(risen, growth.over_ns)});
  }
  std::ranges::stable_sort(growth.by_site, std::ranges::greater(), &SiteHourFacts::bytes_per_hour);
  if (growth.by_site.size() > kMaxHourSites) growth.by_site.resize(kMaxHourSites);
  return growth;
}

}  // namespace vramstow
