#include "tools/pipeline/analyze.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <memory>
#include <utility>
#include <variant>

#include "absl/status/status.h"
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

// A file to read, and the path of the command that names it or its folder.
struct NamedFile {
  std::string path;
  size_t named_by = 0;  // number of that path
  bool is_of_folder = false;
};

// Whether a file of a folder was used and, if none was, why. The first problem of a recording is a
// better reason than that of another file.
struct FolderState {
  bool is_used = false;
  bool is_problem_of_trace = false;
  absl::Status problem;
};

absl::Status NothingToRead(const std::string& folder) {
  return absl::InvalidArgumentError(absl::StrCat(
      folder,
      " is a folder without a file that vramstow reads: record a run into it, or name a file."));
}

absl::StatusOr<std::vector<NamedFile>> FilesOfPaths(const std::vector<std::string>& paths,
                                                    std::vector<std::string>* left_out) {
  std::vector<NamedFile> files;
  for (size_t i = 0; i < paths.size(); ++i) {
    std::error_code error;
    if (!std::filesystem::is_directory(paths[i], error)) {
      files.push_back({paths[i], i, /*is_of_folder=*/false});
      continue;
    }
    if (std::filesystem::directory_iterator(paths[i], error); error) {
      return absl::PermissionDeniedError(
          absl::StrCat(paths[i], " cannot be read: ", error.message(), "."));
    }
    const std::vector<std::string> found = FilesOfNewestRun(paths[i], left_out);
    if (found.empty()) return NothingToRead(paths[i]);
    for (const std::string& file : found) files.push_back({file, i, /*is_of_folder=*/true});
  }
  return files;
}

// Returns one name for each file, however a command names it.
std::string OneNameOf(const std::string& path) {
  std::error_code error;
  const std::filesystem::path name = std::filesystem::weakly_canonical(path, error);
  return error ? path : name.string();
}

// Removes files that are named twice, and copies of traces that are named themselves, because their
// events would be counted twice. Adds messages to *left_out.
void LeaveOutCopies(std::vector<NamedFile>* files, std::vector<std::string>* left_out) {
  std::vector<std::string> names;
  std::erase_if(*files, [&](const NamedFile& file) {
    const std::string name = OneNameOf(file.path);
    if (std::ranges::find(names, name) == names.end()) {
      names.push_back(name);
      return false;
    }
    left_out->push_back(absl::StrCat("Left out: ", file.path, ", which is named more than once."));
    return true;
  });
  const std::vector<std::string> copies = RemoveCopies(&names);
  std::erase_if(*files, [&](const NamedFile& file) {
    if (std::ranges::find(copies, OneNameOf(file.path)) == copies.end()) return false;
    left_out->push_back(
        absl::StrCat("Left out: ", file.path, ", a copy of events that are in another file."));
    return true;
  });
}

// Notes that a file of a folder is not used.
void NoteProblem(const std::string& file, const absl::Status& status, const std::string& folder,
                 FolderState* state, InputSet* set) {
  const std::string problem(status.message());
  set->left_out.push_back("Left out: " + problem);
  // A trace that can be read, but lacks the range `within`, is no failure.
  const bool is_trace = file.ends_with(".stow");
  const bool can_be_read = CanBeRead(file);
  if (is_trace && !can_be_read) set->not_read.push_back(problem);
  // Other files of a folder need not be recordings.
  if (is_trace || can_be_read) {
    if (!state->is_problem_of_trace) state->problem = status;
    state->is_problem_of_trace = true;
  } else if (state->problem.ok()) {
    state->problem = NothingToRead(folder);
  }
}

// Adds the time of the last event, by the wall clock, to each trace that was not closed. If one
// process of a job is killed, its launcher ends the others, so the order matters.
void NoteLastEvents(std::vector<Analysis>* analyses) {
  if (analyses->size() < 2) return;
  for (Analysis& one : *analyses) {
    const uint64_t start = TraceStartUnixNs(one.facts.file);
    if (one.facts.report.closed || one.facts.report.events == 0 || start == 0) continue;
    one.facts.trace_metadata.try_emplace("recording.last_event_unix_ns",
                                         absl::StrCat(start + one.facts.end_ns));
  }
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
  if (!analysis.ok()) return analysis;
  analysis->facts.start_unix_ns = TraceStartUnixNs(path);
  ExplainAndProve(&*analysis);
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
  absl::StatusOr<std::vector<NamedFile>> files = FilesOfPaths(paths, &set.left_out);
  if (!files.ok()) return files.status();
  LeaveOutCopies(&*files, &set.left_out);
  std::vector<FolderState> folders(paths.size());
  for (size_t i = 0; i < files->size(); ++i) {
    const NamedFile& file = (*files)[i];
    BeginReading(file.path, i, files->size());
    absl::StatusOr<Analysis> analysis = AnalyzeFile(file.path, within, lookup);
    if (analysis.ok()) {
      set.analyses.push_back(*std::move(analysis));
      folders[file.named_by].is_used = true;
    } else if (!file.is_of_folder) {
      return analysis.status();
    } else {
      NoteProblem(file.path, analysis.status(), paths[file.named_by], &folders[file.named_by],
                  &set);
    }
  }
  for (const FolderState& folder : folders) {
    if (!folder.is_used && !folder.problem.ok()) return folder.problem;
  }
  NameNeighboursOf(&set.analyses);
  NoteLastEvents(&set.analyses);
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
