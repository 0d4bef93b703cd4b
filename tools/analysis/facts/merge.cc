#include "tools/analysis/facts/merge.h"

#include <algorithm>
#include <concepts>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "tools/analysis/facts/attempts.h"
#include "tools/analysis/facts/compare_ranks.h"
#include "tools/analysis/facts/fact_tables.h"
#include "tools/analysis/facts/gpu_sharers.h"
#include "tools/analysis/facts/process_images.h"

namespace vramstow {
namespace {

// --- Lists that are joined: their order, and how many rows they retain.

bool ComesFirst(const TallyFacts& a, const TallyFacts& b) {
  return std::tie(b.at_peak.bytes, b.total_bytes, b.calls) <
         std::tie(a.at_peak.bytes, a.total_bytes, a.calls);
}
bool ComesFirst(const HistogramRow& a, const HistogramRow& b) {
  return a.from_bytes < b.from_bytes;
}
bool ComesFirst(const LaunchedFacts& a, const LaunchedFacts& b) { return a.launches > b.launches; }
bool ComesFirst(const BlockFacts& a, const BlockFacts& b) {
  return a.size * a.count > b.size * b.count;
}

template <typename Row>
constexpr size_t kMaxRows = std::numeric_limits<size_t>::max();
template <>
constexpr size_t kMaxRows<LaunchedFacts> = kMaxLaunched;
template <>
constexpr size_t kMaxRows<BlockFacts> = kMaxLiveGroups;

// The advice on a larger batch is about a process that has its GPU alone.
void LeaveOutLargerBatches(std::vector<Facts>* traces) {
  const GpuSharers sharers(*traces);
  for (Facts& trace : *traces) {
    const auto is_larger_batch = [](const AdviceFacts& one) {
      return one.id == AdviceId::kLargerBatch;
    };
    if (std::ranges::any_of(trace.advice, is_larger_batch) && sharers.SharesAny(trace)) {
      std::erase_if(trace.advice, is_larger_batch);
    }
  }
}

// --- One fact, merged by its rule.

template <HasFacts Struct>
void AddFacts(const Struct& from, Struct* to);

template <typename Number>
void Sum(const Number& from, Number* to) {
  *to += from;
}
template <typename Number, size_t size>
void Sum(const std::array<Number, size>& from, std::array<Number, size>* to) {
  for (size_t i = 0; i < size; ++i) (*to)[i] += from[i];
}

// Keeps a text that all traces have in common, and replaces different texts by "several".
void MakeSame(const std::string& from, std::string* to) {
  if (from != *to) *to = "several";
}
void MakeSame(int from, int* to) {
  if (from != *to) *to = kNoDevice;
}

void Intersect(const std::map<std::string, std::string>& with,
               std::map<std::string, std::string>* facts) {
  std::erase_if(*facts, [&with](const auto& fact) {
    const auto other = with.find(fact.first);
    return other == with.end() || other->second != fact.second;
  });
}

template <typename Row>
bool IsSameRow(const Row& a, const Row& b) {
  bool is_same = true;
  ForEachEntry<Row>([&](const auto& entry) {
    if constexpr (requires { entry.key; }) {
      if (entry.key && a.*entry.member != b.*entry.member) is_same = false;
    }
  });
  return is_same;
}

// Joins two lists of rows. Returns how many rows did not fit.
template <typename Row>
uint64_t Join(const std::vector<Row>& from, std::vector<Row>* to) {
  for (const Row& row : from) {
    const auto known =
        std::ranges::find_if(*to, [&row](const Row& other) { return IsSameRow(row, other); });
    if (known == to->end()) {
      to->push_back(row);
    } else {
      AddFacts(row, &*known);
    }
  }
  std::ranges::stable_sort(*to, [](const Row& a, const Row& b) { return ComesFirst(a, b); });
  const size_t kept = std::min(to->size(), kMaxRows<Row>);
  const uint64_t cut = to->size() - kept;
  to->resize(kept);
  return cut;
}

// True if the merge rule has a meaning for facts of this type.
template <typename Member>
constexpr bool kIsNumber = std::is_arithmetic_v<Member> && !std::same_as<Member, bool>;
template <typename Member>
constexpr bool kIsArray = requires(Member member) {
  member.fill(0);
};
template <typename Member>
constexpr bool kIsRowList = requires(Member member) {
  requires HasFacts<typename Member::value_type>;
  ComesFirst(member.front(), member.front());
};

// Adds the fact of one trace to the sum of all earlier traces.
template <typename Member>
void AddFact(Merge rule, const Member& from, Member* to) {
  if constexpr (kIsNumber<Member> || kIsArray<Member>) {
    if (rule == Merge::kSum || rule == Merge::kLevel) Sum(from, to);
  }
  if constexpr (kIsNumber<Member>) {
    if (rule == Merge::kMax) *to = std::max(*to, from);
    if (rule == Merge::kLeast) *to = std::min(*to, from);
  }
  if constexpr (std::same_as<Member, bool>) {
    if (rule == Merge::kAll) *to = *to && from;
    if (rule == Merge::kAny) *to = *to || from;
  }
  if constexpr (std::same_as<Member, std::string> || std::same_as<Member, int>) {
    if (rule == Merge::kSame) MakeSame(from, to);
  }
  if constexpr (std::same_as<Member, std::map<std::string, std::string>>) {
    if (rule == Merge::kCommon) Intersect(from, to);
  }
  if constexpr (HasFacts<Member>) {
    if (rule == Merge::kParts) AddFacts(from, to);
  }
  if constexpr (kIsRowList<Member>) {
    if (rule == Merge::kJoin) Join(from, to);
  }
}

// --- All facts of a struct.

template <typename Struct, typename Entry>
void MergeEntry(const Entry& entry, const Struct& from, Struct* to) {
  if constexpr (requires { entry.entries; }) {
    std::apply([&](const auto&... inner) { (MergeEntry(inner, from, to), ...); }, entry.entries);
  } else if constexpr (requires {
                         entry.member;
                         entry.merge;
                       }) {
    AddFact(entry.merge, from.*entry.member, &(to->*entry.member));
  } else if constexpr (requires { entry.member; }) {  // a Spread; AsColumns have no rule
    if constexpr (HasFacts<std::remove_cvref_t<decltype(from.*entry.member)>>) {
      AddFacts(from.*entry.member, &(to->*entry.member));
    }
  }
}

template <HasFacts Struct>
void AddFacts(const Struct& from, Struct* to) {
  ForEachEntry<Struct>([&](const auto& entry) { MergeEntry(entry, from, to); });
}

// Joins the groups of live blocks. Groups that do not fit are counted.
template <>
void AddFacts(const LiveFacts& from, LiveFacts* to) {
  AddFacts(from.device, &to->device);
  AddFacts(from.other, &to->other);
  to->groups_left_out += from.groups_left_out + Join(from.groups, &to->groups);
}

// Clears the facts that have this rule.
template <Merge kRule, HasFacts Struct>
void Clear(Struct* facts);

template <Merge kRule, typename Struct, typename Entry>
void ClearEntry(const Entry& entry, Struct* facts) {
  if constexpr (requires { entry.entries; }) {
    std::apply([&](const auto&... inner) { (ClearEntry<kRule>(inner, facts), ...); },
               entry.entries);
  } else if constexpr (requires { entry.member; }) {
    auto& value = facts->*entry.member;
    using Member = std::remove_cvref_t<decltype(value)>;
    bool has_rule = false;
    if constexpr (requires { entry.merge; }) has_rule = entry.merge == kRule;
    if (has_rule) {
      value = Member();
    } else if constexpr (HasFacts<Member>) {
      Clear<kRule>(&value);
    } else if constexpr (kRule == Merge::kLevel && kIsRowList<Member>) {
      for (auto& row : value) Clear<kRule>(&row);
    }
  }
}

template <Merge kRule, HasFacts Struct>
void Clear(Struct* facts) {
  ForEachEntry<Struct>([&](const auto& entry) { ClearEntry<kRule>(entry, facts); });
}

// Returns what a process adds to the facts of the job although another attempt of its rank held
// more memory: what it did, and not what it held.
Facts WithoutMemory(Facts trace) {
  Clear<Merge::kLevel>(&trace);
  trace.live = {};
  return trace;
}

// Raises the peaks of a process that ran several programs one after the other (exec) to the highest
// of them all: one of the programs counts so far. `places` are those of its traces.
void RaisePeaks(const std::vector<Facts>& traces, const std::vector<size_t>& places,
                const std::vector<bool>& counts, Peak* total) {
  const auto counted = std::ranges::find_if(places, [&](size_t place) { return counts[place]; });
  if (counted == places.end()) return;
  ForEachEntry<Peak>([&](const auto& entry) {
    if constexpr (requires { total->*entry.member += uint64_t{0}; }) {
      if (entry.merge != Merge::kLevel) return;
      uint64_t highest = 0;
      for (const size_t place : places) {
        highest = std::max(highest, traces[place].peak.*entry.member);
      }
      total->*entry.member += highest - traces[*counted].peak.*entry.member;
    }
  });
}

// Returns the index of the only process that held memory (compilers and loaders hold none); no
// value if several processes held memory.
std::optional<size_t> OnlyHolder(const std::vector<Facts>& traces) {
  std::optional<size_t> holder;
  for (size_t i = 0; i < traces.size(); ++i) {
    if (traces[i].counts.allocations == 0 && traces[i].out_of_memory.empty()) continue;
    if (holder.has_value()) return std::nullopt;
    holder = i;
  }
  return holder;
}

std::string ProcessOf(const Facts& trace) {
  const auto pid = trace.trace_metadata.find("process.pid");
  const auto host = trace.trace_metadata.find("process.host");
  if (pid == trace.trace_metadata.end() || host == trace.trace_metadata.end()) return "";
  return absl::StrCat(pid->second, " ", host->second);
}

// Removes the trace of a launcher that replaced itself by the script (exec), if that trace has no
// events. Launcher and script are the same process, which must not be counted twice.
void LeaveOutWhatProcessesWere(std::vector<Facts>* traces) {
  std::set<std::string> at_work;
  for (const Facts& trace : *traces) {
    if (trace.report.events > 0) at_work.insert(ProcessOf(trace));
  }
  at_work.erase("");
  std::erase_if(*traces, [&](const Facts& trace) {
    return trace.report.events == 0 && at_work.contains(ProcessOf(trace));
  });
}

}  // namespace

FactSet MergeTraces(std::vector<Facts> traces) {
  LeaveOutWhatProcessesWere(&traces);
  NoteReplacedPrograms(&traces);
  LeaveOutLargerBatches(&traces);
  std::stable_sort(traces.begin(), traces.end(), [](const Facts& a, const Facts& b) {
    constexpr int64_t kLast = std::numeric_limits<int64_t>::max();
    return a.rank.value_or(kLast) < b.rank.value_or(kLast);
  });
  FactSet set;
  const std::optional<size_t> holder = OnlyHolder(traces);
  set.total = traces[holder.value_or(0)];
  if (traces.size() > 1 && !holder.has_value()) {
    const Attempts attempts = AttemptsOf(traces);
    // Facts that have no meaning for several traces are cleared.
    if (!attempts.counts[0]) set.total = WithoutMemory(std::move(set.total));
    Clear<Merge::kOwn>(&set.total);
    for (size_t i = 1; i < traces.size(); ++i) {
      if (attempts.counts[i]) {
        AddFacts(traces[i], &set.total);
      } else {
        AddFacts(WithoutMemory(traces[i]), &set.total);
      }
    }
    set.total.traces = traces.size();
    const auto processes = ProcessesOf(traces);
    set.total.processes = processes.size();
    for (const std::vector<size_t>& places : processes) {
      if (places.size() > 1) RaisePeaks(traces, places, attempts.counts, &set.total.peak);
    }
    set.total.attempts = attempts.most;
  }
  set.comparison = CompareRanks(traces);
  set.traces = std::move(traces);
  return set;
}

}  // namespace vramstow
