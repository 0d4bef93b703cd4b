#include "tools/report/text.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "tools/base/words.h"
#include "tools/report/chart.h"
#include "tools/report/sections.h"
#include "tools/report/table.h"

namespace vramstow {
namespace {

using Align = Table::Align;

// If there are more traces than this, only those with the highest peaks are shown.
constexpr size_t kMostTraces = 16;
constexpr size_t kHighestTraces = 8;

std::string FactNamed(const Facts& facts, const std::string& key) {
  const auto fact = facts.facts.find(key);
  return fact == facts.facts.end() ? "" : Printable(fact->second);
}

std::string Title(const std::string& text, const TextStyle& style) {
  if (!style.utf8) return absl::StrCat("\n== ", text, " ==\n");
  const size_t rest = style.width - std::min(style.width, Columns(text) + 4);
  std::string line = absl::StrCat("\n── ", text, " ");
  for (size_t i = 0; i < rest; ++i) line += "─";
  return line + "\n";
}

// "snapshot.pickle: PyTorch memory snapshot".
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

std::string Identity(const Facts& facts, const TextStyle& style) {
  std::string text;
  const std::string command = FactNamed(facts, "process.command");
  const std::string program = FactNamed(facts, "process.program");
  const std::string name = !command.empty()       ? command
                           : !program.empty()     ? program
                           : facts.kind == "stow" ? "unknown program"
                                                  : NameOfFile(facts);
  text += Shortened(name, style.width, style.utf8) + "\n";
  std::vector<std::string> parts;
  const auto add = [&](const char* label, const std::string& value) {
    if (!value.empty()) parts.push_back(absl::StrCat(label, value));
  };
  add("process ", FactNamed(facts, "process.pid"));
  add("rank ", FactNamed(facts, "process.rank"));
  add("local rank ", FactNamed(facts, "process.local_rank"));
  add("on ", FactNamed(facts, "process.host"));
  add("", absl::StrCat(Count(facts.report.events), " events in ", Time(facts.end_ns)));
  for (size_t i = 0; i < parts.size(); ++i) text += (i == 0 ? "" : ", ") + parts[i];
  text += "\n";
  if (facts.simulated) {
    text += absl::StrCat("REHEARSAL on a simulated device: ", FactNamed(facts, "simulated"), "\n");
  }
  std::string devices;
  for (const DeviceFacts& device : facts.devices) {
    if (device.device == kNoDevice) continue;
    if (device.name.empty() && !device.total_bytes.has_value() && facts.devices.size() < 3)
      continue;
    devices += absl::StrCat("device ", device.device);
    if (!device.name.empty()) devices += ": " + Printable(device.name);
    if (device.total_bytes.has_value()) devices += ", " + Bytes(*device.total_bytes);
    if (device.free_bytes_at_start.has_value()) {
      devices += absl::StrCat(", ", Bytes(*device.free_bytes_at_start), " free at the start");
    }
    if (device.lowest_free_bytes.has_value()) {
      devices += absl::StrCat(", ", Bytes(*device.lowest_free_bytes), " free at the least (at ",
                              Time(device.lowest_free_time_ns), ")");
    }
    devices += "\n";
  }
  return text + WrappedLines(devices, style.width);
}

std::string TraceTable(const FactSet& set, const TextStyle& style) {
  Table table({Align::kLeft, Align::kRight, Align::kLeft, Align::kRight, Align::kRight,
               Align::kRight, Align::kRight});
  table.AddRow({"", "pid", "program", "peak", "allocations", "out of memory", "at end"});
  std::vector<const Facts*> shown;
  shown.reserve(set.traces.size());
  for (const Facts& trace : set.traces) shown.push_back(&trace);
  const bool cut = shown.size() > kMostTraces;
  if (cut) {
    std::ranges::stable_sort(shown, std::ranges::greater(),
                             [](const Facts* trace) { return trace->peak.allocated_bytes; });
    shown.resize(kHighestTraces);
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
  return absl::StrCat("The ", kHighestTraces, " with the highest peak of ",
                      Count(set.traces.size()), ":\n", table.Text(0));
}

std::string Several(const FactSet& set, const TextStyle& style) {
  std::string text = absl::StrCat(Counted(set.traces.size(), "trace"), ", ",
                                  Counted(set.total.report.events, "event"), "\n");
  const std::string command = FactNamed(set.total, "process.command");
  if (!command.empty()) text += Shortened(command, style.width, style.utf8) + "\n";
  const auto simulated = std::count_if(set.traces.begin(), set.traces.end(),
                                       [](const Facts& trace) { return trace.simulated; });
  if (simulated > 0) {
    text += absl::StrCat("REHEARSAL on a simulated device",
                         simulated < std::ssize(set.traces) ? ", in a part of them" : "", "\n");
  }
  text += Title("Processes", style) + TraceTable(set, style);
  if (set.comparison.has_value()) {
    text += Title("Ranks compared", style) + RankSection(*set.comparison, style);
  }
  return text;
}

// The report in plain ASCII: its own signs have a spelling, all else that came with the trace has
// none.
std::string Ascii(const std::string& text) {
  const std::string spelled = absl::StrReplaceAll(text, {{"÷", "/"}, {"…", "..."}});
  std::string ascii;
  for (char c : spelled) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      ascii += c;
    } else if (byte >= 0xc0) {
      ascii += '?';
    }
  }
  return ascii;
}

// Other formats than our own do not say which library asked.
bool HasLibraries(const Facts& facts) {
  return std::ranges::any_of(facts.by_library,
                             [](const TallyFacts& tally) { return tally.name != "unknown"; });
}

std::string MissingOfAll(const FactSet& set) {
  std::string text;
  for (const std::string& sentence : set.left_out) text += Printable(sentence) + "\n";
  for (const Facts& trace : set.traces) {
    const std::string missing = MissingText(trace);
    if (missing.empty()) continue;
    if (set.traces.size() > 1) text += NameOfTrace(trace) + ":\n";
    text += missing;
  }
  return text;
}

}  // namespace

std::string NameOfTrace(const Facts& facts) {
  if (facts.rank.has_value()) return absl::StrCat("rank ", *facts.rank);
  const std::string pid = FactNamed(facts, "process.pid");
  return pid.empty() ? Printable(facts.file) : absl::StrCat("process ", pid);
}

std::string MissingText(const Facts& facts) {
  const ReadReport& report = facts.report;
  const Counts& counts = facts.counts;
  std::string text;
  for (const std::string& sentence : facts.missing) text += Printable(sentence) + "\n";
  if (!report.closed && facts.kind == "stow") {
    text +=
        "The trace was not closed: the process was killed, or it is still running. All that it had "
        "committed is here.\n";
  }
  if (report.damaged_chunks > 0 || report.damaged_bytes > 0) {
    text += absl::StrCat("Damaged: ", Counted(report.damaged_chunks, "chunk"), " and ",
                         Bytes(report.damaged_bytes), " of the file could not be read.\n");
  }
  if (report.write_error != 0) {
    text += absl::StrCat("Recording ended before the program did, because ",
                         WriteErrorInWords(report.write_error),
                         ": give the trace another folder (--trace-dir), or a limit "
                         "(--trace-size).\n");
  }
  if (report.dropped_events > 0) {
    text += absl::StrCat("Not recorded: ", Counted(report.dropped_events, "event"),
                         " (buffers or disk were full).\n");
  }
  if (report.overwritten_events > 0) {
    text += absl::StrCat("Overwritten: ", Counted(report.overwritten_events, "event"),
                         " before the first one here: the trace kept only the newest ones "
                         "(--trace-size).\n");
  }
  if (report.missing_events > 0) {
    text += absl::StrCat("Missing: ", Counted(report.missing_events, "event"),
                         " of the sequence. Blocks that they freed count as live from there on.\n");
  }
  if (counts.frees_of_unseen > 0) {
    text += absl::StrCat(Counted(counts.frees_of_unseen, "free"),
                         " of blocks whose allocation is not in the trace",
                         facts.kind == "stow" ? "; they are in no level.\n"
                                              : ": they count as there from the beginning.\n");
  }
  if (counts.frees_missed > 0) {
    text += absl::StrCat(Counted(counts.frees_missed, "block"),
                         " whose address was given out again without a free in the trace.\n");
  }
  if (counts.unmatched_refusals > 0) {
    text += absl::StrCat(Counted(counts.unmatched_refusals, "refusal"),
                         " of calls that are not in the trace.\n");
  }
  return text;
}

std::string TextReport(const FactSet& set, const TextStyle& style) {
  const Facts& total = set.total;
  const bool one = set.traces.size() == 1;
  std::string text = one ? Identity(total, style) : Several(set, style);
  const auto section = [&](const char* title, const std::string& body) {
    if (!body.empty()) text += Title(title, style) + body;
  };
  if (one) section("Why memory ran out", WhySection(total, style));
  section("Out of memory", OutOfMemorySection(set, style));
  if (one) {
    section("Device memory over time",
            Chart(total.timeline, total.end_ns, {style.width, 8, style.utf8}));
  }
  section("Peak", PeakSection(total));
  if (one) {
    section("Advice", AdviceSection(total, style));
    section("What it is for, at the peak", CategorySection(total, style));
    section("By call site", SiteSection(total, style));
    section("By module", ModuleSection(total, style));
    section("Just before the peak", BeforePeakSection(total, style));
  }
  if (HasLibraries(total)) section("By library", LibrarySection(total, style));
  section("By kind of memory", KindSection(total));
  section("By call", CallSection(total));
  section("Sizes of device allocations", SizeSection(total, style));
  section("Launches", LaunchSection(total, style));
  if (one) {
    section("Segments at the end", SnapshotSection(total));
    section("Fragmentation", FragmentationSection(total, style));
    section("Cache", CacheSection(total, style));
    section("Host", HostSection(total, style));
    section("Iterations", IterationSection(total));
    section("Lifetimes", LifetimeSection(total, style));
  }
  section("Live at the end", LiveSection(total, style));
  section("What is missing", WrappedLines(MissingOfAll(set), style.width));
  return style.utf8 ? text : Ascii(text);
}

}  // namespace vramstow
