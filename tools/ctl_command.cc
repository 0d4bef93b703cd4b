// vramstow ctl: asks a running process, or has it do something, through its control socket.
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/control.h"
#include "tools/arguments.h"
#include "tools/command.h"
#include "tools/output.h"
#include "tools/report/words.h"

namespace vramstow {
namespace {

using Json = nlohmann::json;

constexpr int kPatienceMs = 10'000;

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

// Closes itself.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return number_; }

 private:
  int number_;
};

absl::StatusOr<std::string> SocketOf(pid_t process, const std::string& folder) {
  const char* chosen = std::getenv("VRAMSTOW_CONTROL_DIR");
  if (!folder.empty()) chosen = folder.c_str();
  char directory[kMaxControlPath];
  char path[kMaxControlPath];
  if (!ControlDirectory(chosen == nullptr ? "" : chosen, std::getenv("XDG_RUNTIME_DIR"), geteuid(),
                        directory, sizeof directory) ||
      !ControlSocketPath(directory, process, path, sizeof path)) {
    return absl::InvalidArgumentError("the path of the folder for control sockets is too long.");
  }
  return std::string(path);
}

// Why nobody answers at this path.
absl::Status CannotReach(pid_t process, const std::string& path, int error) {
  const bool gone = kill(process, 0) != 0 && errno == ESRCH;
  if (error == ENOENT && gone) {
    return absl::NotFoundError(absl::StrCat("there is no process ", process, "."));
  }
  if (error == ENOENT) {
    return absl::NotFoundError(
        absl::StrCat("process ", process, " has no control socket (", Printable(path),
                     "): it has to run under vramstow with --pool=on, and to have allocated device "
                     "memory; or with --trace-size."));
  }
  if (error == ECONNREFUSED) {
    return absl::NotFoundError(absl::StrCat(Printable(path),
                                            " is left over from a process that is dead: it can be "
                                            "removed."));
  }
  return absl::UnavailableError(
      absl::StrCat("cannot connect to ", Printable(path), ": ", strerror(error), "."));
}

bool WaitFor(int descriptor, short what) {
  pollfd poll_for = {descriptor, what, 0};
  int ready = 0;
  do {
    ready = poll(&poll_for, 1, kPatienceMs);
  } while (ready < 0 && errno == EINTR);
  return ready > 0;
}

absl::StatusOr<std::string> Ask(pid_t process, const std::string& path,
                                const std::string& request) {
  const Descriptor socket_to(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  static_assert(sizeof address.sun_path == kMaxControlPath);
  std::snprintf(address.sun_path, sizeof address.sun_path, "%s", path.c_str());
  if (connect(socket_to.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return CannotReach(process, path, errno);
  }
  const std::string line = absl::StrCat(kControlGreeting, request, "\n");
  const auto silent = [&] {
    return absl::DeadlineExceededError(
        absl::StrCat("process ", process, " does not answer; it may be stopped or busy."));
  };
  if (line.size() > kMaxControlRequest) {
    return absl::InvalidArgumentError("the request is too long.");
  }
  if (send(socket_to.get(), line.data(), line.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(line.size())) {
    return silent();
  }
  std::string answer;
  while (answer.size() <= kMaxControlAnswer) {
    char buffer[4096];
    if (!WaitFor(socket_to.get(), POLLIN)) return silent();
    const ssize_t got = recv(socket_to.get(), buffer, sizeof buffer, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    answer.append(buffer, static_cast<size_t>(got));
  }
  return answer;
}

// The body of an answer, or what the process said against it.
absl::StatusOr<std::string> BodyOf(pid_t process, const std::string& answer) {
  const std::string ok = absl::StrCat(kControlGreeting, "OK\n");
  const std::string error = absl::StrCat(kControlGreeting, "ERROR ");
  if (answer.starts_with(ok)) return answer.substr(ok.size());
  if (answer.starts_with(error)) {
    return absl::FailedPreconditionError(absl::StrCat(
        Printable(answer.substr(error.size(), answer.find('\n') - error.size())), "."));
  }
  return absl::UnavailableError(
      absl::StrCat("process ", process, " gave no answer that this version understands."));
}

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
  const auto path = SocketOf(pid, folder);
  auto answer = path.ok() ? Ask(pid, *path, absl::StrJoin(request, " "))
                          : absl::StatusOr<std::string>(path.status());
  const auto body = answer.ok() ? BodyOf(pid, *answer) : answer;
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
