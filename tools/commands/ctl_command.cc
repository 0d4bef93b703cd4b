// vramstow ctl: asks a running process, or has it do something, through its control socket.

#include <csignal>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "base/units.h"
#include "tools/commands/arguments.h"
#include "tools/commands/command.h"
#include "tools/commands/control_client.h"
#include "tools/report/words.h"
#include "tools/terminal/output.h"

namespace vramstow {
namespace {

using Json = nlohmann::json;

constexpr char kFooter[] =
    "Requests:\n"
    "  stats [DEVICE]           what the pool holds, and did\n"
    "  empty-cache [DEVICE]     give cached memory back to the device\n"
    "  limit BYTES|none [DEVICE]  the most that the pool may hold from now on\n"
    "  dump                     write what the trace holds now into a file of its own\n"
    "  offload                  move live memory to the host, all of it or as the options say\n"
    "  resume                   bring back what was offloaded or paused\n\n"
    "Examples:\n"
    "  vramstow ctl 4711 stats\n"
    "  vramstow ctl 4711 empty-cache\n"
    "  vramstow ctl 4711 limit 20GiB\n"
    "  vramstow ctl 4711 offload --idle 5s\n"
    "  vramstow ctl 4711 resume\n\n"
    "Exit status: 0; 1 if the process refused or the answer could not be written; 2 if it cannot "
    "be\n"
    "reached.";

uint64_t Value(const Json& json, const char* key) { return json.value(key, uint64_t{0}); }

std::string StatsText(const Json& stats) {
  std::string text = absl::StrCat("process ", stats.value("pid", int64_t{0}), " (",
                                  Printable(stats.value("program", std::string())), ")\n");
  if (stats["devices"].empty()) return text + "  no pool\n";
  for (const Json& device : stats["devices"]) {
    const uint64_t limit = Value(device, "limit_bytes");
    absl::StrAppendFormat(&text, "device %d\n", device.value("device", 0));
    absl::StrAppendFormat(&text, "  allocated  %s in %s blocks, %s at the peak\n",
                          Bytes(Value(device, "allocated_bytes")),
                          Count(Value(device, "live_blocks")),
                          Bytes(Value(device, "peak_allocated_bytes")));
    absl::StrAppendFormat(&text, "  reserved   %s, %s at the peak%s\n",
                          Bytes(Value(device, "reserved_bytes")),
                          Bytes(Value(device, "peak_reserved_bytes")),
                          limit == 0 ? "" : absl::StrCat(", limit ", Bytes(limit)));
    absl::StrAppendFormat(&text, "  pending    %s wait for submitted work\n",
                          Bytes(Value(device, "pending_bytes")));
    absl::StrAppendFormat(
        &text, "  calls      %s allocations, %s of them no hit; %s frees; out of memory %s\n",
        Count(Value(device, "allocations")), Count(Value(device, "misses")),
        Count(Value(device, "frees")), Count(Value(device, "out_of_memory")));
    absl::StrAppendFormat(&text, "  given back %s\n", Bytes(Value(device, "released_bytes")));
    if (Value(device, "moved_out_bytes") + Value(device, "paused_bytes") != 0) {
      absl::StrAppendFormat(
          &text, "  offloaded  %s, %s of it paused; %s moved out, %s back\n",
          Bytes(Value(device, "offloaded_bytes")), Bytes(Value(device, "paused_bytes")),
          Bytes(Value(device, "moved_out_bytes")), Bytes(Value(device, "moved_back_bytes")));
    }
  }
  return text;
}

std::string MovedText(const std::string& verb, const Json& body) {
  std::string text = absl::StrCat("moved ", Bytes(Value(body, "moved_bytes")),
                                  verb == "resume" ? " back" : " to the host");
  if (body.contains("stopped")) {
    absl::StrAppend(&text, "; ", Printable(body.value("stopped", std::string())));
  }
  return text + "\n";
}

std::string TextOf(const std::string& verb, const Json& body) {
  if (verb == "stats") return StatsText(body);
  if (verb == "empty-cache") {
    return absl::StrFormat("gave %s back in %.1f ms\n", Bytes(Value(body, "released_bytes")),
                           static_cast<double>(Value(body, "duration_ns")) / 1e6);
  }
  if (verb == "limit") {
    const uint64_t bytes = Value(body, "limit_bytes");
    return bytes == 0 ? "no limit\n" : absl::StrCat("limit ", Bytes(bytes), "\n");
  }
  if (verb == "dump") {
    return absl::StrCat("wrote ", Printable(body.value("path", std::string())), "\n");
  }
  if (verb == "offload" || verb == "resume") return MovedText(verb, body);
  return body.dump() + "\n";
}

// What moves, as the options say it.
struct Choice {
  std::string idle;
  std::string bytes;
  std::string region;
};

// What is idle is known after that time: the process is asked to look, and then for what it did not
// see.
absl::StatusOr<std::string> OffloadIdle(pid_t process, const std::string& folder,
                                        const std::string& idle) {
  uint64_t idle_ns = 0;
  constexpr uint64_t kMargin = 60;
  constexpr uint64_t kSecond = 1'000'000'000;
  if (!ParseDuration(idle, &idle_ns) || idle_ns == 0) {
    return absl::InvalidArgumentError("--idle takes a time such as 5s.");
  }
  const auto marked =
      AskProcess(process, folder, absl::StrCat("mark-idle ", idle_ns / kSecond + kMargin, "s"));
  if (!marked.ok()) return marked.status();
  const Json body = Json::parse(*marked, nullptr, false);
  if (!body.is_object()) return absl::UnavailableError("the answer cannot be understood.");
  absl::SleepFor(absl::Nanoseconds(static_cast<int64_t>(idle_ns)));
  return AskProcess(process, folder, absl::StrCat("offload since ", Value(body, "mark")));
}

absl::StatusOr<std::string> Ask(pid_t process, const std::string& folder, std::string request,
                                const Choice& choice) {
  const bool moves = request == "offload" || request == "resume";
  if (!choice.region.empty() && moves) absl::StrAppend(&request, " region ", choice.region);
  if (!choice.bytes.empty() && moves) absl::StrAppend(&request, " bytes ", choice.bytes);
  if (!choice.idle.empty()) return OffloadIdle(process, folder, choice.idle);
  return AskProcess(process, folder, request);
}

}  // namespace

int CtlCommand(const std::vector<std::string>& arguments) {
  CLI::App app("Asks a process that runs under vramstow, or has it do something.");
  app.footer(kFooter);
  int64_t process = 0;
  std::vector<std::string> request;
  std::string folder;
  bool json = false;
  app.add_option("PID", process, "The process")->required()->check(CLI::Range(1, 1 << 30));
  app.add_option("REQUEST", request, "What it is to do")->required();
  app.add_option("--control-dir", folder, "Folder with the sockets, if not the usual one");
  Choice choice;
  auto* idle = app.add_option("--idle", choice.idle,
                              "offload: what nobody touches for this long from now on, such as 5s");
  auto* bytes =
      app.add_option("--bytes", choice.bytes, "offload: so much, what was longest untouched first");
  app.add_option("--region", choice.region, "offload, resume: what is of this region")
      ->excludes(idle)
      ->excludes(bytes);
  idle->excludes(bytes);
  app.add_flag("--json", json, "The answer as JSON on one line");
  if (const auto status = ReadArguments(&app, "ctl", arguments)) return *status;

  // The requests that belong to offload may be said after it, too.
  if (request.size() == 2 && request[0] == "offload") request.erase(request.begin());
  const bool moves = request[0] == "offload" || request[0] == "resume";
  const bool only_out = !choice.idle.empty() || !choice.bytes.empty();
  if ((!moves && !choice.region.empty()) || (request[0] != "offload" && only_out)) {
    Complain("ctl", "--idle and --bytes belong to offload, --region to offload and resume.");
    return kExitUsage;
  }
  const auto pid = static_cast<pid_t>(process);
  const auto body = Ask(pid, folder, absl::StrJoin(request, " "), choice);
  if (!body.ok()) {
    Complain("ctl", std::string(body.status().message()));
    return absl::IsFailedPrecondition(body.status()) ? kExitCannotWrite : kExitUsage;
  }
  if (json) return PrintResult("ctl", *body);
  const Json parsed = Json::parse(*body, nullptr, false);
  if (!parsed.is_object()) {
    Complain("ctl", "the answer cannot be understood; see it with --json.");
    return kExitUsage;
  }
  return PrintResult("ctl", TextOf(request.front(), parsed));
}

}  // namespace vramstow
