#include "tools/analysis/facts/attempts.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string>

#include "tools/analysis/facts/known_part.h"
#include "tools/analysis/facts/named_facts.h"
#include "tools/analysis/facts/process_images.h"

namespace vramstow {
namespace {

bool IsParentOf(const Facts& parent, const Facts& child) {
  const std::string process = FactText(parent.trace_metadata, "process.pid");
  return !process.empty() && process == FactText(child.trace_metadata, "process.parent") &&
         FactText(parent.trace_metadata, "process.host") ==
             FactText(child.trace_metadata, "process.host");
}

// True if the launcher counted other restarts for one process than for the other.
bool AreRestarts(const Facts& a, const Facts& b) {
  // Slurm does not set its variable before it starts a job again.
  if (FactText(a.trace_metadata, "run.requeue") != FactText(b.trace_metadata, "run.requeue")) {
    return true;
  }
  const std::string of_a = FactText(a.trace_metadata, "run.restart");
  const std::string of_b = FactText(b.trace_metadata, "run.restart");
  return !of_a.empty() && !of_b.empty() && of_a != of_b;
}

// True if the two processes of a rank may have held memory at the same time. `later` did not begin
// before `earlier`.
bool AreTogether(const Facts& earlier, const Facts& later) {
  if (AreRestarts(earlier, later) || IsSameProcess(earlier, later)) return false;
  // In a batch script, different programs may have the same rank.
  if (FactText(earlier.trace_metadata, "process.command") !=
      FactText(later.trace_metadata, "process.command")) {
    return true;
  }
  return later.start_unix_ns == 0 || later.start_unix_ns <= LastMomentOf(earlier) ||
         IsParentOf(earlier, later);
}

bool UsedMemory(const Facts& trace) {
  return trace.counts.allocations > 0 || trace.counts.out_of_memory > 0;
}

// Looks at the processes of one rank, which are given by their places in `traces`. A process that
// replaced its program (exec) made one attempt.
void AddRank(const std::vector<Facts>& traces, std::vector<size_t> places, Attempts* attempts) {
  std::ranges::stable_sort(places, {}, [&](size_t place) { return traces[place].start_unix_ns; });
  uint64_t count = 0;
  uint64_t highest = 0;
  std::vector<size_t> needed;
  // Most memory was held when one of the processes had begun.
  for (size_t i = 0; i < places.size(); ++i) {
    const Facts& moment = traces[places[i]];
    std::vector<size_t> then;
    uint64_t bytes = 0;
    bool is_first = UsedMemory(moment);
    for (size_t j = 0; j < places.size(); ++j) {
      const Facts& other = traces[places[j]];
      if (j < i && IsSameProcess(other, moment)) is_first = false;
      if (other.start_unix_ns > moment.start_unix_ns) break;
      const bool is_there =
          j == i || (j < i ? AreTogether(other, moment) : AreTogether(moment, other));
      if (!is_there) continue;
      then.push_back(places[j]);
      bytes += PeakReserved(other);
      if (j < i && UsedMemory(other)) is_first = false;
    }
    if (is_first) ++count;
    if (bytes < highest) continue;
    highest = bytes;
    needed = std::move(then);
  }
  attempts->most = std::max(attempts->most, count);
  for (const size_t place : places) attempts->counts[place] = false;
  for (const size_t place : needed) attempts->counts[place] = true;
}

}  // namespace

uint64_t LastMomentOf(const Facts& trace) {
  constexpr uint64_t kSamplePeriodNs = 1'000'000'000;
  const KnownPart known = KnownPartOf(trace);
  const bool is_cut = known == KnownPart::kBeginning || known == KnownPart::kWithGaps;
  return is_cut || trace.start_unix_ns == 0 ? std::numeric_limits<uint64_t>::max()
                                            : trace.start_unix_ns + trace.end_ns + kSamplePeriodNs;
}

uint64_t PeakReserved(const Facts& trace) {
  return trace.reserved_known ? trace.peak.reserved_bytes : trace.peak.allocated_bytes;
}

Attempts AttemptsOf(const std::vector<Facts>& traces) {
  Attempts attempts;
  attempts.counts.assign(traces.size(), true);
  std::map<int64_t, std::vector<size_t>> ranks;
  for (size_t i = 0; i < traces.size(); ++i) {
    if (traces[i].rank.has_value()) ranks[*traces[i].rank].push_back(i);
  }
  std::vector<std::vector<size_t>> groups = ProcessesOf(traces);
  std::erase_if(groups, [&](const std::vector<size_t>& places) {
    return traces[places.front()].rank.has_value();
  });
  for (auto& [rank, places] : ranks) groups.push_back(std::move(places));
  for (std::vector<size_t>& places : groups) {
    if (places.size() > 1) AddRank(traces, std::move(places), &attempts);
  }
  return attempts;
}

}  // namespace vramstow
