#include "tools/top/top_view.h"

#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <limits>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "tools/analysis/facts/named_facts.h"
#include "tools/base/folder_entries.h"
#include "tools/base/process_state.h"
#include "tools/base/words.h"
#include "tools/inputs/open_input.h"
#include "tools/inputs/runs.h"
#include "tools/json/json_value.h"
#include "tools/pipeline/analyze.h"
#include "tools/top/control_client.h"
#include "tools/top/held_traces.h"
#include "tools/top/running.h"
#include "tools/top/top_table.h"

namespace vramstow {
namespace {

constexpr size_t kSitesShown = 8;

// True if a signal or a debugger has stopped the process, so that it answers nothing.
bool IsStopped(pid_t process) {
  const char state = StateOfProcess(process);
  return state == 'T' || state == 't';
}

// Asks the process at its control socket. A process that does not answer soon must not delay the
// view of all others.
std::optional<uint64_t> PendingOf(pid_t process, const std::string& socket) {
  if (IsStopped(process)) return std::nullopt;
  const std::string folder = socket.substr(0, socket.rfind('/'));
  const auto body = AskProcess(process, folder, "stats", absl::Milliseconds(300));
  if (!body.ok()) return std::nullopt;
  const auto stats = JsonValue::Parse(*body);
  if (!stats.has_value() || !stats->Has("devices")) return std::nullopt;
  uint64_t bytes = 0;
  bool has_pool = false;
  for (const JsonValue& device : stats->Items("devices")) {
    if (device.Text("of") != "pool") continue;
    has_pool = true;
    bytes += device.Unsigned("pending_bytes");
  }
  return has_pool ? std::optional(bytes) : std::nullopt;
}

// Draws the level over time in `width` characters. The newest level is at the right.
std::string Curve(const TimelineFacts& timeline, uint64_t highest, size_t width) {
  constexpr std::string_view kMarks = " .:-=+*#%@";
  std::string curve;
  const size_t count = timeline.points.size();
  for (size_t i = 0; i < std::min(width, count); ++i) {
    // Each character stands for several intervals of time, and shows the highest level in them.
    uint64_t level = 0;
    const size_t from = i * count / std::min(width, count);
    const size_t to = (i + 1) * count / std::min(width, count);
    for (size_t j = from; j < to; ++j) {
      level = std::max(level, timeline.points[j].allocated_highest);
    }
    const size_t step = highest == 0 ? 0 : level * (kMarks.size() - 1) / highest;
    curve += kMarks[step];
  }
  return curve;
}

}  // namespace

uint64_t ReservedNow(const Facts& facts) {
  uint64_t bytes = 0;
  for (const DeviceFacts& device : facts.devices) bytes += device.end_reserved_bytes;
  return bytes;
}

const std::vector<TopOrder>& TopOrders() {
  using Process = const TopProcess&;
  static const auto* const kOrders = new std::vector<TopOrder>{
      {"allocated", 'a',
       [](Process a, Process b) { return a.facts.live.device.bytes > b.facts.live.device.bytes; }},
      {"reserved", 'r',
       [](Process a, Process b) { return ReservedNow(a.facts) > ReservedNow(b.facts); }},
      {"peak", 'p',
       [](Process a, Process b) {
         return a.facts.peak.reserved_bytes > b.facts.peak.reserved_bytes;
       }},
      {"oom", 'o',
       [](Process a, Process b) {
         return a.facts.counts.out_of_memory > b.facts.counts.out_of_memory;
       }},
      {"events", 'e',
       [](Process a, Process b) { return a.facts.report.events > b.facts.report.events; }},
      {"pid", 'i', [](Process a, Process b) { return a.process < b.process; }},
      // Processes without a rank come after those with a rank.
      {"rank", 'k',
       [](Process a, Process b) {
         constexpr int64_t kLast = std::numeric_limits<int64_t>::max();
         return a.rank.value_or(kLast) < b.rank.value_or(kLast);
       }},
      {"program", 'n', [](Process a, Process b) { return a.program < b.program; }}};
  return *kOrders;
}

void TopView::SortBy(std::string_view name) {
  for (const TopOrder& order : TopOrders()) {
    if (order.name == name) order_ = &order;
  }
  Sort();
}

void TopView::SortByKey(char key) {
  for (const TopOrder& order : TopOrders()) {
    if (order.key == key) order_ = &order;
  }
  Sort();
}

void TopView::Sort() {
  std::ranges::stable_sort(processes_, [this](const TopProcess& a, const TopProcess& b) {
    const bool a_runs = a.state == TopState::kRuns;
    const bool b_runs = b.state == TopState::kRuns;
    return a_runs != b_runs ? a_runs : order_->is_before(a, b);
  });
}

namespace {

// Returns the traces of all processes whose data in /proc this user may read.
std::vector<std::string> TracesOfAll() {
  std::set<std::string> files;
  for (const std::filesystem::path& entry : EntriesOf("/proc")) {
    pid_t process = 0;
    if (!absl::SimpleAtoi(entry.filename().string(), &process)) continue;
    for (std::string& file : TracesOfProcess(process)) {
      files.insert(std::move(file));
    }
  }
  return {files.begin(), files.end()};
}

}  // namespace

absl::Status TopView::FindFiles(std::vector<std::string>* files, bool* are_open) const {
  *are_open = target_.empty();
  if (target_.empty()) {
    *files = TracesOfAll();
    return absl::OkStatus();
  }
  int64_t number = 0;
  std::error_code error;
  if (std::filesystem::is_directory(target_, error) || !absl::SimpleAtoi(target_, &number)) {
    *files = FilesOf(target_);
    std::erase_if(*files, [](const std::string& file) { return !file.ends_with(kTraceEnding); });
    RemoveCopies(files);
    if (!files->empty()) return absl::OkStatus();
    return absl::NotFoundError(
        absl::StrCat(target_, " is neither a process id nor a folder with traces (.stow)."));
  }
  const bool is_process = number > 0 && number <= std::numeric_limits<pid_t>::max();
  const pid_t process = is_process ? static_cast<pid_t>(number) : 0;
  if (!IsRunning(process)) {
    for (const TopProcess& known : processes_) files->push_back(known.file);
    if (!files->empty()) return absl::OkStatus();
    return absl::NotFoundError(absl::StrCat("there is no process ", number, "."));
  }
  *are_open = true;
  *files = TracesOfProcess(process);
  if (!files->empty()) return absl::OkStatus();
  if (kill(process, 0) != 0 && errno == EPERM) {
    return absl::PermissionDeniedError(
        absl::StrCat("process ", process,
                     " belongs to another user: run vramstow top as that user, or as "
                     "root."));
  }
  return absl::NotFoundError(
      absl::StrCat("process ", process,
                   " writes no trace that is visible from here: it must run under vramstow, "
                   "without --no-trace, and must have used CUDA."));
}

absl::Status TopView::Look() {
  const auto begin = std::chrono::steady_clock::now();
  std::vector<std::string> files;
  bool are_open = false;
  if (absl::Status status = FindFiles(&files, &are_open); !status.ok()) return status;
  std::vector<TopProcess> processes;
  std::set<std::string> tables;  // of turns, outside the usual folder
  absl::Status last = absl::OkStatus();
  for (const std::string& file : files) {
    if (const auto known = ended_.find(file); known != ended_.end()) {
      processes.push_back(known->second);
      continue;
    }
    auto analysis = AnalyzeFile(file);
    if (!analysis.ok()) {
      last = analysis.status();
      continue;
    }
    TopProcess process;
    process.file = file;
    process.facts = std::move(analysis->facts);
    process.rank = process.facts.rank;
    process.program = ProgramOf(process.facts, file);
    if (!absl::SimpleAtoi(FactText(process.facts.trace_metadata, "process.pid"),
                          &process.process)) {
      process.process = 0;
    }
    process.state = StateOf(process);
    if (are_open && process.state == TopState::kElsewhere) process.state = TopState::kRuns;
    processes.push_back(std::move(process));
  }
  EndReplacedPrograms(&processes);
  LeaveNewest(&processes);
  for (TopProcess& process : processes) {
    if (process.state == TopState::kElsewhere) continue;
    if (process.state != TopState::kRuns) {
      ended_[process.file] = process;
      continue;
    }
    const std::string socket = FactText(process.facts.trace_metadata, "control.path");
    if (!socket.empty()) process.pool_pending_bytes = PendingOf(process.process, socket);
    const std::string table = FactText(process.facts.trace_metadata, "sharing.table");
    if (table.ends_with(".share")) tables.insert(table);
  }
  if (processes.empty() && !target_.empty()) return last;
  // Removes processes whose trace no longer exists. Otherwise the list would grow with each job
  // that ends.
  std::erase_if(ended_, [&files](const auto& known) {
    return std::ranges::find(files, known.first) == files.end();
  });
  processes_ = std::move(processes);
  sharers_ = ReadSharers(tables);
  Sort();
  cost_ms_ = static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(
                                       std::chrono::steady_clock::now() - begin)
                                       .count());
  return absl::OkStatus();
}

bool TopView::any_runs() const {
  return std::ranges::any_of(processes_, [](const TopProcess& process) {
    return process.state == TopState::kRuns ||
           (process.state == TopState::kElsewhere && WasWrittenLately(process.file));
  });
}

std::string TopView::Text(size_t rows, size_t columns) const {
  std::vector<std::string> lines;
  uint64_t allocated = 0;
  uint64_t reserved = 0;
  size_t running = 0;
  size_t elsewhere = 0;
  for (const TopProcess& process : processes_) {
    const bool is_elsewhere = process.state == TopState::kElsewhere;
    if (!is_elsewhere && process.state != TopState::kRuns) continue;
    ++(is_elsewhere ? elsewhere : running);
    allocated += process.facts.live.device.bytes;
    reserved += ReservedNow(process.facts);
  }
  lines.push_back(
      absl::StrFormat("%d of %d run%s, %s allocated, %s reserved", running, processes_.size(),
                      elsewhere == 0 ? "" : absl::StrCat(" and ", elsewhere, " may run elsewhere"),
                      Bytes(allocated), Bytes(reserved)));
  // If the line is too short for all parts, the sort order and the target are left out, and the
  // numbers remain.
  const std::string target = target_.empty() ? "" : " " + Printable(target_);
  const std::string order = absl::StrCat("; sorted by ", order_->name);
  for (const std::string& longer : {absl::StrCat("vramstow top", target, ": ", lines[0], order),
                                    absl::StrCat("vramstow top: ", lines[0], order),
                                    absl::StrCat("vramstow top: ", lines[0])}) {
    if (Columns(longer) > columns) continue;
    lines[0] = longer;
    break;
  }
  for (std::string& line : TopTable(processes_, columns)) lines.push_back(std::move(line));
  for (std::string& line : SharersInText(sharers_)) lines.push_back(std::move(line));
  if (!processes_.empty()) AddHolders(columns, &lines);
  if (lines.size() > rows) lines.resize(rows);
  for (std::string& line : lines) line = Shortened(line, columns, false);
  return absl::StrJoin(lines, "\n") + "\n";
}

void TopView::AddHolders(size_t columns, std::vector<std::string>* page) const {
  std::vector<std::string>& lines = *page;
  const TopProcess& first = processes_.front();
  const Facts& facts = first.facts;
  lines.emplace_back();
  lines.push_back(
      absl::StrFormat("Process %d, %s since its trace began%s", first.process, Time(facts.end_ns),
                      first.pool_pending_bytes.has_value()
                          ? absl::StrCat("; its pool waits for ", Bytes(*first.pool_pending_bytes))
                          : ""));
  lines.push_back("  [" +
                  Curve(facts.timeline, facts.peak.allocated_bytes,
                        std::min<size_t>(64, columns > 24 ? columns - 20 : 4)) +
                  "] " + Bytes(facts.peak.allocated_bytes));
  std::vector<SiteFacts> sites = facts.by_site;
  std::ranges::stable_sort(sites, [](const SiteFacts& a, const SiteFacts& b) {
    return a.at_end.bytes > b.at_end.bytes;
  });
  for (size_t i = 0; i < std::min(kSitesShown, sites.size()); ++i) {
    if (sites[i].at_end.bytes == 0) break;
    const std::string held = absl::StrFormat("  %11s in %s  ", Bytes(sites[i].at_end.bytes),
                                             Counted(sites[i].at_end.blocks, "block"));
    const std::string site =
        absl::StrCat(Printable(sites[i].site), ", ", Printable(sites[i].operation));
    lines.push_back(held + Shortened(site, columns - std::min(columns, held.size()), false));
  }
}

std::string TopView::Json() const {
  JsonValue json =
      JsonValue::Object({{"schema", JsonValue::Object({{"name", "vramstow.top"}, {"version", 1}})},
                         {"processes", JsonValue::Array()},
                         {"sharing", SharersInJson(sharers_)}});
  for (const TopProcess& process : processes_) {
    const Facts& facts = process.facts;
    JsonValue one = JsonValue::Object({{"pid", process.process},
                                       {"rank", nullptr},
                                       {"program", process.program},
                                       {"file", process.file},
                                       {"runs", process.state == TopState::kRuns},
                                       {"may_run_elsewhere", process.state == TopState::kElsewhere},
                                       {"allocated_bytes", facts.live.device.bytes},
                                       {"reserved_bytes", ReservedNow(facts)},
                                       {"peak_allocated_bytes", facts.peak.allocated_bytes},
                                       {"peak_reserved_bytes", facts.peak.reserved_bytes},
                                       {"out_of_memory", facts.counts.out_of_memory},
                                       {"events", facts.report.events},
                                       {"pool_pending_bytes", nullptr}});
    if (process.rank.has_value()) one["rank"] = *process.rank;
    if (process.pool_pending_bytes.has_value()) {
      one["pool_pending_bytes"] = *process.pool_pending_bytes;
    }
    json["processes"].Append(std::move(one));
  }
  return json.Dump() + "\n";
}

}  // namespace vramstow
