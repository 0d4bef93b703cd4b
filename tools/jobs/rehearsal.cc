#include "tools/jobs/rehearsal.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tools/analysis/facts/known_part.h"
#include "tools/base/words.h"
#include "tools/inputs/trace_start.h"
#include "tools/launch/end_signals.h"

namespace vramstow {
namespace {

constexpr size_t kMaxSentence = 300;

// Returns the last `most` bytes of a file, without empty lines at its end.
std::string EndOf(const std::string& path, size_t most) {
  std::ifstream file(path, std::ios::binary);
  file.seekg(0, std::ios::end);
  const std::streamoff size = file.tellg();
  file.seekg(std::max<std::streamoff>(0, size - static_cast<std::streamoff>(most)));
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

// Returns true if vramstow wrote this line of the output, and not the command.
bool IsNote(std::string_view line) {
  return line.starts_with("vramstow: ") || line.starts_with("vramstow run: ");
}

// Appends a note of the job to the output of its command.
void AddNote(const std::string& path, const std::string& command, std::string_view sentence) {
  std::ofstream(path, std::ios::app) << absl::StrCat("vramstow", command.empty() ? "" : " ",
                                                     command, ": ", std::string(sentence), "\n");
}

// Returns what a process of the command wrote if it could not make its trace, without the advice
// at the end. Returns an empty text if no process wrote that.
std::string WhyNoTrace(const std::string& output) {
  constexpr std::string_view kNoTrace = "vramstow: no trace is written, because ";
  constexpr size_t kMaxLines = 1000;
  for (const std::string& line : LastLinesOf(output, kMaxLines, /*with_notes=*/true)) {
    if (!line.starts_with(kNoTrace)) continue;
    const std::string why = line.substr(kNoTrace.size());
    return absl::StrCat(why.substr(0, why.rfind(": ")), ".");
  }
  return "";
}

// Returns an error if the traces of a job are not all there, or not complete. Otherwise returns OK.
absl::Status CheckTraces(const Outcome& outcome) {
  constexpr uintmax_t kFewBytes = 1 << 20;  // fewer than a trace begins with
  const JobFiles& files = outcome.traces;
  const auto not_known = [](const std::string& why) {
    return absl::DataLossError(absl::StrCat("the peak of the command is not known, because ", why));
  };
  if (!files.problem.empty()) {
    return not_known(absl::StrCat("its traces cannot be read (", files.problem, ")."));
  }
  for (const Facts& facts : outcome.facts.traces) {
    const KnownPart known = KnownPartOf(facts);
    if (known == KnownPart::kBeginning) {
      return not_known(
          absl::StrCat("its trace ends early: ", WriteErrorInWords(facts.report.write_error), "."));
    }
    if (known == KnownPart::kWithGaps) return not_known("events are missing in its trace.");
  }
  if (files.unread > 0) {
    return not_known(absl::StrCat(Counted(files.unread, "trace"), " of it cannot be read."));
  }
  if (!outcome.facts.traces.empty()) return absl::OkStatus();
  if (const std::string why = WhyNoTrace(outcome.output); !why.empty()) return not_known(why);
  std::error_code error;
  const auto space = std::filesystem::space(files.directory, error);
  if (!files.directory.empty() && !error && space.available < kFewBytes) {
    return not_known("the disk was full, so that no trace was written.");
  }
  return absl::OkStatus();
}

// Returns an error that says why a job has no facts about memory.
absl::Status UsedNoMemory(const Outcome& outcome) {
  if (outcome.exit.status == 0) {
    return absl::FailedPreconditionError("the command used no device memory.");
  }
  return absl::FailedPreconditionError(
      absl::StrCat("the command failed with exit status ", outcome.exit.status,
                   " before it used device memory: ",
                   outcome.exit.not_started.empty() ? LastLineOf(outcome.output, kMaxSentence)
                                                    : outcome.exit.not_started));
}

// Returns the index of the trace that a rehearsal is about.
size_t LargestOf(const std::vector<Facts>& traces, const std::vector<GpuUse>& gpus) {
  const bool are_shared =
      std::ranges::any_of(gpus, [](const GpuUse& gpu) { return gpu.processes > 1; });
  if (are_shared) return gpus.front().traces.front();
  const auto largest = std::ranges::max_element(
      traces, {}, [](const Facts& facts) { return facts.peak.reserved_bytes; });
  return static_cast<size_t>(largest - traces.begin());
}

Rehearsal RehearsalOf(Outcome outcome) {
  std::vector<Facts>& traces = outcome.facts.traces;
  // If several processes have the same peak, the one with the lowest rank is used.
  std::ranges::stable_sort(traces, {}, [](const Facts& facts) {
    return facts.rank.value_or(std::numeric_limits<int64_t>::max());
  });
  Rehearsal rehearsal{.exit_status = outcome.exit.status,
                      .facts = {},
                      .gpus = {},
                      .output = std::move(outcome.output)};
  uint64_t out_of_memory = 0;
  std::vector<uint64_t> starts;
  for (const Facts& facts : traces) {
    out_of_memory += facts.counts.out_of_memory;
    rehearsal.processes += facts.peak.reserved_bytes > 0 ? 1 : 0;
    starts.push_back(TraceStartUnixNs(facts.file));
  }
  rehearsal.gpus = GpusUsedBy(traces, starts);
  // The only process may have been refused its first request.
  rehearsal.processes = std::max<uint64_t>(rehearsal.processes, 1);
  rehearsal.trace = LargestOf(traces, rehearsal.gpus);
  rehearsal.facts = std::move(traces[rehearsal.trace]);
  rehearsal.facts.counts.out_of_memory = out_of_memory;
  return rehearsal;
}

}  // namespace

std::vector<std::string> LastLinesOf(const std::string& path, size_t most, bool with_notes) {
  constexpr size_t kMaxEnd = 64 * 1024;
  const std::string text = "\n" + EndOf(path, kMaxEnd);
  std::vector<std::string> found;
  for (size_t end = text.size(); end > 0 && found.size() < most;) {
    const size_t begin = text.rfind('\n', end - 1);
    std::string line = text.substr(begin + 1, end - begin - 1);
    const bool is_empty = line.find_first_not_of(" \t\r") == std::string::npos;
    if (!is_empty && (with_notes || !IsNote(line))) {
      found.push_back(std::move(line));
    }
    end = begin;
  }
  std::ranges::reverse(found);
  return found;
}

std::string LastLineOf(const std::string& path, size_t most) {
  const std::vector<std::string> lines = LastLinesOf(path, 1);
  if (lines.empty()) return "it said nothing.";
  const std::string& line = lines.front();
  return line.size() > most ? line.substr(line.size() - most) : line;
}

absl::StatusOr<Job> MakeJobIn(const std::string& folder, const std::vector<std::string>& command,
                              const FlagValues& flags) {
  std::error_code error;
  if (!std::filesystem::create_directories(folder, error)) {
    return absl::UnavailableError(
        absl::StrCat("cannot make the folder ", folder, ": ",
                     error ? error.message() : std::string("it is there already"), "."));
  }
  const std::string traces = folder + "/traces";
  std::filesystem::create_directory(traces, error);
  Job job{.command = command, .flags = flags, .output = folder + "/output.txt", .note = {}};
  job.flags["VRAMSTOW_TRACE_DIR"] = traces;
  job.note = [output = job.output](const std::string& who, std::string_view sentence) {
    AddNote(output, who, sentence);
  };
  return job;
}

absl::StatusOr<Rehearsal> Rehearse(const std::vector<std::string>& command, const FlagValues& flags,
                                   const std::string& folder) {
  const auto job = MakeJobIn(folder, command, flags);
  if (!job.ok()) return job.status();
  auto outcome = RunJob(*job);
  if (EndSignals::taken() != 0) return absl::CancelledError("interrupted.");
  if (!outcome.ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat("the command was not started: ", outcome.status().message()));
  }
  if (absl::Status status = CheckTraces(*outcome); !status.ok()) return status;
  if (outcome->facts.traces.empty()) return UsedNoMemory(*outcome);
  return RehearsalOf(*std::move(outcome));
}

}  // namespace vramstow
