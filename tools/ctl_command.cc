// vramstow ctl: asks a running process, or has it do something, through its control socket.

#include <csignal>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "tools/arguments.h"
#include "tools/command.h"
#include "tools/control_client.h"
#include "tools/output.h"
#include "tools/report/words.h"

namespace vramstow {
namespace {

using Json = nlohmann::json;

constexpr char kFooter[] =
    "Requests:\n"
    "  stats [DEVICE]           what the pool holds, and did\n"
    "  empty-cache [DEVICE]     give cached memory back to the device\n"
    "  limit BYTES|none [DEVICE]  the most that the pool may hold from now on\n"
    "  dump                     write what the trace holds now into a file of its own\n\n"
    "Examples:\n"
    "  vramstow ctl 4711 stats\n"
    "  vramstow ctl 4711 empty-cache\n"
    "  vramstow ctl 4711 limit 20GiB\n\n"
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
  }
  return text;
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
  return body.dump() + "\n";
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
  app.add_flag("--json", json, "The answer as JSON on one line");
  if (const auto status = ReadArguments(&app, "ctl", arguments)) return *status;

  const auto pid = static_cast<pid_t>(process);
  const auto body = AskProcess(pid, folder, absl::StrJoin(request, " "));
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
