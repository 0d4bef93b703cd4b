#include "tools/analysis/facts/compare_ranks.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "tools/analysis/facts/attempts.h"
#include "tools/analysis/facts/known_part.h"

namespace vramstow {
namespace {

using SiteName = std::pair<std::string, std::string>;  // site, operation

// One rank, with the sums of the processes of its highest attempt.
struct Rank {
  int64_t number = 0;
  std::string host;
  uint64_t peak_allocated = 0;
  uint64_t peak_reserved = 0;
  uint64_t live_at_end = 0;
  uint64_t allocations = 0;
  uint64_t out_of_memory = 0;
  bool is_complete = true;
  std::map<SiteName, uint64_t> sites;  // bytes at the peak
};

std::vector<Rank> RanksOf(const std::vector<Facts>& traces, const Attempts& attempts) {
  std::map<int64_t, Rank> ranks;
  for (size_t i = 0; i < traces.size(); ++i) {
    const Facts& trace = traces[i];
    if (!trace.rank.has_value()) continue;
    Rank& rank = ranks[*trace.rank];
    if (MayHidePeak(trace)) rank.is_complete = false;
    rank.allocations += trace.counts.allocations;
    rank.out_of_memory += trace.counts.out_of_memory;
    if (!attempts.counts[i]) continue;
    rank.number = *trace.rank;
    const auto host = trace.trace_metadata.find("process.host");
    if (host != trace.trace_metadata.end()) rank.host = host->second;
    rank.peak_allocated += trace.peak.allocated_bytes;
    rank.peak_reserved += PeakReserved(trace);
    rank.live_at_end += trace.live.device.bytes;
    for (const SiteFacts& site : trace.by_site) {
      rank.sites[{site.site, site.operation}] += site.at_peak.bytes;
    }
  }
  std::vector<Rank> all;
  all.reserve(ranks.size());
  for (auto& [number, rank] : ranks) all.push_back(std::move(rank));
  return all;
}

// Returns the ranks whose figures are only lower bounds, and removes them if at least two others
// can be compared.
std::vector<int64_t> LeaveOutIncomplete(std::vector<Rank>* ranks) {
  std::vector<int64_t> incomplete;
  for (const Rank& rank : *ranks) {
    if (!rank.is_complete) incomplete.push_back(rank.number);
  }
  if (ranks->size() - incomplete.size() >= 2) {
    std::erase_if(*ranks, [](const Rank& rank) { return !rank.is_complete; });
  }
  return incomplete;
}

// Returns the median, and sorts `values`. For an even number of values it is the mean of the two in
// the middle.
uint64_t Median(std::vector<uint64_t>* values) {
  std::ranges::sort(*values);
  const size_t middle = values->size() / 2;
  if (values->size() % 2 != 0) return (*values)[middle];
  const uint64_t below = (*values)[middle - 1];
  return below + ((*values)[middle] - below) / 2;
}

RankFigure FigureOf(const char* name, const std::vector<Rank>& ranks, uint64_t Rank::*value) {
  // If several ranks have the highest value, the first of them is reported.
  const auto most = std::ranges::max_element(ranks, {}, value);
  const auto least = std::ranges::min_element(ranks, {}, value);
  std::vector<uint64_t> values;
  values.reserve(ranks.size());
  for (const Rank& rank : ranks) values.push_back(rank.*value);
  const uint64_t median = Median(&values);
  return {name, median, (*least).*value, least->number, (*most).*value, most->number};
}

std::vector<RankSite> SitesOf(const std::vector<Rank>& ranks, const Rank& straggler) {
  std::vector<RankSite> sites;
  for (const auto& [name, bytes] : straggler.sites) {
    std::vector<uint64_t> values;
    values.reserve(ranks.size());
    for (const Rank& rank : ranks) {
      const auto found = rank.sites.find(name);
      values.push_back(found == rank.sites.end() ? 0 : found->second);
    }
    const uint64_t median = Median(&values);
    if (bytes > median) sites.push_back({name.first, name.second, bytes, median});
  }
  std::ranges::stable_sort(sites, [](const RankSite& a, const RankSite& b) {
    return a.bytes_at_peak - a.median_bytes_at_peak > b.bytes_at_peak - b.median_bytes_at_peak;
  });
  if (sites.size() > kMaxRankSites) sites.resize(kMaxRankSites);
  return sites;
}

}  // namespace

std::optional<RankComparison> CompareRanks(const std::vector<Facts>& traces) {
  const Attempts attempts = AttemptsOf(traces);
  std::vector<Rank> ranks = RanksOf(traces, attempts);
  if (ranks.size() < 2) return std::nullopt;
  RankComparison comparison;
  comparison.ranks = ranks.size();
  comparison.attempts = attempts.most;
  comparison.incomplete = LeaveOutIncomplete(&ranks);
  comparison.has_straggler = comparison.incomplete.empty() || ranks.size() < comparison.ranks;
  comparison.figures = {FigureOf("peak_reserved_bytes", ranks, &Rank::peak_reserved),
                        FigureOf("peak_allocated_bytes", ranks, &Rank::peak_allocated),
                        FigureOf("live_at_end_bytes", ranks, &Rank::live_at_end),
                        FigureOf("allocations", ranks, &Rank::allocations),
                        FigureOf("out_of_memory", ranks, &Rank::out_of_memory)};
  if (!comparison.has_straggler) return comparison;
  const RankFigure& reserved = comparison.figures.front();
  const auto straggler = std::ranges::find(ranks, reserved.most_rank, &Rank::number);
  comparison.straggler = straggler->number;
  comparison.host = straggler->host;
  comparison.over_median_bytes = reserved.most - reserved.median;
  comparison.balanced = comparison.over_median_bytes <= reserved.median / kBalancedPart;
  comparison.sites = SitesOf(ranks, *straggler);
  return comparison;
}

}  // namespace vramstow
