#include "tools/jobs/job.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <exception>
#include <map>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/options.h"
#include "tools/analysis/facts/merge.h"
#include "tools/jobs/job_traces.h"
#include "tools/jobs/preparation.h"
#include "tools/launch/end_signals.h"
#include "tools/launch/environment.h"
#include "tools/launch/package_folders.h"
#include "tools/launch/ranks.h"
#include "tools/launch/run_apart.h"
#include "tools/launch/run_ends.h"
#include "tools/terminal/progress_bar.h"

namespace vramstow {
namespace {

bool Failed(const ChildEnd& end) { return end.how != ChildEnd::How::kExited || end.value != 0; }

// A job whose command can be started.
struct PreparedJob {
  explicit PreparedJob(const Job& of) : job(of) {}

  const Job& job;
  CheckedJob checked;
  Environment environment;
  JobTracesQuery query;
  std::optional<RunEnds> run_ends;
};

absl::Status Prepare(PreparedJob* prepared) {
  auto checked = CheckJob(prepared->job);
  if (!checked.ok()) return checked.status();
  prepared->checked = *std::move(checked);
  Environment& environment = prepared->environment;
  for (const auto& [variable, value] : prepared->checked.flags) environment.Set(variable, value);
  JobTracesQuery& query = prepared->query;
  query.run_id = NewRunId(environment.Get(kRunIdVariable));
  environment.Set(kRunIdVariable, query.run_id);
  const char* const python_path = environment.Get("PYTHONPATH");
  const std::string packages =
      PackageFoldersOf(python_path == nullptr ? "" : python_path, prepared->job.command);
  if (!packages.empty()) environment.Set(kPackageFoldersVariable, packages);
  prepared->run_ends.emplace(&environment);
  AddPreloads(prepared->job, prepared->checked, &environment);
  query.begin = time(nullptr);
  return absl::OkStatus();
}

std::vector<ChildEnd> LaunchApart(const Job& job, const std::vector<Environment>& environments) {
  std::vector<ApartCommand> commands;
  for (const Environment& environment : environments) {
    commands.push_back({job.command, environment, job.output});
  }
  return RunApart(std::move(commands));
}

// Runs the command, once for each simulated rank. Returns the end of the first rank that failed or,
// if none failed, of the first rank. Returns nullopt if this process was asked to end before the
// start.
std::optional<ChildEnd> Launch(const PreparedJob& prepared) {
  const Job& job = prepared.job;
  const auto& ranks = prepared.checked.ranks;
  std::vector<Environment> environments(std::max<size_t>(ranks.size(), 1), prepared.environment);
  for (size_t i = 0; i < ranks.size(); ++i) {
    SetRank(ranks[i], prepared.checked.settings.simulate, &environments[i]);
  }
  const std::vector<ChildEnd> ends =
      job.output.empty() ? RunChildren(job.command, &environments) : LaunchApart(job, environments);
  if (ends.empty()) return std::nullopt;
  for (size_t i = 0; i < ends.size() && ranks.size() > 1; ++i) {
    if (ends[i].how == ChildEnd::How::kExited && ends[i].value != 0) {
      job.note("", absl::StrCat("rank ", ranks[i].rank, " ended with status ", ends[i].value, "."));
    } else if (ends[i].how == ChildEnd::How::kKilled) {
      job.note("",
               absl::StrCat("rank ", ranks[i].rank, " was ended by signal ", ends[i].value, "."));
    }
  }
  const auto first = std::ranges::find_if(ends, Failed);
  return first != ends.end() ? *first : ends.front();
}

// Adds the exceptions that are missing in the traces, for example because the disk was full.
void AddUncaught(const std::map<std::string, std::string>& uncaught, std::vector<Facts>* traces) {
  for (Facts& facts : *traces) {
    const auto process = facts.trace_metadata.find("process.pid");
    if (process == facts.trace_metadata.end()) continue;
    const auto error = uncaught.find(process->second);
    if (error != uncaught.end())
      facts.trace_metadata.try_emplace("program.uncaught", error->second);
  }
}

bool IsAskedToEndApart() {
  const EndSignals signals;
  signals.Wait(std::chrono::milliseconds{0});
  return EndSignals::taken() != 0;
}

void ReadTraces(const Job& job, const JobTracesQuery& query, const RunEnds& ends,
                Outcome* outcome) {
  outcome->traces.running = FindProcessesOfRun(query.run_id);
  std::optional<ProgressBar> bar;  // the command has ended and left the terminal
  if (job.output.empty()) bar.emplace(STDERR_FILENO);
  JobTraces traces = ReadJobTraces(query, job.output.empty() ? IsAskedToEnd : IsAskedToEndApart);
  outcome->traces.unread = traces.unread;
  outcome->traces.stopped = traces.stopped;
  if (traces.stopped || traces.facts.empty()) return;
  outcome->traces.has_others = job.output.empty() && HasOtherTraces(query, traces);
  AddUncaught(ends.Uncaught(), &traces.facts);
  outcome->facts = MergeTraces(std::move(traces.facts));
}

// Returns the outcome of a job whose command has ended.
Outcome OutcomeOf(PreparedJob* prepared, const ChildEnd& end) {
  const Job& job = prepared->job;
  const Settings& settings = prepared->checked.settings;
  JobTracesQuery& query = prepared->query;
  Outcome outcome;
  outcome.output = job.output;
  outcome.quiet = settings.quiet && job.output.empty();
  outcome.exit = {end, ExitStatusOf(end, job.command.front()),
                  WhyNotStarted(end, job.command.front())};
  if (outcome.quiet || !settings.trace || !outcome.exit.not_started.empty()) return outcome;
  query.directory = outcome.traces.directory = settings.trace_directory;
  const bool is_for_prompt = job.output.empty() && !job.explains_everything;
  query.explain =
      is_for_prompt ? JobTracesQuery::Explain::kMoment : JobTracesQuery::Explain::kEverything;
  try {
    ReadTraces(job, query, *prepared->run_ends, &outcome);
  } catch (const std::exception& error) {
    // An error here must not change the exit status, which is the exit status of the command.
    outcome.traces.problem = error.what();
  }
  return outcome;
}

}  // namespace

absl::StatusOr<Outcome> RunJob(const Job& job) {
  PreparedJob prepared(job);
  if (absl::Status status = Prepare(&prepared); !status.ok()) return status;
  const auto end = Launch(prepared);
  if (!end.has_value()) return absl::CancelledError("interrupted.");
  return OutcomeOf(&prepared, *end);
}

absl::StatusOr<std::vector<Outcome>> RunJobsTogether(const std::vector<Job>& jobs) {
  std::vector<PreparedJob> prepared;
  prepared.reserve(jobs.size());
  std::vector<ApartCommand> commands;
  for (const Job& job : jobs) {
    prepared.emplace_back(job);
    if (absl::Status status = Prepare(&prepared.back()); !status.ok()) return status;
    commands.push_back({job.command, prepared.back().environment, job.output});
  }
  const std::vector<ChildEnd> ends = RunApart(std::move(commands));
  if (ends.empty()) return absl::CancelledError("interrupted.");
  std::vector<Outcome> outcomes;
  for (size_t i = 0; i < jobs.size(); ++i) outcomes.push_back(OutcomeOf(&prepared[i], ends[i]));
  return outcomes;
}

}  // namespace vramstow
