#include "tools/inputs/analyze_input.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tools/analysis/advice/advise.h"
#include "tools/analysis/explain/explain.h"
#include "tools/analysis/facts/merge.h"
#include "tools/analysis/pass/analyzer.h"
#include "tools/base/progress.h"
#include "tools/formats/input.h"
#include "tools/formats/memory_timeline.h"
#include "tools/formats/minimalloc.h"
#include "tools/formats/profiler_trace.h"
#include "tools/formats/rmm_log.h"
#include "tools/formats/snapshot_reader.h"
#include "tools/inputs/curve.h"
#include "tools/inputs/list_source.h"
#include "tools/inputs/snapshot_source.h"
#include "tools/inputs/stacked_source.h"
#include "tools/inputs/trace_source.h"
#include "tools/inputs/within_source.h"
#include "tools/replay/proof.h"

namespace vramstow {
namespace {

// As the program's other sentences end.
absl::Status WithFullStop(const absl::Status& status) {
  std::string sentence(status.message());
  if (!sentence.ends_with('.')) sentence += '.';
  return absl::Status(status.code(), sentence);
}

// What each device says is reserved, added up, after each of its events.
std::vector<uint64_t> ReservedAfter(const ProfilerTrace& trace) {
  std::map<int16_t, uint64_t> by_device;
  std::vector<uint64_t> reserved;
  uint64_t total = 0;
  for (const ProfilerSample& sample : trace.samples) {
    if (sample.device_type == kCpuDeviceType) continue;
    if (sample.has_totals) {
      uint64_t& level = by_device[sample.device];
      total += sample.total_reserved - level;
      level = sample.total_reserved;
    }
    reserved.push_back(total);
  }
  return by_device.empty() ? std::vector<uint64_t>() : reserved;
}

template <typename T>
absl::StatusOr<std::unique_ptr<EventSource>> ListOf(std::string_view kind, absl::StatusOr<T> read) {
  if (!read.ok()) return WithFullStop(read.status());
  if constexpr (std::is_same_v<T, EventList>) {
    return std::make_unique<EventListSource>(kind, *std::move(read));
  } else if constexpr (std::is_same_v<T, ProfilerTrace>) {
    return std::make_unique<EventListSource>(kind, ProfilerEvents(*read), ReservedAfter(*read));
  } else {
    return std::make_unique<EventListSource>(kind, MinimallocEvents(*read));
  }
}

absl::StatusOr<std::unique_ptr<EventSource>> OpenEvents(const Input& input) {
  switch (input.sniffed().format) {
    case FileFormat::kPickle: {
      absl::StatusOr<Snapshot> snapshot = ReadSnapshot(input);
      if (!snapshot.ok()) return WithFullStop(snapshot.status());
      return std::make_unique<SnapshotSource>(*std::move(snapshot));
    }
    case FileFormat::kRmmLog:
      return ListOf("rmm_log", ReadRmmLog(input));
    case FileFormat::kProfilerTrace:
      return ListOf("profiler_trace", ReadProfilerTrace(input));
    case FileFormat::kMinimalloc:
      return ListOf("minimalloc", ReadMinimalloc(input));
    case FileFormat::kMemoryTimeline:
      return absl::InvalidArgumentError(
          absl::StrCat(input.path(), " is a memory timeline: it has a curve and no events."));
    case FileFormat::kEmpty:
      return absl::InvalidArgumentError(absl::StrCat(input.path(), " is empty."));
    default:
      return WithFullStop(absl::InvalidArgumentError(NotReadable(input.path(), input.sniffed())));
  }
}

Analysis Explained(Analysis analysis) {
  const Explanation explanation(analysis.detail, &analysis.facts);
  Advise(analysis.detail, explanation, &analysis.facts);
  ProveAdvice(analysis.detail, &analysis.facts);
  return analysis;
}

}  // namespace

absl::StatusOr<std::unique_ptr<EventSource>> OpenEvents(const std::string& path) {
  // A trace that is still written to may not be mapped: its own reader goes first.
  auto trace = TraceSource::Open(path);
  if (trace.ok()) return std::make_unique<StackedSource>(*std::move(trace));
  absl::StatusOr<Input> input = Input::Open(path);
  if (!input.ok()) return WithFullStop(input.status());
  if (input->sniffed().format == FileFormat::kStow) return trace.status();
  return OpenEvents(*input);
}

namespace {

absl::StatusOr<Analysis> AnalyzeWithin(const std::string& path, const std::string& within) {
  auto source = vramstow::OpenEvents(path);
  if (!source.ok()) return source.status();
  WithinSource inside(*std::move(source), within);
  Analysis analysis = AnalyzeInDetail(&inside, path);
  if (inside.found()) return Explained(std::move(analysis));
  return absl::InvalidArgumentError(absl::StrCat(path, " has no range '", within,
                                                 "': see its marks with vramstow export --to "
                                                 "chrome."));
}

}  // namespace

void BeginReading(const std::string& path, size_t number, size_t count) {
  const size_t slash = path.rfind('/', path.size() < 2 ? 0 : path.size() - 2);
  Progress::OfProcess().Begin(
      absl::StrCat("reading ", slash == std::string::npos ? path : path.substr(slash + 1),
                   count > 1 ? absl::StrCat(" (", number + 1, " of ", count, ")") : ""),
      number, count);
}

std::vector<std::string> FilesOf(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) return {path};
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(path, error)) {
    if (entry.is_regular_file(error)) files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

absl::StatusOr<Analysis> AnalyzeFile(const std::string& path, const std::string& within) {
  if (!within.empty()) return AnalyzeWithin(path, within);
  auto trace = TraceSource::Open(path);
  if (trace.ok()) {
    StackedSource stacked(*std::move(trace));
    return Explained(AnalyzeInDetail(&stacked, path));
  }
  absl::StatusOr<Input> input = Input::Open(path);
  if (!input.ok()) return WithFullStop(input.status());
  if (input->sniffed().format == FileFormat::kStow) return trace.status();
  if (input->sniffed().format == FileFormat::kMemoryTimeline) {
    absl::StatusOr<MemoryTimeline> timeline = ReadMemoryTimeline(*input);
    if (!timeline.ok()) return WithFullStop(timeline.status());
    Analysis analysis = Explained(AnalyzeCurve(*timeline));
    analysis.facts.file = path;
    return analysis;
  }
  auto source = OpenEvents(*input);
  if (!source.ok()) return source.status();
  Analysis analysis = AnalyzeInDetail(source->get(), path);
  if (const auto* snapshot = dynamic_cast<const SnapshotSource*>(source->get())) {
    analysis.facts.snapshot = snapshot->State();
  }
  return Explained(std::move(analysis));
}

absl::StatusOr<InputSet> AnalyzePaths(const std::vector<std::string>& paths,
                                      const std::string& within) {
  InputSet set;
  for (const std::string& path : paths) {
    BeginReading(path);
    std::error_code error;
    if (!std::filesystem::is_directory(path, error)) {
      absl::StatusOr<Analysis> analysis = AnalyzeFile(path, within);
      if (!analysis.ok()) return analysis.status();
      set.analyses.push_back(*std::move(analysis));
      continue;
    }
    const size_t before = set.analyses.size();
    const std::vector<std::string> files = FilesOf(path);
    for (const std::string& file : files) {
      BeginReading(file, static_cast<size_t>(&file - files.data()), files.size());
      absl::StatusOr<Analysis> analysis = AnalyzeFile(file, within);
      if (analysis.ok()) {
        set.analyses.push_back(*std::move(analysis));
      } else {
        set.left_out.push_back("Left out: " + std::string(analysis.status().message()));
      }
    }
    if (set.analyses.size() > before) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        path,
        " is a folder without a file that is read here: record a run into it, or name a file."));
  }
  // In the order in which facts of several are told.
  std::ranges::stable_sort(set.analyses, {}, [](const Analysis& analysis) {
    return analysis.facts.rank.value_or(std::numeric_limits<int64_t>::max());
  });
  return set;
}

FactSet Together(InputSet inputs) {
  std::vector<Facts> facts;
  facts.reserve(inputs.analyses.size());
  for (Analysis& analysis : inputs.analyses) facts.push_back(std::move(analysis.facts));
  FactSet set = MergeTraces(std::move(facts));
  set.left_out = std::move(inputs.left_out);
  return set;
}

}  // namespace vramstow
