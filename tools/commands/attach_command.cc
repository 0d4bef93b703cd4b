// vramstow attach: observes a process that was started without vramstow.

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/units.h"
#include "tools/attach/attachment.h"
#include "tools/attach/growth_report.h"
#include "tools/attach/remote_process.h"
#include "tools/attach/request.h"
#include "tools/base/process_state.h"
#include "tools/base/words.h"
#include "tools/commands/analysis_output.h"
#include "tools/commands/command.h"
#include "tools/commands/command_line.h"
#include "tools/json/json_value.h"
#include "tools/report/census_text.h"
#include "tools/terminal/output.h"

namespace vramstow {
namespace {

constexpr char kAttachFooter[] =
    "Without an option vramstow observes the process from now on: the trace is in --trace-dir, "
    "and\nvramstow analyze can read it at any time. The program is not changed and "
    "continues.\n\nExamples:\n  vramstow attach 4711 --census              which objects reference "
    "GPU memory now\n  vramstow attach 4711 --growth --every 60s  what grew within a minute, and "
    "what references it\n  vramstow attach 4711 --for 60s             observe for a minute, then "
    "print an analysis\n  vramstow attach 4711                       observe until the process "
    "ends\n  vramstow attach 4711 --detach              stop observing\n\nYou need the permission "
    "to debug the process: run vramstow as the same user, and as root if\nkernel.yama.ptrace_scope "
    "is 1.\n\nExit status: 0; 1 if the result could not be written; 2 if attaching to the process "
    "failed.";

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

// Lets Ctrl-C end the observation, after which the program ends by itself.
void HearSignals() {
  struct sigaction action = {};
  action.sa_handler = [](int) { is_asked_to_end = 1; };
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaction(number, &action, nullptr);
}

// Waits until the time is over, the user wants to end, or the process has ended.
void Sleep(uint64_t nanoseconds, pid_t pid) {
  const absl::Time end = absl::Now() + absl::Nanoseconds(static_cast<int64_t>(nanoseconds));
  while (!WantsToEnd() && !HasEnded(pid) && absl::Now() < end) {
    absl::SleepFor(std::min(absl::Milliseconds(50), end - absl::Now()));
  }
}

int RefuseToAttach(const absl::Status& status) {
  Complain("attach", Printable(std::string(status.message())));
  return kExitUsage;
}

int Print(const AttachOptions& wishes, const JsonValue& json, const std::string& text) {
  return PrintResult("attach", wishes.json ? json.Dump() + "\n" : text);
}

double MillisecondsOf(absl::Duration duration) { return absl::ToDoubleMilliseconds(duration); }

// Returns the answer, and how the process was asked.
JsonValue JsonOf(pid_t pid, const AttachAnswer& answer, JsonValue json) {
  json["pid"] = static_cast<int64_t>(pid);
  json["stopped_ms"] = MillisecondsOf(answer.stopped);
  json["answered_ms"] = MillisecondsOf(answer.waited);
  return json;
}

JsonValue TraceJson(pid_t pid, const AttachAnswer& answer) {
  return JsonOf(pid, answer, JsonValue::Object({{"trace", answer.body.Text("path")}}));
}

int PrintCensus(pid_t pid, Attachment& attachment, const AttachOptions& wishes) {
  const auto answer = attachment.Ask("census", false);
  if (!answer.ok()) return RefuseToAttach(answer.status());
  const JsonValue* census = answer->body.Find("census");
  if (census == nullptr)
    return RefuseToAttach(absl::UnavailableError("the process returned no census."));
  // The JSON has the same form as that of vramstow ctl PID census --json.
  return Print(wishes, JsonOf(pid, *answer, *census),
               absl::StrCat("process ", pid, ": ", CensusText(*census)));
}

int PrintGrowth(pid_t pid, Attachment& attachment, const AttachOptions& wishes) {
  const auto observed = attachment.Ask("observe", false);
  if (!observed.ok()) return RefuseToAttach(observed.status());
  const bool was_there = observed->body.Bool("was_there");
  const auto before = attachment.Ask("census", false);
  // Without a first census there is nothing to wait for.
  const bool has_before = before.ok() && before->body.Find("census") != nullptr;
  if (has_before) Sleep(wishes.every_ns, pid);
  const auto after = !has_before || WantsToEnd() ? before : attachment.Ask("census", false);
  const std::string trace = observed->body.Text("path");
  // If a trace existed before, its lines cover its whole time and not only this observation.
  if (!was_there) {
    const auto ended = attachment.Ask("end", false);
    if (!ended.ok()) return RefuseToAttach(before.ok() ? ended.status() : before.status());
  }
  if (WantsToEnd())
    return RefuseToAttach(absl::CancelledError("stopped; the process is as it was before."));
  for (const auto* answer : {&before, &after}) {
    if (!answer->ok()) return RefuseToAttach(answer->status());
    if ((*answer)->body.Find("census") == nullptr) {
      return RefuseToAttach(absl::UnavailableError("the process returned no census."));
    }
  }
  const auto report = MakeGrowthReport(*before->body.Find("census"), *after->body.Find("census"),
                                       was_there ? std::vector<GrownLine>() : GrownLinesOf(trace));
  return Print(wishes, JsonOf(pid, *after, JsonOf(report)),
               absl::StrCat("process ", pid, ": ", SignedBytes(report.grown_bytes),
                            " in tensors within ", Time(wishes.every_ns), ", now ",
                            Bytes(report.live_bytes), "\n", TextOf(report)));
}

int Detach(pid_t pid, Attachment& attachment, const AttachOptions& wishes) {
  const auto answer = attachment.Ask("end", false);
  if (!answer.ok()) return RefuseToAttach(answer.status());
  return Print(wishes, TraceJson(pid, *answer),
               absl::StrCat("process ", pid, " is not observed any more; its trace is ",
                            answer->body.Text("path"), "\n"));
}

int Observe(pid_t pid, Attachment& attachment, const AttachOptions& wishes) {
  const auto answer = attachment.Ask("observe", true);
  if (!answer.ok()) return RefuseToAttach(answer.status());
  const std::string trace = answer->body.Text("path");
  const bool was_there = answer->body.Bool("was_there");
  if (was_there && IsInRequestFolder(trace)) {
    return RefuseToAttach(absl::FailedPreconditionError(absl::StrCat(
        "another vramstow attach ", pid,
        " --growth observes this process and then removes its trace: try again once it has ended. ",
        "If it was killed, run vramstow attach ", pid, " --detach first.")));
  }
  if (wishes.for_ns == 0) {
    const std::string since = was_there ? " was already observed: " : " is observed from now on: ";
    return Print(wishes, TraceJson(pid, *answer),
                 absl::StrCat("process ", pid, since, trace, "\n  vramstow analyze ",
                              ShellWord(trace), "\n  vramstow attach ", pid, " --detach\n"));
  }
  Sleep(wishes.for_ns, pid);
  // An observation that was there before belongs to someone else and goes on.
  const auto ended = was_there ? answer : attachment.Ask("end", true);
  // If the process has ended, its trace remains and is complete up to that moment.
  if (!ended.ok() && !HasEnded(pid)) return RefuseToAttach(ended.status());
  if (wishes.json) return Print(wishes, TraceJson(pid, ended.ok() ? *ended : *answer), "");
  return PrintAnalysis("attach", {trace}, {});
}

// Parses a duration above 0. If the text is not one, writes one sentence and returns false.
bool ReadTime(const std::string& option, const std::string& text, uint64_t* nanoseconds) {
  if (ParseDuration(text, nanoseconds) && *nanoseconds > 0) return true;
  Complain("attach", absl::StrCat(option, " needs a time, for example 60s."));
  return false;
}

}  // namespace

int AttachCommand(const std::vector<std::string>& arguments) {
  int64_t process = 0;
  AttachOptions wishes;
  std::string for_time;
  std::string every = "60s";
  std::string patience = "10s";
  wishes.traces = ".";
  const CommandLine line{
      .command = "attach",
      .summary = "Inspects a PyTorch process that was started without vramstow.",
      .footer = kAttachFooter,
      .options = {
          {"PID",
           &process,
           "The id of the process",
           {.required = true, .range = OptionRange{1, 1 << 30}}},
          {"--census", &wishes.census, "Print which objects reference GPU memory now, and exit"},
          {"--growth",
           &wishes.growth,
           "Print what grew between now and --every later, and exit",
           {.excludes = {"--census"}}},
          {"--every",
           &every,
           "The time between the two measurements of --growth",
           {.shows_default = true, .takes_no_file = true, .needs = {"--growth"}}},
          {"--for",
           &for_time,
           "Observe for this long, stop observing, and print an analysis",
           {.takes_no_file = true, .excludes = {"--census", "--growth"}}},
          {"--detach",
           &wishes.detach,
           "Observe no longer",
           {.excludes = {"--census", "--growth", "--for"}}},
          {"--trace-dir", &wishes.traces, "Folder for the trace", {.shows_default = true}},
          {"--patience",
           &patience,
           "How long to wait for the main thread of the process to run Python",
           {.shows_default = true, .takes_no_file = true}},
          {"--json", &wishes.json, "Print JSON on one line"}}};
  if (const auto status = ReadArguments(line, arguments)) return *status;
  if ((!for_time.empty() && !ReadTime("--for", for_time, &wishes.for_ns)) ||
      !ReadTime("--every", every, &wishes.every_ns) ||
      !ReadTime("--patience", patience, &wishes.patience_ns)) {
    return kExitUsage;
  }
  std::error_code error;
  wishes.traces = std::filesystem::absolute(wishes.traces, error).lexically_normal().string();

  HearSignals();
  const auto pid = static_cast<pid_t>(process);
  auto attachment = Attachment::Make(
      pid, {.traces = wishes.traces,
            .patience = absl::Nanoseconds(static_cast<int64_t>(wishes.patience_ns)),
            .wants_to_end = WantsToEnd});
  if (!attachment.ok()) return RefuseToAttach(attachment.status());
  if (!wishes.detach && !wishes.census && !wishes.growth) {
    std::filesystem::create_directories(wishes.traces, error);
  }
  if (wishes.detach) return Detach(pid, *attachment, wishes);
  if (wishes.census) return PrintCensus(pid, *attachment, wishes);
  if (wishes.growth) return PrintGrowth(pid, *attachment, wishes);
  return Observe(pid, *attachment, wishes);
}

}  // namespace vramstow
