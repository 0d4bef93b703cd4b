#include "tools/report/page_clock.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace vramstow {
namespace {

constexpr size_t kMaxSamples = 600;

// Returns every n-th sample of the iteration, and its first and last one.
std::vector<ModelClockSample> SamplesOf(const Detail& detail, const ModelClockFacts& clock) {
  const ModelClockSample* first = SampleBefore(detail.model_clock, clock.begin_event);
  const ModelClockSample* last = SampleBefore(detail.model_clock, clock.end_event);
  if (first == nullptr) return {};
  const auto count = static_cast<size_t>(last - first) + 1;
  const size_t step = (count + kMaxSamples - 1) / kMaxSamples;
  std::vector<ModelClockSample> samples;
  for (size_t i = 0; i < count; i += step) samples.push_back(first[i]);
  if ((count - 1) % step != 0) samples.push_back(*last);
  return samples;
}

// Returns the bytes of live memory that were in host memory at each sample.
std::vector<uint64_t> AwayAt(const Detail& detail, const std::vector<ModelClockSample>& samples) {
  std::vector<std::pair<uint64_t, int64_t>> changes;  // by event
  for (const Life& life : detail.away) {
    changes.emplace_back(life.birth, static_cast<int64_t>(life.size));
    if (life.death != kStillLive)
      changes.emplace_back(life.death, -static_cast<int64_t>(life.size));
  }
  std::ranges::sort(changes);
  std::vector<uint64_t> away;
  int64_t bytes = 0;
  auto next = changes.begin();
  for (const ModelClockSample& sample : samples) {
    for (; next != changes.end() && next->first <= sample.event; ++next) bytes += next->second;
    away.push_back(static_cast<uint64_t>(std::max<int64_t>(bytes, 0)));
  }
  return away;
}

uint64_t AllocatedAt(const Detail& detail, uint64_t event) {
  const uint64_t step = (event - 1) / std::max<uint64_t>(1, detail.events_per_step);
  if (detail.levels.empty()) return 0;
  return detail.levels[std::min<size_t>(step, detail.levels.size() - 1)].last_allocated;
}

}  // namespace

std::string ClockText(const Detail& detail, const ModelClockFacts& clock) {
  if (!clock.known()) return "null";
  const std::vector<ModelClockSample> samples = SamplesOf(detail, clock);
  if (samples.size() < 2) return "null";
  const std::vector<uint64_t> away = AwayAt(detail, samples);
  const ModelClockEvent& first = samples.front().sums;
  const uint64_t begin_ns = samples.front().card_ns();
  std::vector<uint64_t> columns[6];
  for (size_t i = 0; i < samples.size(); ++i) {
    const ModelClockEvent& now = samples[i].sums;
    const uint64_t allocated = AllocatedAt(detail, samples[i].event);
    columns[0].push_back(samples[i].card_ns() - begin_ns);
    columns[1].push_back(allocated - std::min(allocated, away[i]));
    columns[2].push_back(away[i]);
    columns[3].push_back(now.link_read_bytes - first.link_read_bytes);
    columns[4].push_back(now.out_bytes - first.out_bytes);
    columns[5].push_back(now.in_bytes - first.in_bytes);
  }
  constexpr const char* kNames[] = {"time", "device", "host", "read", "out", "in"};
  std::string text;
  for (size_t i = 0; i < std::size(columns); ++i) {
    absl::StrAppend(&text, i == 0 ? "{" : ",", "\"", kNames[i], "\":[",
                    absl::StrJoin(columns[i], ","), "]");
  }
  return text + "}";
}

}  // namespace vramstow
