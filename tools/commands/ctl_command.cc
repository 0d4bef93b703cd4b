// vramstow ctl: sends a request to a running process through its control socket.

#include <csignal>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "base/units.h"
#include "tools/base/words.h"
#include "tools/commands/command.h"
#include "tools/commands/command_line.h"
#include "tools/json/json_value.h"
#include "tools/report/census_text.h"
#include "tools/terminal/output.h"
#include "tools/top/control_client.h"

namespace vramstow {
namespace {

constexpr char kCtlFooter[] =
    "Requests:\n  stats [DEVICE]           print the numbers of PyTorch's allocator or of the "
    "pool\n  empty-cache [DEVICE]     return cached memory to the driver\n  limit BYTES|none "
    "[DEVICE]  set how much memory the pool may hold from now on\n  dump                     write "
    "a copy of the trace in its current state\n  offload                  move live memory to the "
    "host: all of it, or what the options select\n  mark-idle TIME           observe for TIME "
    "which memory work uses, and print a mark: offload\n                           since MARK then "
    "moves memory that was not used since (offload --idle\n                           does both)\n "
    " resume                   bring back memory that was offloaded or paused\n  census            "
    "       find which objects reference PyTorch's tensors, and write it into the "
    "trace\n  share                    with --pause: pause a process that shares its GPU; with "
    "--resume: let it\n                           continue\n\nExamples:\n  vramstow ctl 4711 "
    "stats\n  vramstow ctl 4711 empty-cache\n  vramstow "
    "ctl 4711 limit 20GiB\n  vramstow ctl 4711 offload --idle 5s\n  vramstow ctl 4711 "
    "resume\n  vramstow ctl 4711 share --pause\n\nExit status: 0; 1 if the process refused or the "
    "answer could not be written; 2 if "
    "the process\ncannot be reached.";

std::string StatsText(const JsonValue& stats) {
  std::string text =
      absl::StrCat("process ", stats.Integer("pid"), " (", Printable(stats.Text("program")), ")\n");
  if (stats.Items("devices").empty()) {
    const std::string why = stats.Text("why_none");
    return absl::StrCat(text, "  no numbers", why.empty() ? "" : ": ", Printable(why), "\n");
  }
  for (const JsonValue& device : stats.Items("devices")) {
    const uint64_t limit = device.Unsigned("limit_bytes");
    const bool has_pool = device.Has("misses");
    absl::StrAppendFormat(&text, "device %d%s\n", device.Integer("device"),
                          has_pool ? "" : ", by PyTorch's own allocator");
    absl::StrAppendFormat(&text, "  allocated  %s in %s blocks, %s at the peak\n",
                          Bytes(device.Unsigned("allocated_bytes")),
                          Count(device.Unsigned("live_blocks")),
                          Bytes(device.Unsigned("peak_allocated_bytes")));
    absl::StrAppendFormat(&text, "  reserved   %s, %s at the peak%s\n",
                          Bytes(device.Unsigned("reserved_bytes")),
                          Bytes(device.Unsigned("peak_reserved_bytes")),
                          limit == 0 ? "" : absl::StrCat(", limit ", Bytes(limit)));
    absl::StrAppendFormat(&text, "  pending    %s wait for submitted work\n",
                          Bytes(device.Unsigned("pending_bytes")));
    absl::StrAppendFormat(
        &text, "  calls      %s allocations%s; %s frees; out of memory %s\n",
        Count(device.Unsigned("allocations")),
        has_pool ? absl::StrCat(", ", Count(device.Unsigned("misses")), " of them no hit") : "",
        Count(device.Unsigned("frees")), Count(device.Unsigned("out_of_memory")));
    absl::StrAppendFormat(
        &text, "  given back %s%s\n", Bytes(device.Unsigned("released_bytes")),
        device.Has("retries")
            ? absl::StrCat(", ", Counted(device.Unsigned("retries"), "time"), " for a request")
            : "");
    if (device.Unsigned("moved_out_bytes") + device.Unsigned("paused_bytes") != 0) {
      absl::StrAppendFormat(
          &text, "  offloaded  %s, %s of it paused; %s moved out, %s back\n",
          Bytes(device.Unsigned("offloaded_bytes")), Bytes(device.Unsigned("paused_bytes")),
          Bytes(device.Unsigned("moved_out_bytes")), Bytes(device.Unsigned("moved_back_bytes")));
      absl::StrAppendFormat(&text, "  host       %s held for that, %s given back\n",
                            Bytes(device.Unsigned("offload_host_bytes")),
                            Bytes(device.Unsigned("offload_host_released_bytes")));
    }
  }
  return text;
}

// Returns the turns of the process in two lines for each GPU that it shares.
std::string ShareText(const JsonValue& stats) {
  std::string text;
  for (const JsonValue& share : stats.Items("share")) {
    absl::StrAppendFormat(
        &text,
        "shares device %d, state \"%s\"\n  turns      %s, waited %s; %s moved out, %s back\n",
        share.Integer("device"), Printable(share.Text("state")), Count(share.Unsigned("turns")),
        Time(share.Unsigned("waited_ns")), Bytes(share.Unsigned("out_bytes")),
        Bytes(share.Unsigned("in_bytes")));
  }
  return text;
}

std::string MovedText(const std::string& verb, const JsonValue& body) {
  std::string text = absl::StrCat("moved ", Bytes(body.Unsigned("moved_bytes")),
                                  verb == "resume" ? " back" : " to the host");
  if (body.Has("stopped")) {
    absl::StrAppend(&text, "; ", Printable(body.Text("stopped")));
  }
  return text + "\n";
}

std::string AnswerText(const std::string& verb, const JsonValue& body) {
  if (verb == "stats") return StatsText(body) + ShareText(body);
  if (verb == "empty-cache") {
    const uint64_t host = body.Unsigned("host_released_bytes");
    return absl::StrFormat("gave %s back%s in %.1f ms\n", Bytes(body.Unsigned("released_bytes")),
                           host == 0 ? "" : absl::StrCat(", and ", Bytes(host), " to the host"),
                           static_cast<double>(body.Unsigned("duration_ns")) / 1e6);
  }
  if (verb == "limit") {
    const uint64_t bytes = body.Unsigned("limit_bytes");
    return bytes == 0 ? "no limit\n" : absl::StrCat("limit ", Bytes(bytes), "\n");
  }
  if (verb == "dump") {
    return absl::StrCat("wrote ", Printable(body.Text("path")), "\n");
  }
  if (verb == "offload" || verb == "resume") return MovedText(verb, body);
  if (verb == "census") return CensusText(body);
  if (verb == "share") {
    return body.Bool("paused") ? "The process is paused: its work waits, and its memory moves to "
                                 "the host when others lack memory.\n"
                               : "The process continues.\n";
  }
  return body.Dump() + "\n";
}

// The options that choose which blocks move, and those of `share`.
struct Choice {
  std::string idle;
  std::string bytes;
  std::string region;
  bool pause = false;
  bool resume = false;
};

// Returns a sentence if an option belongs to another request, or is missing; otherwise nothing.
std::string WhyWrong(const std::string& request, const Choice& choice) {
  const bool moves = request == "offload" || request == "resume";
  const bool only_out = !choice.idle.empty() || !choice.bytes.empty();
  if ((!moves && !choice.region.empty()) || (request != "offload" && only_out)) {
    return "--idle and --bytes belong to offload, --region to offload and resume.";
  }
  if ((request == "share") != (choice.pause || choice.resume)) {
    return "share needs --pause or --resume, and these belong to share.";
  }
  return "";
}

// Offloads the blocks that are idle for a given time. The process is first asked to watch its
// blocks, and at the end of that time to offload those that were not used.
absl::StatusOr<std::string> OffloadIdle(pid_t process, const std::string& folder,
                                        const std::string& idle) {
  uint64_t idle_ns = 0;
  constexpr uint64_t kMargin = 60;
  constexpr uint64_t kSecond = 1'000'000'000;
  if (!ParseDuration(idle, &idle_ns) || idle_ns == 0) {
    return absl::InvalidArgumentError("--idle needs a time, for example 5s.");
  }
  const auto marked =
      AskProcess(process, folder, absl::StrCat("mark-idle ", idle_ns / kSecond + kMargin, "s"));
  if (!marked.ok()) return marked.status();
  const auto body = JsonValue::Parse(*marked);
  if (!body.has_value() || !body->is_object())
    return absl::UnavailableError("the answer of the process cannot be parsed.");
  absl::SleepFor(absl::Nanoseconds(static_cast<int64_t>(idle_ns)));
  return AskProcess(process, folder, absl::StrCat("offload since ", body->Unsigned("mark")));
}

absl::StatusOr<std::string> AskFor(pid_t process, const std::string& folder, std::string request,
                                   const Choice& choice) {
  const bool moves = request == "offload" || request == "resume";
  if (!choice.region.empty() && moves) absl::StrAppend(&request, " region ", choice.region);
  if (!choice.bytes.empty() && moves) absl::StrAppend(&request, " bytes ", choice.bytes);
  if (!choice.idle.empty()) return OffloadIdle(process, folder, choice.idle);
  return AskProcess(process, folder, request);
}

}  // namespace

int CtlCommand(const std::vector<std::string>& arguments) {
  int64_t process = 0;
  std::vector<std::string> request;
  std::string folder;
  Choice choice;
  bool json = false;
  const CommandLine line{
      .command = "ctl",
      .summary = "Sends a request to a process that runs under vramstow.",
      .footer = kCtlFooter,
      .options = {
          {"PID",
           &process,
           "The id of the process",
           {.required = true, .range = OptionRange{1, 1 << 30}}},
          {"REQUEST",
           &request,
           "The request (below)",
           {.required = true,
            .suggests = {"stats", "empty-cache", "limit", "dump", "offload", "mark-idle", "resume",
                         "census", "share"}}},
          {"--control-dir", &folder, "Folder with the sockets, instead of the default"},
          {"--idle",
           &choice.idle,
           "offload: move memory that is not used for this long from now on, for example 5s",
           {.takes_no_file = true, .excludes = {"--bytes"}}},
          {"--bytes",
           &choice.bytes,
           "offload: move this much memory; memory that was not used for longest moves first",
           {.takes_no_file = true}},
          {"--region",
           &choice.region,
           "offload, resume: move the memory of this region",
           {.takes_no_file = true, .excludes = {"--idle", "--bytes"}}},
          {"--pause",
           &choice.pause,
           "share: let the process wait, and its memory move when others lack memory",
           {.excludes = {"--resume"}}},
          {"--resume", &choice.resume, "share: let the process continue"},
          {"--json", &json, "Print the answer as JSON on one line"}}};
  if (const auto status = ReadArguments(line, arguments)) return *status;

  // The word "offload" may be written before each request that belongs to offload.
  if (request.size() == 2 && request[0] == "offload") request.erase(request.begin());
  const std::string wrong = WhyWrong(request[0], choice);
  if (!wrong.empty()) {
    Complain("ctl", wrong);
    return kExitUsage;
  }
  if (request[0] == "share") request.emplace_back(choice.pause ? "pause" : "resume");
  const auto pid = static_cast<pid_t>(process);
  const auto body = AskFor(pid, folder, absl::StrJoin(request, " "), choice);
  if (!body.ok()) {
    Complain("ctl", std::string(body.status().message()));
    return absl::IsFailedPrecondition(body.status()) ? kExitCannotWrite : kExitUsage;
  }
  const auto parsed = JsonValue::Parse(*body);
  if (!parsed.has_value() || !parsed->is_object()) {
    Complain("ctl", absl::StrCat("the answer of process ", pid,
                                 " is no JSON: use the vramstow under which the process runs."));
    return kExitUsage;
  }
  // Bytes of the answer itself could control the terminal.
  if (json) return PrintResult("ctl", parsed->Dump() + "\n");
  return PrintResult("ctl", AnswerText(request.front(), *parsed));
}

}  // namespace vramstow
