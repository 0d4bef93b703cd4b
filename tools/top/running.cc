#include "tools/top/running.h"

#include <sys/stat.h>
#include <sys/utsname.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tools/analysis/facts/named_facts.h"
#include "tools/analysis/facts/process_images.h"
#include "tools/base/process_state.h"
#include "tools/top/held_traces.h"

namespace vramstow {
namespace {

// By how much the same start can differ if it is computed twice, because clocks are adjusted.
constexpr int64_t kClockSlack = 2'000'000'000;

bool IsOfThisHost(const TopProcess& process) {
  const std::string host = FactText(process.facts.trace_metadata, "process.host");
  utsname here = {};
  return host.empty() || uname(&here) != 0 || host == here.nodename;
}

// True if the process id is valid here, and not in a container of its own.
bool IsOfThisPidSpace(const TopProcess& process) {
  const std::string space = FactText(process.facts.trace_metadata, "process.pid_space");
  struct stat here = {};
  return space.empty() || stat("/proc/self/ns/pid", &here) != 0 ||
         space == std::to_string(here.st_ino);
}

bool HasStartOf(const TopProcess& process) {
  int64_t recorded = 0;
  if (!absl::SimpleAtoi(FactText(process.facts.trace_metadata, "process.start_time"), &recorded))
    return true;
  const int64_t start = StartOfProcess(process.process);
  if (start == 0 || std::abs(start - recorded) <= kClockSlack) return true;
  // The clock may have been set since the process started.
  const std::set<std::string> held = TracesHeldBy(process.process);
  return std::ranges::any_of(held, [&process](const std::string& file) {
    std::error_code error;
    return std::filesystem::equivalent(file, process.file, error);
  });
}

// Returns when the file was last written.
int64_t WrittenAt(const std::string& file) {
  struct stat about = {};
  if (stat(file.c_str(), &about) != 0) return 0;
  return int64_t{about.st_mtim.tv_sec} * 1'000'000'000 + about.st_mtim.tv_nsec;
}

std::string LastPart(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

bool IsRunning(pid_t process) { return process > 0 && !HasEnded(process); }

TopState StateOf(const TopProcess& process) {
  if (process.facts.report.closed) return TopState::kEnded;
  if (!IsOfThisHost(process) || !IsOfThisPidSpace(process)) return TopState::kElsewhere;
  return IsRunning(process.process) && HasStartOf(process) ? TopState::kRuns : TopState::kKilled;
}

bool WasWrittenLately(const std::string& file) {
  constexpr int64_t kLately = 120'000'000'000;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::nanoseconds(now).count() - WrittenAt(file) < kLately;
}

std::string ProgramOf(const Facts& facts, const std::string& file) {
  std::string program = LastPart(FactText(facts.trace_metadata, "process.program"));
  if (!program.starts_with("python") && !program.starts_with("pypy")) return program;
  // The PID itself distinguishes it from the date and from the number of a further trace.
  const std::string pid = FactText(facts.trace_metadata, "process.pid");
  const bool is_number = !pid.empty() && pid.find_first_not_of("0123456789") == std::string::npos;
  const std::regex pattern(absl::StrCat(R"((.+)-\d{4}-\d{4}(-rank\d+)?-)",
                                        is_number ? pid : R"(\d+)", R"((-[a-z]+)?(-\d+)?\.stow)"));
  std::smatch parts;
  const std::string name = LastPart(file);
  return std::regex_match(name, parts, pattern) ? parts[1].str() : program;
}

void EndReplacedPrograms(std::vector<TopProcess>* processes) {
  std::map<std::pair<std::string, pid_t>, const TopProcess*> newest;
  for (const TopProcess& process : *processes) {
    const TopProcess*& last =
        newest[{FactText(process.facts.trace_metadata, "process.host"), process.process}];
    if (last == nullptr || last->facts.start_unix_ns < process.facts.start_unix_ns) last = &process;
  }
  for (TopProcess& process : *processes) {
    if (process.state != TopState::kRuns && process.state != TopState::kKilled) continue;
    const TopProcess& last =
        *newest[{FactText(process.facts.trace_metadata, "process.host"), process.process}];
    if (last.facts.start_unix_ns > process.facts.start_unix_ns &&
        IsSameProcess(last.facts, process.facts)) {
      process.state = TopState::kEnded;
    }
  }
}

void LeaveNewest(std::vector<TopProcess>* processes) {
  // In containers, several processes have the same id.
  std::map<std::tuple<std::string, std::string, pid_t>, TopProcess*> newest;
  for (TopProcess& process : *processes) {
    if (process.state != TopState::kRuns) continue;
    const auto [known, is_first] = newest.try_emplace(
        std::tuple(FactText(process.facts.trace_metadata, "process.host"),
                   FactText(process.facts.trace_metadata, "process.pid_space"), process.process),
        &process);
    if (is_first) continue;
    TopProcess*& last = known->second;
    TopProcess* const older = WrittenAt(process.file) < WrittenAt(last->file) ? &process : last;
    if (older == last) last = &process;
    older->state = TopState::kKilled;
  }
}

}  // namespace vramstow
