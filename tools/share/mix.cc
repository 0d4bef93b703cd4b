#include "tools/share/mix.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "base/share_table.h"
#include "base/share_turns.h"
#include "tools/base/progress.h"
#include "tools/base/words.h"
#include "tools/jobs/job.h"
#include "tools/jobs/rehearsal.h"
#include "tools/jobs/run_folder.h"
#include "tools/launch/child.h"
#include "tools/launch/end_signals.h"
#include "tools/share/job_words.h"

namespace vramstow {
namespace {

// Each job needs a place in the table of the processes that share a GPU.
constexpr size_t kMaxJobs = kMaxSharers;
// How much of its output is shown of a job that failed, and of one that ran out of memory, of which
// vramstow has said the most.
constexpr size_t kMaxLines = 10;
constexpr size_t kMaxLinesTooLarge = 3;
constexpr size_t kLineColumns = 200;

// Returns the fact of a trace as a number, or nullopt if the trace does not have it.
std::optional<uint64_t> NumberOf(const Facts& trace, const char* name) {
  const auto fact = trace.trace_metadata.find(name);
  uint64_t number = 0;
  if (fact == trace.trace_metadata.end() || !absl::SimpleAtoi(fact->second, &number)) {
    return std::nullopt;
  }
  return number;
}

// Adds what one process did, and returns true if its trace says when it ended.
bool AddProcess(const Facts& trace, MixRun* run) {
  const auto end = NumberOf(trace, "share.model_end_ns");
  if (!end.has_value()) return false;
  run->end_ns = std::max(run->end_ns, *end);
  run->waited_ns = std::max(run->waited_ns, NumberOf(trace, "share.model_waited_ns").value_or(0));
  run->turns = std::max(run->turns, NumberOf(trace, "share.turns").value_or(0));
  run->out_bytes += NumberOf(trace, "share.out_bytes").value_or(0);
  run->in_bytes += NumberOf(trace, "share.in_bytes").value_or(0);
  return true;
}

uint64_t TotalBytesOf(const Facts& facts) {
  uint64_t total = 0;
  for (const DeviceFacts& device : facts.devices) {
    total = std::max(total, device.total_bytes.value_or(0));
  }
  return total;
}

// Returns why the job counts as failed, or an empty text.
std::string ProblemOf(const Outcome& outcome, const MixRun& run, bool has_end) {
  if (!outcome.exit.not_started.empty()) return outcome.exit.not_started;
  if (run.is_too_large) {
    return absl::StrCat("it ran out of memory at ", Bytes(run.peak_bytes), ", with exit status ",
                        run.status, ".");
  }
  if (run.status != 0) return absl::StrCat("it failed with exit status ", run.status, ".");
  if (!outcome.traces.problem.empty()) {
    return absl::StrCat("its traces cannot be read (", outcome.traces.problem, ").");
  }
  if (outcome.facts.traces.empty()) {
    return "it used no GPU memory, so it cannot share the GPU: remove it from the mix.";
  }
  if (!outcome.traces.running.empty()) {
    return "one of its processes still runs after the command has ended, so its time is not known: "
           "let the command wait for it.";
  }
  if (!has_end) {
    return "its trace does not say when it ended: it ended without its exit handlers, does not use "
           "the pool, or could not share the GPU.";
  }
  return "";
}

// Returns the memory of the job that is in no pool and cannot move: the contexts of its processes.
uint64_t ContextBytesOf(const std::vector<Facts>& traces) {
  uint64_t least = UINT64_MAX;  // that of the process that began first
  for (const Facts& trace : traces) {
    for (const DeviceFacts& device : trace.devices) {
      if (!device.total_bytes.has_value() || !device.free_bytes_at_start.has_value()) continue;
      least = std::min(least, *device.total_bytes - *device.free_bytes_at_start);
    }
  }
  return least == UINT64_MAX ? 0 : least * traces.size();
}

MixRun RunOf(const Outcome& outcome) {
  MixRun run;
  run.status = outcome.exit.status;
  bool has_end = false;
  bool lacks_end = false;
  uint64_t out_of_memory = 0;
  for (const Facts& trace : outcome.facts.traces) {
    const bool ended = AddProcess(trace, &run);
    has_end |= ended;
    lacks_end |= !ended && trace.peak.reserved_bytes > 0;
    out_of_memory += trace.counts.out_of_memory;
  }
  run.context_bytes = ContextBytesOf(outcome.facts.traces);
  run.peak_bytes = outcome.facts.total.peak.reserved_bytes;
  run.is_too_large = run.status != 0 && out_of_memory > 0;
  run.problem = ProblemOf(outcome, run, has_end && !lacks_end);
  if (!run.is_complete() && outcome.exit.not_started.empty()) {
    // Only if the program did not fail, the reason is a note of vramstow.
    run.last_lines = LastLinesOf(outcome.output, run.is_too_large ? kMaxLinesTooLarge : kMaxLines,
                                 /*with_notes=*/run.status == 0);
    for (std::string& line : run.last_lines) line = Shortened(line, kLineColumns, false);
  }
  return run;
}

std::string NoteOf(const std::string& what, const MixRun& run) {
  if (!run.is_complete()) return absl::StrCat(what, ": ", Printable(run.problem));
  return absl::StrCat(what, ": ", Time(run.end_ns), ", ", Bytes(run.peak_bytes), " at the peak");
}

absl::Status Wrong(std::string sentence) { return absl::InvalidArgumentError(std::move(sentence)); }

absl::Status CheckSpec(const std::string& spec) {
  const std::vector<std::string> options = absl::StrSplit(spec, ',');
  for (const std::string& option : options) {
    if (option.starts_with("clock=") && option != "clock=model") {
      return Wrong(absl::StrCat("--simulate: '", Printable(option),
                                "' has no effect here, because the times are those of clock=model: "
                                "leave it out."));
    }
    for (const std::string_view own : {"share=", "shared=", "world=", "rank=", "count="}) {
      if (!option.starts_with(own) || option == "count=1") continue;
      return Wrong(absl::StrCat("--simulate: '", Printable(option),
                                "' cannot be used here, because all jobs share one simulated GPU "
                                "of their own: leave it out."));
    }
  }
  return absl::OkStatus();
}

// The temporary folder is part of settings that end at a comma.
absl::Status CheckFolder(const std::string& path) {
  if (!absl::StrContains(path, ',')) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("the name of the temporary folder ",
                                                    Printable(path),
                                                    " has a comma: name another one with TMPDIR."));
}

// Runs the jobs of one request, and collects the report.
class MixRehearser {
 public:
  MixRehearser(const MixRequest& request, std::string folder, const MixNote& note)
      : request_(request), folder_(std::move(folder)), note_(note) {
    report_.spec = request.spec;
    for (const std::string& text : request.jobs) report_.jobs.push_back({text, {}, {}});
  }

  absl::StatusOr<MixReport> Run() {
    if (!places_.ok()) {
      return absl::UnavailableError("cannot make a temporary folder: see TMPDIR.");
    }
    if (absl::Status status = CheckFolder(places_.path()); !status.ok()) return status;
    absl::Status status = RunAlone();
    if (status.ok() && AllRanAlone()) status = RunMix();
    report_.is_interrupted = absl::IsCancelled(status);
    if (!status.ok() && !report_.is_interrupted) return status;
    return std::move(report_);
  }

 private:
  bool AllRanAlone() const {
    return std::ranges::all_of(report_.jobs, [](const MixJob& job) {
      return job.alone.has_value() && job.alone->is_complete();
    });
  }

  absl::Status RunAlone() {
    for (size_t i = 0; i < report_.jobs.size(); ++i) {
      const std::string name = absl::StrCat("job ", i + 1, " alone");
      Progress::OfProcess().Begin(name, i, report_.jobs.size() + 1);
      const auto job = JobOf(i, "alone", name);
      if (!job.ok()) return job.status();
      const auto outcomes = RunAtOnce({*job});
      if (!outcomes.ok()) return outcomes.status();
      report_.jobs[i].alone = RunOf(outcomes->front());
      report_.total_bytes =
          std::max(report_.total_bytes, TotalBytesOf(outcomes->front().facts.total));
      note_(NoteOf(name, *report_.jobs[i].alone));
    }
    return absl::OkStatus();
  }

  absl::Status RunMix() {
    const size_t count = report_.jobs.size();
    Progress::OfProcess().Begin("all jobs in turns", count, count + 1);
    std::vector<Job> jobs;
    for (size_t i = 0; i < count; ++i) {
      const auto job = JobOf(i, "mix", "mix");
      if (!job.ok()) return job.status();
      jobs.push_back(*job);
    }
    const auto outcomes = RunAtOnce(jobs);
    if (!outcomes.ok()) return outcomes.status();
    for (size_t i = 0; i < count; ++i) {
      report_.jobs[i].mixed = RunOf((*outcomes)[i]);
      note_(NoteOf(absl::StrCat("job ", i + 1, " in the mix"), *report_.jobs[i].mixed));
    }
    return absl::OkStatus();
  }

  // Returns the job with this number. Jobs with the same `place` share one simulated GPU.
  absl::StatusOr<Job> JobOf(size_t number, const char* kind, const std::string& place) const {
    const std::string path =
        absl::StrCat(places_.path(), "/", absl::StrReplaceAll(place, {{" ", "-"}}));
    const std::string clock = absl::StrContains(request_.spec, "clock=") ? "" : ",clock=model";
    const FlagValues flags = {
        {"VRAMSTOW_SIMULATE", absl::StrCat(request_.spec, clock, ",share=", path, ".gpu")},
        {"VRAMSTOW_SHARE", absl::StrCat("dir=", path, ".turns")},
        {"VRAMSTOW_TRACE", "on"}};
    return MakeJobIn(absl::StrCat(folder_, "/", kind, "-", number + 1),
                     WordsOfJob(report_.jobs[number].text), flags);
  }

  absl::StatusOr<std::vector<Outcome>> RunAtOnce(const std::vector<Job>& jobs) const {
    auto outcomes = RunJobsTogether(jobs);
    if (EndSignals::taken() != 0) return absl::CancelledError("interrupted.");
    return outcomes;
  }

  const MixRequest& request_;
  const std::string folder_;
  const MixNote& note_;
  const RunFolder places_{""};  // of the tables of turns and the counters of the simulated GPUs
  MixReport report_;
};

}  // namespace

bool MixReport::is_complete() const {
  return std::ranges::all_of(jobs, [](const MixJob& job) {
    return job.alone.has_value() && job.alone->is_complete() && job.mixed.has_value() &&
           job.mixed->is_complete();
  });
}

std::optional<uint64_t> MixReport::alone_ns() const {
  uint64_t sum = 0;
  for (const MixJob& job : jobs) {
    if (!job.alone.has_value() || !job.alone->is_complete()) return std::nullopt;
    sum += job.alone->end_ns;
  }
  return sum;
}

std::optional<uint64_t> MixReport::longest_ns() const {
  uint64_t longest = 0;
  for (const MixJob& job : jobs) {
    if (!job.alone.has_value() || !job.alone->is_complete()) return std::nullopt;
    longest = std::max(longest, job.alone->end_ns);
  }
  return longest;
}

std::optional<uint64_t> MixReport::makespan_ns() const {
  uint64_t last = 0;
  for (const MixJob& job : jobs) {
    if (!job.mixed.has_value() || !job.mixed->is_complete()) return std::nullopt;
    last = std::max(last, job.mixed->end_ns);
  }
  return last;
}

std::optional<uint64_t> MixReport::room_bytes() const {
  uint64_t taken = ReservedBytes(total_bytes);
  for (const MixJob& job : jobs) {
    if (!job.alone.has_value() || !job.alone->is_complete()) return std::nullopt;
    taken += job.alone->context_bytes;
  }
  return total_bytes - std::min(total_bytes, taken);
}

absl::Status CheckMix(const MixRequest& request) {
  if (request.jobs.size() < 2 || request.jobs.size() > kMaxJobs) {
    return Wrong(absl::StrCat(
        "a mix has 2 to ", kMaxJobs, " jobs, and not ", request.jobs.size(),
        ": give each job's command line in quotes, as in -- 'python a.py' 'python b.py'."));
  }
  for (size_t i = 0; i < request.jobs.size(); ++i) {
    const std::vector<std::string> words = WordsOfJob(request.jobs[i]);
    if (words.empty()) {
      return Wrong(absl::StrCat("job ", i + 1, " is empty: give its command line, in quotes."));
    }
    if (IsCommandThere(words.front())) continue;
    return Wrong(absl::StrCat("job ", i + 1, " is '", Printable(request.jobs[i]),
                              "', and there is no such command: put the whole command line of each "
                              "job in quotes, as in 'python a.py --steps 3'."));
  }
  return CheckSpec(request.spec);
}

absl::StatusOr<MixReport> RehearseMix(const MixRequest& request, const std::string& folder,
                                      const MixNote& note) {
  return MixRehearser(request, folder, note).Run();
}

}  // namespace vramstow
