#include "tools/report/identity.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tools/base/words.h"
#include "tools/report/text_table.h"

namespace vramstow {
namespace {

using Align = Table::Align;

std::string FactNamed(const Facts& facts, const std::string& key) {
  const auto fact = facts.trace_metadata.find(key);
  return fact == facts.trace_metadata.end() ? "" : Printable(fact->second);
}

// Returns a text like "snapshot.pickle: PyTorch memory snapshot".
std::string NameOfFile(const Facts& facts) {
  std::string file = Printable(facts.file.substr(facts.file.rfind('/') + 1));
  const std::pair<const char*, const char*> kinds[] = {
      {"pytorch_snapshot", "PyTorch memory snapshot"},
      {"rmm_log", "RMM log"},
      {"profiler_trace", "PyTorch profiler trace"},
      {"memory_timeline", "PyTorch memory timeline"},
      {"minimalloc", "minimalloc problem"}};
  for (const auto& [kind, name] : kinds) {
    if (facts.kind == kind) return absl::StrCat(file, ": ", name);
  }
  return file;
}

std::string CommandLine(const Facts& facts, const TextStyle& style) {
  const std::string command = FactNamed(facts, "process.command");
  const std::string program = FactNamed(facts, "process.program");
  const std::string name = !command.empty()       ? command
                           : !program.empty()     ? program
                           : facts.kind == "stow" ? "unknown program"
                                                  : NameOfFile(facts);
  return Shortened(name, style.width, style.utf8) + "\n";
}

// Returns a text like "process 4711, rank 3, on host, 2,012 events in 2.40 s".
std::string ProcessLine(const Facts& facts) {
  std::vector<std::string> parts;
  const auto add = [&](const char* label, const std::string& value) {
    if (!value.empty()) parts.push_back(absl::StrCat(label, value));
  };
  add("process ", FactNamed(facts, "process.pid"));
  add("rank ", FactNamed(facts, "process.rank"));
  add("local rank ", FactNamed(facts, "process.local_rank"));
  add("on ", FactNamed(facts, "process.host"));
  add("", absl::StrCat(Count(facts.report.events), " events in ", Time(facts.end_ns)));
  return absl::StrJoin(parts, ", ") + "\n";
}

std::string RehearsalLine(const Facts& facts) {
  if (!facts.simulated) return "";
  return absl::StrCat("SIMULATED RUN: ", FactNamed(facts, "simulated"), "\n");
}

// Returns a text like "device 0: NVIDIA H200, 140 GiB"; empty if nothing is known of the device.
std::string DeviceName(const DeviceFacts& device, const Facts& facts) {
  if (device.device == kNoDevice) return "";
  if (device.name.empty() && !device.total_bytes.has_value() && facts.devices.size() < 3) return "";
  std::string text = absl::StrCat("device ", device.device);
  if (!device.name.empty()) text += ": " + Printable(device.name);
  if (device.total_bytes.has_value()) text += ", " + Bytes(*device.total_bytes);
  return text;
}

// Returns the least free memory. The driver's answers do not show it alone, because the process may
// have reserved more memory after the last answer.
std::string LeastFree(const DeviceFacts& device) {
  if (!device.lowest_free_bytes.has_value()) return "";
  const uint64_t used = std::max(device.peak_reserved_bytes, device.peak_bytes);
  const uint64_t had = device.free_bytes_at_start.value_or(0);
  const uint64_t left = had - std::min(had, used);
  if (device.free_bytes_at_start.has_value() && left < *device.lowest_free_bytes) {
    return absl::StrCat(", ", Bytes(left), " free at the least");
  }
  return absl::StrCat(", ", Bytes(*device.lowest_free_bytes), " free at the least (at ",
                      Time(device.lowest_free_time_ns), ")");
}

}  // namespace

std::string NameOfTrace(const Facts& facts) {
  if (facts.rank.has_value()) return absl::StrCat("rank ", *facts.rank);
  const std::string pid = FactNamed(facts, "process.pid");
  return pid.empty() ? Printable(facts.file) : absl::StrCat("process ", pid);
}

std::string Identity(const Facts& facts, const TextStyle& style) {
  std::string devices;
  for (const DeviceFacts& device : facts.devices) {
    const std::string name = DeviceName(device, facts);
    if (name.empty()) continue;
    devices += name;
    if (device.free_bytes_at_start.has_value()) {
      devices += absl::StrCat(", ", Bytes(*device.free_bytes_at_start), " free at the start");
    }
    devices += LeastFree(device);
    devices += "\n";
  }
  return CommandLine(facts, style) + ProcessLine(facts) + RehearsalLine(facts) +
         WrappedLines(devices, style.width);
}

std::string ShortIdentity(const Facts& facts, const TextStyle& style) {
  constexpr size_t kMaxDevices = 2;
  std::string devices;
  size_t shown = 0;
  for (const DeviceFacts& device : facts.devices) {
    const std::string name = facts.simulated ? "" : DeviceName(device, facts);
    if (name.empty() || shown++ == kMaxDevices) continue;
    devices += name + "\n";
  }
  return CommandLine(facts, style) +
         WrappedLines(ProcessLine(facts) + RehearsalLine(facts) + devices, style.width);
}

std::string IdentityOfAll(const FactSet& set, const TextStyle& style) {
  std::string text = absl::StrCat(Counted(set.traces.size(), "trace"), ", ",
                                  Counted(set.total.report.events, "event"), "\n");
  const std::string command = FactNamed(set.total, "process.command");
  if (!command.empty()) text += Shortened(command, style.width, style.utf8) + "\n";
  const auto simulated = std::count_if(set.traces.begin(), set.traces.end(),
                                       [](const Facts& trace) { return trace.simulated; });
  if (simulated > 0) {
    text += absl::StrCat("SIMULATED RUN",
                         simulated < std::ssize(set.traces) ? ", in a part of them" : "", "\n");
  }
  return text;
}

std::string ProcessTable(const FactSet& set, size_t most, size_t highest, const TextStyle& style) {
  Table table({Align::kLeft, Align::kRight, Align::kLeft, Align::kRight, Align::kRight,
               Align::kRight, Align::kRight});
  table.AddRow({"", "pid", "program", "peak", "allocations", "out of memory", "at end"});
  std::vector<const Facts*> shown;
  shown.reserve(set.traces.size());
  for (const Facts& trace : set.traces) shown.push_back(&trace);
  const bool cut = shown.size() > most;
  if (cut) {
    std::ranges::stable_sort(shown, std::ranges::greater(),
                             [](const Facts* trace) { return trace->peak.allocated_bytes; });
    shown.resize(highest);
  }
  for (const Facts* row : shown) {
    const Facts& trace = *row;
    std::string program = FactNamed(trace, "process.program");
    program.erase(0, program.rfind('/') + 1);
    table.AddRow({trace.rank.has_value() ? NameOfTrace(trace) : "", FactNamed(trace, "process.pid"),
                  Shortened(program, 12, style.utf8), Bytes(trace.peak.allocated_bytes),
                  Count(trace.counts.allocations), Count(trace.counts.out_of_memory),
                  Bytes(trace.live.device.bytes)});
  }
  if (!cut) return table.Text(0);
  return absl::StrCat("The ", highest, " with the highest peak of ", Count(set.traces.size()),
                      ":\n", table.Text(0));
}

}  // namespace vramstow
