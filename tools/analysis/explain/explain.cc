#include "tools/analysis/explain/explain.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"

namespace vramstow {
namespace {

using SiteName = std::pair<std::string, std::string>;  // a line, and the operation in it

SiteName NameOf(const SiteDetail& site) { return {site.site, site.operation}; }

constexpr uint64_t kSecond = 1000000000;
constexpr size_t kMaxChanges = 20;

// Groups the holes by stream. `segments` are ordered by address, and each hole lies in a range that
// begins at one of the segments.
std::vector<FragmentationFacts::Stream> FindStreams(const std::vector<const Life*>& segments,
                                                    const std::vector<HoleFacts>& holes) {
  std::map<uint64_t, FragmentationFacts::Stream> streams;
  absl::flat_hash_map<uint64_t, uint64_t> stream_at;
  for (const Life* segment : segments) {
    streams[segment->stream].reserved_bytes += segment->size;
    stream_at[segment->address] = segment->stream;
  }
  for (const HoleFacts& hole : holes) streams[stream_at[hole.segment]].free_bytes += hole.size;
  std::vector<FragmentationFacts::Stream> list;
  for (auto& [stream, facts] : streams) {
    facts.stream = stream;
    list.push_back(facts);
  }
  return list;
}

}  // namespace

Explanation::Explanation(const Detail& detail, Facts* facts)
    : passes_(detail, facts->out_of_memory.empty() ? 0 : facts->out_of_memory.back().event),
      categories_(detail, passes_.other_work().caches()) {
  facts->iterations = FindIterations(detail, passes_);
  facts->phases = FindPhases(detail, passes_);
  FindOffloadNeed(facts);
  facts->model_clock = FindModelClock(detail, facts->iterations);
  ExplainLifetimes(detail, facts);
  facts->churn = FindChurn(detail);
  facts->before_peak = ExplainPeak(detail, *facts);
  categories_.AddUp(facts);
  NameGrowthByHour(detail, categories_, facts);
  FindHoles(detail, facts);
}

ChurnFacts FindChurn(const Detail& detail) {
  // Visits births and deaths in order; a freed block is matched with the next allocation of the
  // same size.
  std::vector<uint32_t> deaths;
  for (uint32_t i = 0; i < detail.lives.size(); ++i) {
    if (detail.lives[i].death != kStillLive && !detail.lives[i].pending) deaths.push_back(i);
  }
  std::sort(deaths.begin(), deaths.end(), [&detail](uint32_t a, uint32_t b) {
    return detail.lives[a].death < detail.lives[b].death;
  });
  absl::flat_hash_map<uint64_t, uint64_t> waiting;  // size → number of freed blocks
  absl::flat_hash_map<uint32_t, ChurnSite> sites;
  ChurnFacts churn;
  size_t next_death = 0;
  for (const Life& life : detail.lives) {
    if (life.pending || life.opened) continue;
    for (; next_death < deaths.size(); ++next_death) {
      const Life& dead = detail.lives[deaths[next_death]];
      if (dead.death > life.birth) break;
      ++waiting[dead.size];
    }
    const auto freed = waiting.find(life.size);
    if (freed == waiting.end() || freed->second == 0) continue;
    --freed->second;
    ++churn.pairs;
    churn.pair_bytes += life.size;
    ChurnSite& site = sites[life.site];
    ++site.pairs;
    site.bytes += life.size;
  }
  std::map<SiteName, ChurnSite> named;  // several sites may have one name
  for (const auto& [number, site] : sites) {
    ChurnSite& all = named[NameOf(detail.sites[number])];
    all.pairs += site.pairs;
    all.bytes += site.bytes;
  }
  for (auto& [name, site] : named) {
    std::tie(site.site, site.operation) = name;
    churn.sites.push_back(std::move(site));
  }
  std::sort(churn.sites.begin(), churn.sites.end(), [](const ChurnSite& a, const ChurnSite& b) {
    if (a.bytes != b.bytes) return a.bytes > b.bytes;
    return std::tie(a.site, a.operation) < std::tie(b.site, b.operation);
  });
  if (churn.sites.size() > kMaxChanges) churn.sites.resize(kMaxChanges);
  return churn;
}

BeforePeakFacts ExplainPeak(const Detail& detail, const Facts& facts) {
  BeforePeakFacts before;
  if (facts.peak.allocated_bytes == 0 || detail.lives.empty()) return before;
  before.known = true;
  before.from_ns = facts.peak.time_ns - std::min(facts.peak.time_ns, kSecond);
  const auto lives_at_beginning = [&](const Life& life) {
    const bool was_born = life.opened || (before.from_ns > 0 && life.birth_ns <= before.from_ns);
    return was_born && life.death_ns > before.from_ns && life.death > detail.first_event - 1;
  };
  absl::flat_hash_map<uint32_t, ChangeFacts> changes;
  for (const Life& life : detail.lives) {
    if (life.pending || life.birth > detail.peak_event) continue;
    const bool then = lives_at_beginning(life);
    const bool now = life.LivesAt(detail.peak_event);
    if (then) before.from_bytes += life.size;
    if (then == now) continue;
    ChangeFacts& change = changes[life.site];
    change.bytes += now ? static_cast<int64_t>(life.size) : -static_cast<int64_t>(life.size);
    if (now) ++change.allocations;
  }
  std::map<SiteName, ChangeFacts> named;  // several sites may have one name
  for (const auto& [number, change] : changes) {
    ChangeFacts& all = named[NameOf(detail.sites[number])];
    all.bytes += change.bytes;
    all.allocations += change.allocations;
  }
  for (auto& [name, change] : named) {
    if (change.bytes == 0) continue;
    std::tie(change.site, change.operation) = name;
    before.changes.push_back(std::move(change));
  }
  std::sort(before.changes.begin(), before.changes.end(),
            [](const ChangeFacts& a, const ChangeFacts& b) {
              if (std::abs(a.bytes) != std::abs(b.bytes)) {
                return std::abs(a.bytes) > std::abs(b.bytes);
              }
              return std::tie(a.site, a.operation) < std::tie(b.site, b.operation);
            });
  if (before.changes.size() > kMaxChanges) before.changes.resize(kMaxChanges);
  return before;
}

void FindHoles(const Detail& detail, Facts* facts) {
  FragmentationFacts& fragmentation = facts->fragmentation;
  if (!fragmentation.in_pool || !detail.has_all_lives()) return;
  fragmentation.holes_known = true;
  std::vector<const Life*> segments;
  std::vector<const Life*> blocks;
  for (const Life& life : detail.segments) {
    if (life.LivesAt(detail.peak_event)) segments.push_back(&life);
  }
  for (const Life& life : detail.lives) {
    if (life.LivesAt(detail.peak_event)) blocks.push_back(&life);
  }
  const auto by_address = [](const Life* a, const Life* b) { return a->address < b->address; };
  std::sort(segments.begin(), segments.end(), by_address);
  std::sort(blocks.begin(), blocks.end(), by_address);
  size_t next = 0;
  for (size_t i = 0; i < segments.size();) {
    // A segment that grew piece by piece is one range. In its pieces, `pending` is set.
    const uint64_t from = segments[i]->address;
    uint64_t to = from + segments[i]->size;
    const bool grows = segments[i]->pending;
    for (++i; grows && i < segments.size() && segments[i]->address == to; ++i) {
      to += segments[i]->size;
    }
    uint64_t at = from;
    const Life* before = nullptr;
    const auto add = [&](uint64_t end, const Life* after) {
      if (end <= at) return;
      HoleFacts hole;
      hole.address = at;
      hole.size = end - at;
      hole.segment = from;
      hole.segment_size = to - from;
      if (before != nullptr) {
        hole.before = detail.sites[before->site].site;
        hole.before_bytes = before->size;
      }
      if (after != nullptr) {
        hole.after = detail.sites[after->site].site;
        hole.after_bytes = after->size;
      }
      ++fragmentation.hole_count;
      fragmentation.holes.push_back(std::move(hole));
    };
    const auto end_of = [](const Life* life) { return life->address + life->size; };
    while (next < blocks.size() && end_of(blocks[next]) <= from) ++next;
    for (; next < blocks.size() && blocks[next]->address < to; ++next) {
      add(blocks[next]->address, blocks[next]);
      before = blocks[next];
      at = std::max(at, end_of(before));
      if (at > to) break;  // the hole extends into the next range
    }
    add(to, nullptr);
  }
  if (!fragmentation.moves) fragmentation.streams = FindStreams(segments, fragmentation.holes);
  std::stable_sort(fragmentation.holes.begin(), fragmentation.holes.end(),
                   [](const HoleFacts& a, const HoleFacts& b) { return a.size > b.size; });
  if (fragmentation.holes.size() > kMaxHoles) fragmentation.holes.resize(kMaxHoles);
}

}  // namespace vramstow
