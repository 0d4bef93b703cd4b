#include "tools/inputs/runs.h"

#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "absl/strings/numbers.h"
#include "tools/formats/input.h"
#include "tools/inputs/trace_source.h"
#include "tools/inputs/trace_start.h"

namespace vramstow {
namespace {

using FactTexts = std::map<std::string, std::string>;

std::string TextOf(const FactTexts& facts, const char* name) {
  const auto fact = facts.find(name);
  return fact == facts.end() ? "" : fact->second;
}

int64_t NumberOf(const FactTexts& facts, const char* name) {
  int64_t number = 0;
  return absl::SimpleAtoi(TextOf(facts, name), &number) ? number : 0;
}

int64_t WrittenAt(const std::string& file) {
  struct stat status = {};
  if (stat(file.c_str(), &status) != 0) return 0;
  return status.st_mtim.tv_sec * int64_t{1'000'000'000} + status.st_mtim.tv_nsec;
}

bool IsReadHere(FileFormat format) {
  return format == FileFormat::kPickle || format == FileFormat::kProfilerTrace ||
         format == FileFormat::kMemoryTimeline || format == FileFormat::kRmmLog ||
         format == FileFormat::kMinimalloc;
}

template <typename Value>
bool Intersect(const std::set<Value>& a, const std::set<Value>& b) {
  return std::ranges::any_of(a, [&b](const Value& value) { return b.contains(value); });
}

// Traces that belong to one run.
struct Group {
  std::vector<const TraceOrigin*> members;
  std::set<int64_t> ranks;
  std::string job;
  std::string requeue;
  std::map<std::string, std::set<std::string>> restarts;  // by host
  int64_t begin = 0;

  void Add(const TraceOrigin& origin) {
    members.push_back(&origin);
    if (origin.rank.has_value()) ranks.insert(*origin.rank);
    if (job.empty()) job = origin.job;
    if (requeue.empty()) requeue = origin.requeue;
    if (!origin.restart.empty()) restarts[origin.host].insert(origin.restart);
    begin = std::max(begin, origin.begin);
  }
  // True if both groups have ranks of the same attempt at the same job, and no rank is in both. A
  // rank that was started again tells the attempt, but not every rank of an attempt need have a
  // trace, so the numbers of restarts are compared, too. Each host has its own number of torchrun's
  // restarts.
  bool Continues(const Group& earlier) const {
    if (ranks.empty() || earlier.ranks.empty() || job != earlier.job) return false;
    if (requeue != earlier.requeue) return false;
    for (const auto& [host, counts] : restarts) {
      const auto before = earlier.restarts.find(host);
      if (before != earlier.restarts.end() && !Intersect(counts, before->second)) return false;
    }
    return !Intersect(ranks, earlier.ranks);
  }
};

bool IsChildOf(const TraceOrigin& child, const TraceOrigin& parent) {
  return &child != &parent && child.parent != 0 && child.parent == parent.process &&
         child.host == parent.host && child.run == parent.run && child.begin >= parent.begin;
}

// Groups traces that have the same run id. A trace without a run id joins the group of the process
// that started its own process.
std::vector<Group> GroupsOf(const std::vector<TraceOrigin>& origins) {
  std::vector<Group> groups;
  std::map<std::string, size_t> by_run;
  size_t strangers = origins.size();
  std::map<const TraceOrigin*, size_t> place;
  const auto add = [&](const TraceOrigin& origin, size_t group) {
    if (group == groups.size()) groups.emplace_back();
    groups[group].Add(origin);
    place[&origin] = group;
  };
  std::vector<const TraceOrigin*> by_begin;
  for (const TraceOrigin& origin : origins) by_begin.push_back(&origin);
  std::ranges::stable_sort(by_begin, {}, [](const TraceOrigin* origin) { return origin->begin; });
  for (const TraceOrigin* origin : by_begin) {
    if (origin->kind == TraceOrigin::Kind::kNotRead) continue;
    if (origin->kind == TraceOrigin::Kind::kOther) {
      if (strangers == origins.size()) strangers = groups.size();
      add(*origin, strangers);
    } else if (!origin->run.empty()) {
      add(*origin, by_run.try_emplace(origin->run, groups.size()).first->second);
    } else {
      const auto parent = std::ranges::find_if(
          by_begin, [&](const TraceOrigin* other) { return IsChildOf(*origin, *other); });
      const bool is_known = parent != by_begin.end() && place.contains(*parent);
      add(*origin, is_known ? place[*parent] : groups.size());
    }
  }
  return groups;
}

// Returns the name of the trace of which a file with this name is a copy; empty if it is not the
// name of a copy.
std::string WholeOf(const std::string& file) {
  constexpr std::string_view kEnding = ".stow";
  if (!file.ends_with(kEnding)) return "";
  for (const std::string_view tag : {"-oom", "-dump"}) {
    const size_t at = file.rfind(tag);
    if (at == std::string::npos) continue;
    std::string_view rest = file;
    rest.remove_prefix(at + tag.size());
    rest.remove_suffix(kEnding.size());
    const bool is_counted = rest.starts_with('-');
    if (is_counted) rest.remove_prefix(1);
    if (is_counted == rest.empty()) continue;
    if (rest.find_first_not_of("0123456789") != std::string_view::npos) continue;
    return file.substr(0, at) + std::string(kEnding);
  }
  return "";
}

bool IsNamedLikeACopy(const std::string& file) { return !WholeOf(file).empty(); }

}  // namespace

TraceOrigin OriginOf(const std::string& file) {
  TraceOrigin origin;
  origin.file = file;
  origin.begin = WrittenAt(file);
  const auto source = TraceSource::Open(file);
  if (!source.ok()) {
    const absl::StatusOr<Input> input = Input::Open(file);
    if (input.ok() && IsReadHere(input->sniffed().format)) origin.kind = TraceOrigin::Kind::kOther;
    return origin;
  }
  const FactTexts& facts = (*source)->facts();
  origin.kind = TraceOrigin::Kind::kTrace;
  const std::string run = TextOf(facts, "run.id");
  origin.run = run.substr(0, run.find('/'));
  origin.job = TextOf(facts, "run.job");
  origin.host = TextOf(facts, "process.host");
  origin.requeue = TextOf(facts, "run.requeue");
  origin.restart = TextOf(facts, "run.restart");
  origin.process = NumberOf(facts, "process.pid");
  origin.parent = NumberOf(facts, "process.parent");
  int64_t rank = 0;
  if (absl::SimpleAtoi(TextOf(facts, "process.rank"), &rank)) origin.rank = rank;
  if (const int64_t start = NumberOf(facts, "process.start_time"); start != 0) origin.begin = start;
  return origin;
}

std::vector<Run> RunsOf(const std::vector<TraceOrigin>& origins) {
  std::vector<Group> groups = GroupsOf(origins);
  std::ranges::stable_sort(groups, {}, &Group::begin);
  std::vector<Group> joined;
  for (Group& group : groups) {
    const auto earlier = std::find_if(joined.rbegin(), joined.rend(),
                                      [&](const Group& other) { return group.Continues(other); });
    if (earlier == joined.rend()) {
      joined.push_back(std::move(group));
      continue;
    }
    for (const TraceOrigin* member : group.members) earlier->Add(*member);
  }
  std::ranges::stable_sort(joined, std::ranges::greater(), &Group::begin);
  std::vector<Run> runs;
  for (const Group& group : joined) {
    Run run{.files = {}, .begin = group.begin};
    for (const TraceOrigin* member : group.members) run.files.push_back(member->file);
    std::ranges::sort(run.files);
    runs.push_back(std::move(run));
  }
  return runs;
}

std::vector<std::string> RemoveCopies(std::vector<std::string>* files) {
  if (std::ranges::none_of(*files, IsNamedLikeACopy)) return {};
  // Maps each process to the file that is used for it. That is the trace itself or, if it is not
  // among the files, the copy that was made last.
  std::map<RecordedProcess, std::string> kept;
  std::map<std::string, RecordedProcess> named_like_copies;
  std::set<std::string> unreadable;
  const std::set<std::string> all(files->begin(), files->end());
  for (const std::string& file : *files) {
    const RecordedProcess process = ProcessOfTrace(file);
    const std::string whole = WholeOf(file);
    if (!process.is_known()) {
      if (all.contains(whole)) unreadable.insert(file);
    } else if (whole.empty()) {
      kept[process] = file;
    } else {
      named_like_copies[file] = process;
    }
  }
  for (const auto& [file, process] : named_like_copies) {
    const auto [last, is_first] = kept.try_emplace(process, file);
    if (is_first || !IsNamedLikeACopy(last->second)) continue;
    if (WrittenAt(last->second) < WrittenAt(file)) last->second = file;
  }
  std::vector<std::string> copies;
  std::erase_if(*files, [&](const std::string& file) {
    const auto process = named_like_copies.find(file);
    const bool is_copy = process != named_like_copies.end() ? kept[process->second] != file
                                                            : unreadable.contains(file);
    if (is_copy) copies.push_back(file);
    return is_copy;
  });
  return copies;
}

}  // namespace vramstow
