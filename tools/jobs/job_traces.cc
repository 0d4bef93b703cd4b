#include "tools/jobs/job_traces.h"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tools/analysis/accounts/analyzer.h"
#include "tools/inputs/open_input.h"
#include "tools/inputs/runs.h"
#include "tools/inputs/trace_source.h"
#include "tools/inputs/trace_start.h"
#include "tools/jobs/run_id.h"
#include "tools/pipeline/analyze.h"
#include "tools/symbols/kept_functions.h"

namespace vramstow {
namespace {

using Explain = JobTracesQuery::Explain;

// The clock of a file server may be behind the clock of this machine by this many seconds.
constexpr time_t kClockSlack = 3600;
constexpr uint64_t kEventsBetweenLooks = 1 << 16;
// The largest number of events in traces that are explained while a user waits for a prompt.
constexpr uint64_t kMaxEvents = 2'000'000;
constexpr uint64_t kMaxEventsOfFault = 500'000;  // takes less than a second

// Returns the events of another source, and ends early once stop() returns true.
class StoppableSource : public EventSource {
 public:
  StoppableSource(EventSource* source, const std::function<bool()>& stop)
      : source_(source), stop_(stop) {}

  bool Next(Event* event) override {
    if (++events_ % kEventsBetweenLooks == 0 && stop_()) stopped_ = true;
    return !stopped_ && source_->Next(event);
  }
  std::string_view CallName(uint16_t call) const override { return source_->CallName(call); }
  std::string_view LibraryPath(uint16_t library) const override {
    return source_->LibraryPath(library);
  }
  const std::map<std::string, std::string>& facts() const override { return source_->facts(); }
  ReadReport report() const override { return source_->report(); }
  std::string_view Kind() const override { return source_->Kind(); }
  uint32_t Stack() const override { return source_->Stack(); }
  std::vector<CallFrame> Frames(uint32_t stack) const override { return source_->Frames(stack); }
  std::string_view MarkText(const Event& mark) const override { return source_->MarkText(mark); }
  std::optional<uint16_t> OpeningCall() const override { return source_->OpeningCall(); }
  bool ReportsFreeCompleted() const override { return source_->ReportsFreeCompleted(); }
  std::optional<uint64_t> Reserved() const override { return source_->Reserved(); }
  const TraceSums* Sums() const override { return source_->Sums(); }
  bool Rewind() override { return source_->Rewind(); }
  std::vector<TraceGap> Gaps() const override { return source_->Gaps(); }
  std::vector<std::string> missing() const override { return source_->missing(); }
  bool stopped() const { return stopped_; }

 private:
  EventSource* source_;
  const std::function<bool()>& stop_;
  uint64_t events_ = 0;
  bool stopped_ = false;
};

std::vector<std::string> TraceFiles(const std::string& directory) {
  std::vector<std::string> files;
  DIR* folder = opendir(directory.c_str());
  if (folder == nullptr) return files;
  while (const dirent* entry = readdir(folder)) {
    const std::string name = entry->d_name;
    if (name.ends_with(".stow")) files.push_back(absl::StrCat(directory, "/", name));
  }
  closedir(folder);
  std::sort(files.begin(), files.end());
  // A copy of a trace, made while its process ran, does not stand for another process.
  RemoveCopies(&files);
  return files;
}

// Returns the traces of the job. Files of other jobs are skipped, and unreadable files are counted.
std::vector<std::string> FilesOfJob(const JobTracesQuery& query, const std::function<bool()>& stop,
                                    JobTraces* traces) {
  std::vector<std::string> files;
  for (const std::string& file : TraceFiles(query.directory)) {
    if (traces->stopped = stop(); traces->stopped) return files;
    struct stat status;
    if (stat(file.c_str(), &status) != 0 || status.st_mtime < query.begin - kClockSlack) continue;
    const auto source = TraceSource::Open(file);
    if (!source.ok()) {
      traces->unread += status.st_mtime >= query.begin ? 1 : 0;
      continue;
    }
    const auto id = (*source)->facts().find("run.id");
    if (id == (*source)->facts().end() || !BelongsToRun(id->second, query.run_id)) continue;
    files.push_back(file);
  }
  return files;
}

// Writes the names of native functions into the traces, because another machine may not have the
// libraries of this one. If that fails, the names are known on this machine only.
void KeepFunctionsOf(const std::vector<std::string>& files) {
  constexpr std::chrono::milliseconds kMax{2000};
  const auto end = std::chrono::steady_clock::now() + kMax;
  for (const std::string& file : files) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    if (left.count() <= 0) return;
    KeepFunctions(file, left).IgnoreError();
  }
}

// Explains the last failure or fault, and moves of memory, while the traces are read one after the
// other. The detail of a trace is stored as long as an explanation may need it.
class MomentExplainer {
 public:
  void Add(Analysis analysis) {
    const uint64_t events = analysis.facts.report.events;
    events_ += events;
    if (events <= kMaxEvents && analysis.facts.counts.out_of_memory > 0) {
      failed_ = analyses_.size();
    }
    moves_.push_back(events <= kMaxEvents ? ExplainMoves(analysis) : std::nullopt);
    analyses_.push_back(std::move(analysis));
    if (events_ <= kMaxEvents) return;
    for (size_t i = 0; i < analyses_.size(); ++i) {
      if (i != failed_) analyses_[i].detail = {};
    }
  }

  std::vector<Analysis> Finish() {
    if (!failed_.has_value() && events_ <= kMaxEventsOfFault) LookForFault();
    for (size_t i = 0; i < analyses_.size(); ++i) {
      if (i == failed_ || i == looked_into_ || !moves_[i].has_value()) continue;
      analyses_[i].facts.model_clock = std::move(moves_[i]->model_clock);
      analyses_[i].facts.offload = std::move(moves_[i]->offload);
    }
    if (failed_.has_value()) ExplainFailure();
    return std::move(analyses_);
  }

 private:
  struct Moves {
    ModelClockFacts model_clock;
    OffloadFacts offload;
  };

  // Finds how long an iteration takes by the simulated GPU's clock, and whether the job ran only
  // because memory was moved.
  static std::optional<Moves> ExplainMoves(const Analysis& analysis) {
    constexpr auto kClock = static_cast<size_t>(EventKind::kModelClock);
    constexpr auto kPressure = static_cast<size_t>(OffloadReason::kPressure);
    const Facts& facts = analysis.facts;
    if (facts.counts.by_kind[kClock] == 0 && facts.offload.by_reason[kPressure] == 0) {
      return std::nullopt;
    }
    Facts explained = ExplainWithoutAdvice(analysis);
    return Moves{std::move(explained.model_clock), std::move(explained.offload)};
  }

  // Looks for a fault that did not end the job, such as memory that grows, in the process that
  // needed most memory.
  void LookForFault() {
    const auto largest = std::ranges::max_element(
        analyses_, {}, [](const Analysis& one) { return one.facts.peak.allocated_bytes; });
    if (largest == analyses_.end()) return;
    looked_into_ = static_cast<size_t>(largest - analyses_.begin());
    ExplainAndProve(&*largest);
  }

  void ExplainFailure() {
    Facts& facts = analyses_[*failed_].facts;
    ExplainAndProve(&analyses_[*failed_]);
    const bool is_of_others = !facts.out_of_memory.empty() &&
                              facts.out_of_memory.back().cause == AdviceId::kOtherProcesses;
    // The trace of another process of the job shows how much memory that process held.
    if (is_of_others && events_ <= kMaxEvents) NameNeighboursOf(&analyses_);
  }

  std::vector<Analysis> analyses_;
  std::vector<std::optional<Moves>> moves_;  // one for each analysis
  uint64_t events_ = 0;                      // events of all traces
  std::optional<size_t> failed_;             // the last trace that ran out of memory
  std::optional<size_t> looked_into_;        // for a fault, if no trace ran out of memory
};

}  // namespace

JobTraces ReadJobTraces(const JobTracesQuery& query, const std::function<bool()>& stop) {
  JobTraces traces;
  const std::vector<std::string> files = FilesOfJob(query, stop, &traces);
  if (traces.stopped) return traces;
  KeepFunctionsOf(files);
  MomentExplainer moment;
  std::vector<Analysis> everything;
  for (const std::string& file : files) {
    if (traces.stopped = stop(); traces.stopped) return traces;
    BeginReading(file, static_cast<size_t>(&file - files.data()), files.size());
    const auto source = OpenEvents(file);
    if (!source.ok()) {
      ++traces.unread;
      continue;
    }
    StoppableSource stoppable(source->get(), stop);
    Analysis analysis = AnalyzeInDetail(&stoppable, file);
    analysis.facts.start_unix_ns = TraceStartUnixNs(file);
    if (traces.stopped = stoppable.stopped(); traces.stopped) return traces;
    if (query.explain == Explain::kMoment) {
      moment.Add(std::move(analysis));
    } else {
      ExplainAndProve(&analysis);
      everything.push_back(std::move(analysis));
    }
  }
  if (query.explain == Explain::kMoment) {
    everything = moment.Finish();
  } else {
    NameNeighboursOf(&everything);
  }
  for (Analysis& analysis : everything) traces.facts.push_back(std::move(analysis.facts));
  return traces;
}

bool HasOtherTraces(const JobTracesQuery& query, const JobTraces& traces) {
  std::vector<std::string> files = FilesOf(query.directory);
  std::erase_if(files, [&query](const std::string& file) {
    struct stat status = {};
    return stat(file.c_str(), &status) != 0 || status.st_mtime < query.begin;
  });
  RemoveCopies(&files);
  std::vector<TraceOrigin> origins;
  for (const std::string& file : files) origins.push_back(OriginOf(file));
  const std::vector<Run> runs = RunsOf(origins);
  std::vector<std::string> own;
  for (const Facts& facts : traces.facts) own.push_back(facts.file);
  std::ranges::sort(own);
  return runs.empty() || runs.front().files != own;
}

}  // namespace vramstow
