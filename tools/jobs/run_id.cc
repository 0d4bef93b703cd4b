#include "tools/jobs/run_id.h"

#include <dirent.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <fstream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/options.h"
#include "tools/base/process_state.h"

namespace vramstow {
namespace {

// Returns the id of the run in which a process was started. Returns an empty text if the process
// has none, or if this user may not read the environment of the process.
std::string RunIdOf(const std::string& process) {
  std::ifstream environment("/proc/" + process + "/environ");
  const std::string prefix = absl::StrCat(kRunIdVariable, "=");
  for (std::string entry; std::getline(environment, entry, '\0');) {
    if (entry.starts_with(prefix)) return entry.substr(prefix.size());
  }
  return "";
}

// True if the process exists. A zombie counts as ended.
bool IsAlive(pid_t process) {
  const char state = StateOfProcess(process);
  return state != 0 && state != 'Z' && state != 'X';
}

std::vector<RunningProcess> LookForProcessesOf(const std::string& run_id) {
  std::vector<RunningProcess> found;
  DIR* folder = opendir("/proc");
  if (folder == nullptr) return found;
  while (const dirent* entry = readdir(folder)) {
    const std::string name = entry->d_name;
    int process = 0;
    if (!absl::SimpleAtoi(name, &process) || process == getpid()) continue;
    if (!BelongsToRun(RunIdOf(name), run_id) || !IsAlive(process)) continue;
    std::ifstream file("/proc/" + name + "/comm");
    std::string program;
    std::getline(file, program);
    found.push_back({process, program});
  }
  closedir(folder);
  std::ranges::sort(found, {}, &RunningProcess::process);
  return found;
}

}  // namespace

std::string NewRunId(const char* outer) {
  uint64_t number = 0;
  if (getrandom(&number, sizeof number, GRND_NONBLOCK) != sizeof number) {
    timespec now = {};
    clock_gettime(CLOCK_REALTIME, &now);
    number = static_cast<uint64_t>(now.tv_sec) * 1000000007u + static_cast<uint64_t>(now.tv_nsec);
  }
  const std::string id = absl::StrFormat("%d-%016x", getpid(), number);
  return outer == nullptr || *outer == '\0' ? id : absl::StrCat(outer, "/", id);
}

bool BelongsToRun(const std::string& trace_run_id, const std::string& run_id) {
  return trace_run_id.starts_with(run_id) &&
         (trace_run_id.size() == run_id.size() || trace_run_id[run_id.size()] == '/');
}

std::vector<RunningProcess> FindProcessesOfRun(const std::string& run_id) {
  constexpr int kLooks = 10;
  constexpr timespec kBetween = {0, 50'000'000};
  std::vector<RunningProcess> found = LookForProcessesOf(run_id);
  for (int i = 0; i < kLooks && !found.empty(); ++i) {
    nanosleep(&kBetween, nullptr);
    found = LookForProcessesOf(run_id);
  }
  return found;
}

}  // namespace vramstow
