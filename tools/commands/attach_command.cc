// vramstow attach: observes a process that was started without vramstow.

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "base/units.h"
#include "tools/attach/entry.h"
#include "tools/attach/growth.h"
#include "tools/attach/remote_process.h"
#include "tools/attach/request.h"
#include "tools/base/progress.h"
#include "tools/base/words.h"
#include "tools/commands/census_text.h"
#include "tools/commands/command.h"
#include "tools/commands/command_line.h"
#include "tools/json/json_value.h"
#include "tools/launch/adapter.h"
#include "tools/launch/installation.h"
#include "tools/pipeline/analyze.h"
#include "tools/terminal/output.h"

namespace vramstow {
namespace {

constexpr char kAttachFooter[] =
    "Without an option the process is observed from now on: its trace lies in --trace-dir, and\n"
    "vramstow analyze reads it at any time. The program is not changed and goes on as it was.\n"
    "\n"
    "Examples:\n"
    "  vramstow attach 4711 --census              who holds GPU memory now\n"
    "  vramstow attach 4711 --growth --every 60s  what grew within a minute, and who holds it\n"
    "  vramstow attach 4711 --for 60s             observe for a minute, then tell\n"
    "  vramstow attach 4711                       observe until the process ends\n"
    "  vramstow attach 4711 --detach              observe no longer\n"
    "\n"
    "It takes the permission to debug the process: the same user, and as root where\n"
    "kernel.yama.ptrace_scope is 1.\n"
    "\n"
    "Exit status: 0; 1 if the result could not be written; 2 if the process cannot be entered.";

struct AttachOptions {
  bool census = false;
  bool growth = false;
  bool detach = false;
  bool json = false;
  uint64_t for_ns = 0;
  uint64_t every_ns = 0;
  uint64_t patience_ns = 0;
  std::string traces;
};

volatile std::sig_atomic_t is_asked_to_end = 0;

bool WantsToEnd() { return is_asked_to_end != 0; }

// Ctrl-C first ends the observation, and then the program.
void HearSignals() {
  struct sigaction action = {};
  action.sa_handler = [](int) { is_asked_to_end = 1; };
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaction(number, &action, nullptr);
}

void Sleep(uint64_t nanoseconds) {
  const absl::Time end = absl::Now() + absl::Nanoseconds(static_cast<int64_t>(nanoseconds));
  while (!WantsToEnd() && absl::Now() < end) {
    absl::SleepFor(std::min(absl::Milliseconds(50), end - absl::Now()));
  }
}

absl::StatusOr<std::string> Compiled(const Installation& installation,
                                     const TorchInstallation& torch, AdapterKind kind) {
  const char* chosen = std::getenv("VRAMSTOW_ADAPTER_DIR");
  const bool tries = WantsNewerTried(std::getenv("VRAMSTOW_ADAPTER_TRY"));
  const Adapters adapters(installation.adapter_sources, {kind, tries});
  if (std::string shipped = adapters.FindShipped(torch); !shipped.empty()) return shipped;
  const auto folder = AdapterFolder::Make(chosen == nullptr ? "" : chosen);
  if (!folder.ok()) return folder.status();
  Progress::OfProcess().Begin(
      absl::StrCat("compiling what it needs for PyTorch ", torch.release, ", once"));
  const auto adapter = adapters.Build(torch, *folder);
  if (!adapter.ok()) return adapter.status();
  return adapter->path;
}

// Returns the files that the process loads, compiled before it is entered.
absl::StatusOr<ObservationFiles> FilesFor(const RemoteProcess& process) {
  constexpr char kAllocator[] = "libc10_cuda.so";
  const RemoteFile* allocator = process.FindFile(kAllocator);
  if (allocator == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("process ", process.pid(),
                     " has not loaded PyTorch with CUDA. Name the process that uses the GPU "
                     "(nvidia-smi lists them)."));
  }
  const auto installation = FindInstallation();
  if (!installation.ok()) return installation.status();
  const auto torch =
      FindTorch(std::string(absl::StripSuffix(allocator->path, absl::StrCat("/lib/", kAllocator))));
  if (!torch.ok()) return torch.status();
  auto observer = Compiled(*installation, *torch, AdapterKind::kObserver);
  if (!observer.ok()) return observer.status();
  ObservationFiles files{absl::StrCat(installation->python_start, "/observation.py"),
                         installation->shim, *std::move(observer), ""};
  // If there is no compiled census, a user who asks for one is told why.
  if (const auto census = Compiled(*installation, *torch, AdapterKind::kCensus); census.ok()) {
    files.census = *census;
  }
  return files;
}

// The process, and the questions to it.
class Attachment {
 public:
  static absl::StatusOr<Attachment> Make(pid_t pid, const AttachOptions& wishes) {
    auto process = RemoteProcess::Open(pid);
    if (!process.ok()) return process.status();
    if (!process->HasOurFiles()) {
      return absl::FailedPreconditionError(
          absl::StrCat("process ", pid, " is in a container, and sees other files: run vramstow ",
                       "attach in there (docker exec, kubectl exec)."));
    }
    if (const auto python = FindRemotePython(*process); !python.ok()) return python.status();
    auto files = FilesFor(*process);
    if (!files.ok()) return files.status();
    auto request = AttachRequest::Make(*process);
    if (!request.ok()) return request.status();
    return Attachment(*std::move(request), *std::move(files), wishes);
  }

  // Asks a question. The trace is temporary, unless `keeps_trace` is set.
  absl::StatusOr<AttachAnswer> Ask(const std::string& action, bool keeps_trace) {
    return request_.Ask(action, files_, keeps_trace ? wishes_.traces : request_.folder(),
                        absl::Nanoseconds(static_cast<int64_t>(wishes_.patience_ns)),
                        action == "end" ? [] { return false; } : WantsToEnd);
  }

 private:
  Attachment(AttachRequest request, ObservationFiles files, const AttachOptions& wishes)
      : request_(std::move(request)), files_(std::move(files)), wishes_(wishes) {}

  AttachRequest request_;
  ObservationFiles files_;
  const AttachOptions& wishes_;
};

int Refuse(const absl::Status& status) {
  Complain("attach", Printable(std::string(status.message())));
  return kExitUsage;
}

int Print(const AttachOptions& wishes, const JsonValue& json, const std::string& text) {
  return PrintResult("attach", wishes.json ? json.Dump() + "\n" : text);
}

double MillisecondsOf(absl::Duration duration) { return absl::ToDoubleMilliseconds(duration); }

// Returns the answer, and how the process was asked.
JsonValue JsonOf(pid_t pid, const AttachAnswer& answer, JsonValue told) {
  told["pid"] = static_cast<int64_t>(pid);
  told["stopped_ms"] = MillisecondsOf(answer.stopped);
  told["answered_ms"] = MillisecondsOf(answer.waited);
  return told;
}

JsonValue TraceJson(pid_t pid, const AttachAnswer& answer) {
  return JsonOf(pid, answer, JsonValue::Object({{"trace", answer.body.Text("path")}}));
}

int TellCensus(pid_t pid, Attachment& attachment, const AttachOptions& wishes) {
  const auto answer = attachment.Ask("census", false);
  if (!answer.ok()) return Refuse(answer.status());
  const JsonValue* census = answer->body.Find("census");
  if (census == nullptr) return Refuse(absl::UnavailableError("the process told no census."));
  // The JSON is the one of vramstow ctl PID census --json.
  return Print(wishes, JsonOf(pid, *answer, *census),
               absl::StrCat("process ", pid, ": ", CensusText(*census)));
}

std::string Signed(int64_t bytes) {
  return absl::StrCat(bytes < 0 ? "-" : "+", Bytes(static_cast<uint64_t>(std::abs(bytes))));
}

// The blocks that a line made while the process was observed, and that are still live.
struct GrownLine {
  std::string site;
  uint64_t bytes = 0;
  uint64_t blocks = 0;
};

std::vector<GrownLine> LinesOf(const std::string& trace) {
  std::vector<GrownLine> lines;
  const auto analysis = AnalyzeFile(trace);
  if (!analysis.ok()) return lines;
  for (const auto& group : analysis->facts.live.groups) {
    if (group.site.empty()) continue;
    const auto known = std::find_if(lines.begin(), lines.end(), [&group](const GrownLine& line) {
      return line.site == group.site;
    });
    GrownLine& line = known == lines.end() ? lines.emplace_back() : *known;
    line.site = group.site;
    line.bytes += group.size * group.count;
    line.blocks += group.count;
  }
  std::stable_sort(lines.begin(), lines.end(),
                   [](const GrownLine& a, const GrownLine& b) { return a.bytes > b.bytes; });
  return lines;
}

JsonValue GrowthJson(const std::vector<GrownHolder>& holders, const std::vector<GrownLine>& lines) {
  JsonValue json =
      JsonValue::Object({{"holders", JsonValue::Array()}, {"lines", JsonValue::Array()}});
  for (const GrownHolder& holder : holders) {
    json["holders"].Append(JsonValue::Object({{"holder", holder.holder},
                                              {"about", holder.about},
                                              {"grown_bytes", holder.bytes},
                                              {"grown_blocks", holder.blocks},
                                              {"bytes", holder.bytes_now},
                                              {"blocks", holder.blocks_now}}));
  }
  for (const GrownLine& line : lines) {
    json["lines"].Append(
        JsonValue::Object({{"site", line.site}, {"bytes", line.bytes}, {"blocks", line.blocks}}));
  }
  return json;
}

std::string GrowthText(const std::vector<GrownHolder>& holders,
                       const std::vector<GrownLine>& lines) {
  constexpr size_t kMax = 10;
  std::string text = holders.empty() ? "No holder has more than before.\n" : "By holder:\n";
  for (size_t i = 0; i < std::min(kMax, holders.size()); ++i) {
    const GrownHolder& holder = holders[i];
    absl::StrAppend(&text, "  ", Signed(holder.bytes), ", now ", Bytes(holder.bytes_now), " in ",
                    Count(holder.blocks_now),
                    holder.blocks_now == 1 ? " block: " : " blocks: ", Printable(holder.holder),
                    " (", Printable(holder.about), ")\n");
  }
  if (lines.empty()) return text;
  absl::StrAppend(&text, "Made meanwhile and still there, by line:\n");
  for (size_t i = 0; i < std::min(kMax, lines.size()); ++i) {
    absl::StrAppend(&text, "  ", Bytes(lines[i].bytes), " in ", Count(lines[i].blocks),
                    lines[i].blocks == 1 ? " block: " : " blocks: ", Printable(lines[i].site),
                    "\n");
  }
  return text;
}

int TellGrowth(pid_t pid, Attachment& attachment, const AttachOptions& wishes) {
  const auto observed = attachment.Ask("observe", false);
  if (!observed.ok()) return Refuse(observed.status());
  const bool was_there = observed->body.Bool("was_there");
  const auto before = attachment.Ask("census", false);
  Sleep(wishes.every_ns);
  const auto after = WantsToEnd() ? before : attachment.Ask("census", false);
  const std::string trace = observed->body.Text("path");
  // The lines of a trace that was there before cover its whole time, and not only this observation.
  if (!was_there) {
    const auto ended = attachment.Ask("end", false);
    if (!ended.ok()) return Refuse(ended.status());
  }
  if (WantsToEnd()) return Refuse(absl::CancelledError("stopped; the process is as it was."));
  for (const auto* answer : {&before, &after}) {
    if (!answer->ok()) return Refuse(answer->status());
    if ((*answer)->body.Find("census") == nullptr) {
      return Refuse(absl::UnavailableError("the process told no census."));
    }
  }
  const JsonValue& first = *before->body.Find("census");
  const JsonValue& second = *after->body.Find("census");
  const auto holders = CompareCensuses(first, second);
  const auto lines = was_there ? std::vector<GrownLine>() : LinesOf(trace);
  const auto live = static_cast<int64_t>(second.Unsigned("live_bytes"));
  const int64_t grown = live - static_cast<int64_t>(first.Unsigned("live_bytes"));
  JsonValue json = GrowthJson(holders, lines);
  json["live_bytes"] = live;
  json["grown_bytes"] = grown;
  return Print(wishes, JsonOf(pid, *after, std::move(json)),
               absl::StrCat("process ", pid, ": ", Signed(grown), " in tensors within ",
                            Time(wishes.every_ns), ", now ", Bytes(static_cast<uint64_t>(live)),
                            "\n", GrowthText(holders, lines)));
}

int Detach(pid_t pid, Attachment& attachment, const AttachOptions& wishes) {
  const auto answer = attachment.Ask("end", false);
  if (!answer.ok()) return Refuse(answer.status());
  return Print(wishes, TraceJson(pid, *answer),
               absl::StrCat("process ", pid, " is not observed any more; its trace is ",
                            answer->body.Text("path"), "\n"));
}

int Observe(pid_t pid, Attachment& attachment, const AttachOptions& wishes) {
  const auto answer = attachment.Ask("observe", true);
  if (!answer.ok()) return Refuse(answer.status());
  const std::string trace = answer->body.Text("path");
  if (wishes.for_ns == 0) {
    const std::string since =
        answer->body.Bool("was_there") ? " was observed already: " : " is observed from now on: ";
    return Print(wishes, TraceJson(pid, *answer),
                 absl::StrCat("process ", pid, since, trace, "\n  vramstow analyze ", trace,
                              "\n  vramstow attach ", pid, " --detach\n"));
  }
  Sleep(wishes.for_ns);
  const auto ended = attachment.Ask("end", true);
  if (!ended.ok()) return Refuse(ended.status());
  if (wishes.json) return Print(wishes, TraceJson(pid, *ended), "");
  return AnalyzeCommand({trace});
}

// Parses a time. Returns false if it is none, after writing one sentence.
bool ReadTime(const std::string& option, const std::string& text, uint64_t* nanoseconds) {
  if (ParseDuration(text, nanoseconds)) return true;
  Complain("attach", absl::StrCat(option, " takes a time, for example 60s."));
  return false;
}

}  // namespace

int AttachCommand(const std::vector<std::string>& arguments) {
  int64_t process = 0;
  AttachOptions wishes;
  std::string for_time = "0";
  std::string every = "60s";
  std::string patience = "10s";
  wishes.traces = ".";
  const CommandLine line{
      .command = "attach",
      .summary = "Looks into a PyTorch process that was started without vramstow.",
      .footer = kAttachFooter,
      .options = {{"PID",
                   &process,
                   "The id of the process",
                   {.required = true, .range = OptionRange{1, 1 << 30}}},
                  {"--census", &wishes.census, "Print who holds GPU memory now, and leave"},
                  {"--growth",
                   &wishes.growth,
                   "Print what grew between now and --every later, and leave",
                   {.excludes = {"--census"}}},
                  {"--every",
                   &every,
                   "The time between the two looks of --growth",
                   {.shows_default = true, .takes_no_file = true, .needs = {"--growth"}}},
                  {"--for",
                   &for_time,
                   "Observe for this long, leave, and tell where the memory went",
                   {.takes_no_file = true, .excludes = {"--census", "--growth"}}},
                  {"--detach",
                   &wishes.detach,
                   "Observe no longer",
                   {.excludes = {"--census", "--growth", "--for"}}},
                  {"--trace-dir", &wishes.traces, "Folder for the trace", {.shows_default = true}},
                  {"--patience",
                   &patience,
                   "How long to wait until the main thread of the process runs Python",
                   {.shows_default = true, .takes_no_file = true}},
                  {"--json", &wishes.json, "Print JSON on one line"}}};
  if (const auto status = ReadArguments(line, arguments)) return *status;
  if (!ReadTime("--for", for_time, &wishes.for_ns) ||
      !ReadTime("--every", every, &wishes.every_ns) ||
      !ReadTime("--patience", patience, &wishes.patience_ns)) {
    return kExitUsage;
  }
  std::error_code error;
  std::filesystem::create_directories(wishes.traces, error);
  wishes.traces = std::filesystem::absolute(wishes.traces, error).lexically_normal().string();

  HearSignals();
  const auto pid = static_cast<pid_t>(process);
  auto attachment = Attachment::Make(pid, wishes);
  if (!attachment.ok()) return Refuse(attachment.status());
  if (wishes.detach) return Detach(pid, *attachment, wishes);
  if (wishes.census) return TellCensus(pid, *attachment, wishes);
  if (wishes.growth) return TellGrowth(pid, *attachment, wishes);
  return Observe(pid, *attachment, wishes);
}

}  // namespace vramstow
