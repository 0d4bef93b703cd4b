#include "tools/report/text_report.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "tools/base/words.h"
#include "tools/report/chart.h"
#include "tools/report/identity.h"
#include "tools/report/sections.h"
#include "tools/terminal/layout.h"

namespace vramstow {
namespace {

// If there are more traces than this, only those with the highest peaks are shown.
constexpr size_t kMaxTraces = 16;
constexpr size_t kHighestTraces = 8;

// Explains the first few processes that ran out of memory.
std::string WhyOfEach(const FactSet& set, const TextStyle& style) {
  constexpr size_t kMaxStories = 3;
  std::string text;
  size_t stories = 0;
  for (const Facts& trace : set.traces) {
    const std::string story = WhySection(trace, style);
    if (story.empty() || ++stories > kMaxStories) continue;
    absl::StrAppend(&text, text.empty() ? "" : "\n", NameOfTrace(trace), "\n", story);
  }
  return text + AndMore(stories - std::min(stories, kMaxStories));
}

// True if the file is larger than the limit that is proposed to users whose disk was full. A
// smaller trace would not have ended later because of such a limit.
bool IsAboveLowerLimit(const std::string& file) {
  constexpr uintmax_t kLowerLimit = uintmax_t{64} << 20;
  std::error_code error;
  const uintmax_t bytes = std::filesystem::file_size(file, error);
  return !error && bytes > kLowerLimit;
}

}  // namespace

std::string MissingText(const Facts& facts) {
  const ReadReport& report = facts.report;
  const Counts& counts = facts.counts;
  std::string text;
  for (const std::string& sentence : facts.missing) text += Printable(sentence) + "\n";
  if (!report.closed && facts.kind == "stow") {
    text +=
        "The trace was not closed: the process was killed, or it is still running. The trace "
        "contains everything that was committed.\n";
  }
  if (const auto python = facts.trace_metadata.find("python.no_lines");
      python != facts.trace_metadata.end()) {
    text +=
        absl::StrCat("No source lines of the program: those of Python ", Printable(python->second),
                     " cannot be read (vramstow supports CPython 3.10 to 3.14).\n");
  }
  if (facts.trace_metadata.contains("annotations.full")) {
    text +=
        "The program set marks with more texts than a trace keeps: later texts appear without the "
        "number at their end, or as (further texts).\n";
  }
  if (facts.trace_metadata.contains("stacks.full")) {
    text +=
        "The program made more different calls than a trace keeps: memory of later ones appears "
        "under (further functions), or without a call stack.\n";
  }
  if (report.damaged_chunks > 0 || report.damaged_bytes > 0) {
    text += absl::StrCat("Damaged: ", Counted(report.damaged_chunks, "chunk"), " and ",
                         Bytes(report.damaged_bytes), " of the file could not be read.\n");
  }
  if (report.write_error != 0) {
    text += absl::StrCat(
        "Recording ended before the program did, because ", WriteErrorInWords(report.write_error),
        ": use another folder for the trace (--trace-dir)",
        IsAboveLowerLimit(facts.file) ? ", or a lower limit (--trace-size=64MiB).\n" : ".\n");
  }
  if (report.dropped_events > 0) {
    text += absl::StrCat("Not recorded: ", Counted(report.dropped_events, "event"),
                         " (buffers or disk were full).\n");
  }
  if (report.overwritten_events > 0) {
    text += absl::StrCat(
        "Overwritten: ", Counted(report.overwritten_events, "event"),
        " before the first one here: the trace contains only the newest ones (--trace-size).\n");
  }
  if (report.missing_events > 0) {
    text += absl::StrCat("Missing: ", Counted(report.missing_events, "event"),
                         " of the sequence. Blocks that they may have freed do not count after "
                         "them.\n");
  }
  if (counts.frees_of_unseen > 0) {
    text += absl::StrCat(Counted(counts.frees_of_unseen, "free"),
                         " of blocks whose allocation is not in the trace",
                         facts.kind == "stow" ? "; they count in no level.\n"
                                              : ": they count as live from the beginning.\n");
  }
  if (counts.frees_missed > 0) {
    text += absl::StrCat(Counted(counts.frees_missed, "block"),
                         " whose address was returned again without a free in the trace.\n");
  }
  if (counts.unmatched_refusals > 0) {
    text += absl::StrCat(Counted(counts.unmatched_refusals, "refusal"),
                         " of calls that are not in the trace.\n");
  }
  return text;
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

std::string TextReport(const FactSet& set, const TextStyle& style) {
  const Facts& total = set.total;
  const bool one = set.traces.size() == 1;
  std::string text = one ? Identity(total, style) : IdentityOfAll(set, style);
  const auto section = [&](const char* title, const std::string& body) {
    if (!body.empty()) text += Title(title, style) + body;
  };
  if (!one) {
    section("Processes", ProcessTable(set, kMaxTraces, kHighestTraces, style));
    if (set.comparison.has_value()) section("Ranks compared", RankSection(*set.comparison, style));
  }
  section("Why memory ran out", one ? WhySection(total, style) : WhyOfEach(set, style));
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
    section("Phases", PhaseSection(total));
    section("Lifetimes", LifetimeSection(total, style));
    section("Growth by the hour", HourSection(total, style));
  }
  section("Live at the end", LiveSection(total, style));
  section("What is missing", WrappedLines(MissingOfAll(set), style.width));
  return style.utf8 ? text : Ascii(text);
}

}  // namespace vramstow
