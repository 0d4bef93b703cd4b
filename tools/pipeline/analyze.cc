#include "tools/pipeline/analyze.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <memory>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "tools/analysis/accounts/analyzer.h"
#include "tools/analysis/advice/advise.h"
#include "tools/analysis/advice/hand_changes.h"
#include "tools/analysis/advice/neighbours.h"
#include "tools/analysis/advice/order.h"
#include "tools/analysis/explain/explain.h"
#include "tools/analysis/facts/merge.h"
#include "tools/inputs/curve.h"
#include "tools/inputs/open_input.h"
#include "tools/inputs/runs.h"
#include "tools/inputs/snapshot_source.h"
#include "tools/inputs/trace_start.h"
#include "tools/inputs/within_source.h"
#include "tools/pipeline/keeping_line.h"
#include "tools/replay/proof.h"

namespace vramstow {
namespace {

absl::StatusOr<Analysis> AnalyzeWithin(const std::string& path, const std::string& within,
                                       NameLookup lookup) {
  auto source = OpenEvents(path, lookup);
  if (!source.ok()) return source.status();
  WithinSource inside(*std::move(source), within);
  Analysis analysis = AnalyzeInDetail(&inside, path);
  if (inside.found()) return analysis;
  return absl::InvalidArgumentError(absl::StrCat(path, " has no range '", within,
                                                 "': see its marks with vramstow export --to "
                                                 "chrome."));
}

absl::StatusOr<Analysis> AnalyzeAll(const std::string& path, NameLookup lookup) {
  absl::StatusOr<InputContent> content = OpenInput(path, lookup);
  if (!content.ok()) return content.status();
  if (const auto* curve = std::get_if<LevelCurve>(&*content)) {
    Analysis analysis = AnalyzeCurve(*curve);
    analysis.facts.file = path;
    return analysis;
  }
  EventSource* source = std::get<std::unique_ptr<EventSource>>(*content).get();
  Analysis analysis = AnalyzeInDetail(source, path);
  if (const auto* snapshot = dynamic_cast<const SnapshotSource*>(source)) {
    analysis.facts.snapshot = snapshot->State();
  }
  return analysis;
}

// Returns a text like "a.stow, b.stow and 3 more".
std::string NamesOf(const std::vector<std::string>& files) {
  constexpr size_t kMax = 2;
  std::string names;
  for (size_t i = 0; i < std::min(kMax, files.size()); ++i) {
    absl::StrAppend(&names, i == 0 ? "" : ", ", files[i].substr(files[i].rfind('/') + 1));
  }
  return files.size() <= kMax ? names : absl::StrCat(names, " and ", files.size() - kMax, " more");
}

// True if the file can be opened in the format that its first bytes suggest. For example, any JSON
// object may be a profiler trace until it is parsed.
bool CanBeRead(const std::string& file) { return OpenInput(file).ok(); }

// Returns the runs of these files. The newest file may look like the recording of another program,
// although it is only a note or a list of settings that begins with a brace. It counts as a run
// only if it can be parsed.
std::vector<Run> RunsThatAreRead(std::vector<TraceOrigin>* origins) {
  std::vector<Run> runs = RunsOf(*origins);
  if (runs.size() <= 1) return runs;
  bool is_changed = false;
  for (TraceOrigin& origin : *origins) {
    if (origin.kind != TraceOrigin::Kind::kOther) continue;
    if (std::ranges::find(runs.front().files, origin.file) == runs.front().files.end()) continue;
    if (CanBeRead(origin.file)) continue;
    origin.kind = TraceOrigin::Kind::kNotRead;
    is_changed = true;
  }
  return is_changed ? RunsOf(*origins) : runs;
}

// Returns the files of the newest run in the folder, because unrelated recordings are not added up.
// Adds messages to *left_out that name the files of other runs.
std::vector<std::string> FilesOfNewestRun(const std::string& folder,
                                          std::vector<std::string>* left_out) {
  constexpr size_t kMaxRuns = 10;
  std::vector<std::string> files = FilesOf(folder);
  for (const std::string& copy : RemoveCopies(&files)) {
    left_out->push_back(
        absl::StrCat("Left out: ", copy, ", a copy of events that are in another file."));
  }
  std::vector<TraceOrigin> origins;
  for (const std::string& file : files) origins.push_back(OriginOf(file));
  const std::vector<Run> runs = RunsThatAreRead(&origins);
  if (runs.size() <= 1) return files;
  for (size_t i = 1; i < std::min(runs.size(), kMaxRuns + 1); ++i) {
    left_out->push_back(
        absl::StrCat("Left out, because it belongs to another run: ", NamesOf(runs[i].files), "."));
  }
  if (runs.size() > kMaxRuns + 1) {
    left_out->push_back(absl::StrCat("Left out: ", runs.size() - kMaxRuns - 1, " older runs."));
  }
  left_out->push_back(absl::StrCat("The newest of ", runs.size(),
                                   " runs is read; name the files of another run to read it."));
  std::vector<std::string> taken = runs.front().files;
  // Files that cannot be read remain in the list, because the attempt to read them reports the
  // error.
  for (const TraceOrigin& origin : origins) {
    if (origin.kind == TraceOrigin::Kind::kNotRead) taken.push_back(origin.file);
  }
  return taken;
}

}  // namespace

void ExplainAndProve(Analysis* analysis) {
  Facts& facts = analysis->facts;
  const Detail& detail = analysis->detail;
  const Explanation explanation(detail, &facts);
  std::vector<AdviceFacts> advice =
      WithRetentionLines(detail, facts.file, Advise(detail, explanation, &facts));
  ComposeAdvice(ProveAdvice(detail, facts, std::move(advice)), &facts);
}

absl::StatusOr<Analysis> AnalyzeFile(const std::string& path, const std::string& within,
                                     NameLookup lookup) {
  absl::StatusOr<Analysis> analysis =
      within.empty() ? AnalyzeAll(path, lookup) : AnalyzeWithin(path, within, lookup);
  if (analysis.ok()) ExplainAndProve(&*analysis);
  return analysis;
}

Facts ExplainWithoutAdvice(const Analysis& analysis) {
  Facts facts = analysis.facts;
  const Explanation explanation(analysis.detail, &facts);
  FindHandChanges(analysis.detail, explanation.categories(), &facts);
  return facts;
}

void NameNeighboursOf(std::vector<Analysis>* analyses) {
  if (analyses->size() < 2) return;
  std::vector<Recorded> recorded;
  for (Analysis& one : *analyses) recorded.push_back({&one, TraceStartUnixNs(one.facts.file)});
  NameNeighbours(recorded);
}

absl::StatusOr<InputSet> AnalyzePaths(const std::vector<std::string>& paths,
                                      const std::string& within, NameLookup lookup) {
  InputSet set;
  for (const std::string& path : paths) {
    BeginReading(path);
    std::error_code error;
    if (!std::filesystem::is_directory(path, error)) {
      absl::StatusOr<Analysis> analysis = AnalyzeFile(path, within, lookup);
      if (!analysis.ok()) return analysis.status();
      set.analyses.push_back(*std::move(analysis));
      continue;
    }
    if (std::filesystem::directory_iterator(path, error); error) {
      return absl::PermissionDeniedError(
          absl::StrCat(path, " cannot be read: ", error.message(), "."));
    }
    const size_t before = set.analyses.size();
    const std::vector<std::string> files = FilesOfNewestRun(path, &set.left_out);
    for (const std::string& file : files) {
      BeginReading(file, static_cast<size_t>(&file - files.data()), files.size());
      absl::StatusOr<Analysis> analysis = AnalyzeFile(file, within, lookup);
      if (analysis.ok()) {
        set.analyses.push_back(*std::move(analysis));
      } else {
        const std::string problem(analysis.status().message());
        set.left_out.push_back("Left out: " + problem);
        // A trace that can be read, but lacks the range `within`, is no failure.
        if (file.ends_with(".stow") && !CanBeRead(file)) set.not_read.push_back(problem);
      }
    }
    if (set.analyses.size() > before) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        path,
        " is a folder without a file that vramstow reads: record a run into it, or name a file."));
  }
  NameNeighboursOf(&set.analyses);
  // Sorts the analyses in the order in which facts of several traces are reported.
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
