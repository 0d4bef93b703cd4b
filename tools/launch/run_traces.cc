#include "tools/launch/run_traces.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/options.h"
#include "tools/analysis/accounts/analyzer.h"
#include "tools/base/progress.h"
#include "tools/inputs/runs.h"
#include "tools/inputs/trace_source.h"

namespace vramstow {
namespace {

// The clock of a file server may be behind this machine's.
constexpr time_t kClockSlack = 3600;
constexpr uint64_t kEventsBetweenLooks = 1 << 16;

// Ends early when it is told to.
class StoppableSource : public EventSource {
 public:
  StoppableSource(EventSource* source, const std::function<bool()>& stop)
      : source_(source), stop_(stop) {}

  bool Next(Event* event) override {
    if (++events_ % kEventsBetweenLooks == 0 && stop_()) stopped_ = true;
    return !stopped_ && source_->Next(event);
  }
  std::string_view CallName(uint16_t call) const override { return source_->CallName(call); }
  std::string_view LibraryPath(uint16_t library) const override {
    return source_->LibraryPath(library);
  }
  const std::map<std::string, std::string>& facts() const override { return source_->facts(); }
  ReadReport report() const override { return source_->report(); }
  bool stopped() const { return stopped_; }

 private:
  EventSource* source_;
  const std::function<bool()>& stop_;
  uint64_t events_ = 0;
  bool stopped_ = false;
};

std::vector<std::string> TraceFiles(const std::string& directory) {
  std::vector<std::string> files;
  DIR* folder = opendir(directory.c_str());
  if (folder == nullptr) return files;
  while (const dirent* entry = readdir(folder)) {
    const std::string name = entry->d_name;
    if (name.ends_with(".stow")) files.push_back(absl::StrCat(directory, "/", name));
  }
  closedir(folder);
  std::sort(files.begin(), files.end());
  return files;
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

namespace {

// The id of the run that a process was started in; empty: none, or it may not be looked at.
std::string RunIdOf(const std::string& process) {
  std::ifstream environment("/proc/" + process + "/environ");
  const std::string prefix = absl::StrCat(kRunIdVariable, "=");
  for (std::string entry; std::getline(environment, entry, '\0');) {
    if (entry.starts_with(prefix)) return entry.substr(prefix.size());
  }
  return "";
}

// The state of /proc/PID/stat, behind the last bracket: a zombie has ended.
bool IsAlive(const std::string& process) {
  std::ifstream file("/proc/" + process + "/stat");
  std::string text;
  std::getline(file, text);
  const size_t bracket = text.rfind(')');
  if (bracket == std::string::npos || bracket + 2 >= text.size()) return false;
  return text[bracket + 2] != 'Z' && text[bracket + 2] != 'X';
}

std::vector<RunningProcess> LookForProcessesOf(const std::string& run_id) {
  std::vector<RunningProcess> found;
  DIR* folder = opendir("/proc");
  if (folder == nullptr) return found;
  while (const dirent* entry = readdir(folder)) {
    const std::string name = entry->d_name;
    int process = 0;
    if (!absl::SimpleAtoi(name, &process) || process == getpid()) continue;
    if (!BelongsToRun(RunIdOf(name), run_id) || !IsAlive(name)) continue;
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

RunTraces FindRunTraces(const std::string& directory, const std::string& run_id, time_t begin,
                        const std::function<bool()>& stop) {
  RunTraces traces;
  std::vector<std::string> files = TraceFiles(directory);
  // A copy that was made while the process ran is no process of its own.
  TakeCopies(&files);
  for (const std::string& file : files) {
    if (stop()) traces.stopped = true;
    if (traces.stopped) return traces;
    struct stat status;
    if (stat(file.c_str(), &status) != 0 || status.st_mtime < begin - kClockSlack) continue;
    auto source = TraceSource::Open(file);
    if (!source.ok()) {
      traces.unread += status.st_mtime >= begin ? 1 : 0;
      continue;
    }
    const auto id = (*source)->facts().find("run.id");
    if (id == (*source)->facts().end() || !BelongsToRun(id->second, run_id)) continue;
    Progress::OfProcess().Begin(absl::StrCat("reading ", file.substr(file.rfind('/') + 1)),
                                static_cast<uint64_t>(&file - files.data()), files.size());
    StoppableSource stoppable(source->get(), stop);
    traces.facts.push_back(Analyze(&stoppable, file));
    traces.stopped = stoppable.stopped();
  }
  return traces;
}

}  // namespace vramstow
