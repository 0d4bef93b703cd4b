#include "tools/compare/verdict.h"

#include <cstdint>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/units.h"
#include "tools/analysis/facts/known_part.h"
#include "tools/analysis/facts/program_end.h"
#include "tools/base/words.h"
#include "tools/compare/compare.h"

namespace vramstow {
namespace {

constexpr size_t kMaxSitesListed = 5;
constexpr size_t kMaxRanksListed = 8;

// The processes of a run that used memory.
struct Processes {
  size_t count = 0;
  std::set<int64_t> ranks;
};

Processes ProcessesOf(const JsonValue& facts) {
  Processes processes;
  for (const JsonValue& process : facts.Items("ranks")) {
    // Helpers, such as launchers and compilers, use no memory. Their number varies.
    if (FigureOf(process, "counts.allocations").value_or(0) == 0 &&
        FigureOf(process, "counts.out_of_memory").value_or(0) == 0) {
      continue;
    }
    ++processes.count;
    if (const auto rank = FigureOf(process, "process.rank")) {
      processes.ranks.insert(static_cast<int64_t>(*rank));
    }
  }
  return processes;
}

// Returns a text like "rank 1, rank 2" with the ranks that only `some` contains.
std::string RanksOnlyIn(const std::set<int64_t>& some, const std::set<int64_t>& others) {
  std::string text;
  size_t count = 0;
  for (const int64_t rank : some) {
    if (others.contains(rank)) continue;
    if (++count > kMaxRanksListed) continue;
    absl::StrAppend(&text, text.empty() ? "" : ", ", "rank ", rank);
  }
  return count <= kMaxRanksListed
             ? text
             : absl::StrCat(text, " and ", count - kMaxRanksListed, " more ranks");
}

// Returns one sentence if other processes used memory than in the baseline. Otherwise returns an
// empty text. Facts that do not list their processes are not compared.
std::string OtherProcesses(const JsonValue& baseline, const JsonValue& facts) {
  if (baseline.Items("ranks").empty() || facts.Items("ranks").empty()) return "";
  const Processes before = ProcessesOf(baseline);
  const Processes after = ProcessesOf(facts);
  // A run may have been started without a launcher, and so without ranks.
  const bool have_ranks = !before.ranks.empty() && !after.ranks.empty();
  const std::string missing = have_ranks ? RanksOnlyIn(before.ranks, after.ranks) : "";
  const std::string added = have_ranks ? RanksOnlyIn(after.ranks, before.ranks) : "";
  if (before.count == after.count && missing.empty() && added.empty()) return "";
  std::string text = absl::StrCat(after.count, after.count == 1 ? " process" : " processes",
                                  " used memory, and ", before.count, " in the baseline");
  if (!missing.empty()) absl::StrAppend(&text, "; only the baseline has ", missing);
  if (!added.empty()) absl::StrAppend(&text, "; only this run has ", added);
  return text + ", so their figures cannot be compared.";
}

// True for figures that only some runs have: those of iterations, and those of a simulated clock.
bool IsOfSomeRuns(const std::string& path) {
  return path.starts_with("steady.") || path.starts_with("model_clock.");
}

// Adds failures and warnings for figures that are not compared, because one side lacks them.
void NoteNotCompared(const JsonValue& baseline, const JsonValue& facts, Verdict* verdict) {
  std::vector<std::string> lost;
  std::vector<std::string> added;
  for (std::string& path : FiguresOnlyIn(facts, baseline)) {
    (IsOfSomeRuns(path) ? added : lost).push_back(std::move(path));
  }
  const std::vector<std::string> gone = FiguresOnlyIn(baseline, facts);
  const auto not_compared = [](const std::vector<std::string>& paths, const char* where) {
    return absl::StrCat(absl::StrJoin(paths, ", "), paths.size() == 1 ? " is" : " are",
                        " not compared, because only ", where, " has ",
                        paths.size() == 1 ? "it." : "them.");
  };
  if (!lost.empty()) {
    verdict->failures.push_back(absl::StrCat(not_compared(lost, "this run"),
                                             " Write the baseline again with --update, or with the "
                                             "whole output of vramstow analyze --json."));
  }
  if (!added.empty()) verdict->warnings.push_back(not_compared(added, "this run"));
  if (!gone.empty()) verdict->warnings.push_back(not_compared(gone, "the baseline"));
}

}  // namespace

bool ParseTolerance(std::string text, Tolerance* tolerance) {
  if (text.ends_with('%')) {
    text.pop_back();
    if (!absl::SimpleAtod(text, &tolerance->share)) return false;
    tolerance->share /= 100;
    return tolerance->share >= 0 && std::isfinite(tolerance->share);
  }
  double number = 0;
  if (absl::SimpleAtod(text, &number)) return number == 0;
  uint64_t bytes = 0;
  if (!ParseBytes(text, &bytes)) return false;
  tolerance->bytes = static_cast<double>(bytes);
  return true;
}

namespace {

// Warns of what a snapshot does not show, which vramstow did not record itself: usually what came
// before its first event, perhaps the job's peak.
void WarnOfUnseen(const Facts& trace, Verdict* verdict) {
  if (trace.kind == "stow" && !trace.trace_metadata.contains("source.missing")) return;
  for (const std::string& sentence : trace.missing) {
    verdict->warnings.push_back(
        absl::StrCat(Printable(trace.file), " does not show the whole run: ", Printable(sentence)));
  }
}

}  // namespace

Verdict VerdictOnMissing(const FactSet& set, const std::vector<std::string>& not_read) {
  Verdict verdict;
  for (const std::string& sentence : not_read) verdict.failures.push_back(Printable(sentence));
  for (const Facts& trace : set.traces) {
    const std::string file = Printable(trace.file);
    const KnownPart known = KnownPartOf(trace);
    if (EndedUnseen(trace)) {
      verdict.failures.push_back(absl::StrCat(
          file, ": OutOfMemoryError ended the program, and no failed request was recorded."));
    } else if (known == KnownPart::kUntilOpen || known == KnownPart::kNewest) {
      verdict.warnings.push_back(
          absl::StrCat(file, " is not complete: the check covers only what happened ",
                       KnownPartInWords(trace), "."));
    } else if (known != KnownPart::kWhole) {
      verdict.failures.push_back(absl::StrCat(
          file, " is not complete: it shows only what happened ", KnownPartInWords(trace), "."));
    }
    WarnOfUnseen(trace, &verdict);
  }
  return verdict;
}

bool WarnOfFailedPrograms(const FactSet& set, Verdict* verdict) {
  bool has_failed = false;
  for (const Facts& trace : set.traces) {
    const std::string failure = FailureInWords(trace);
    if (!failure.empty()) {
      has_failed = true;
      verdict->warnings.push_back(absl::StrCat(Printable(trace.file), ": ", failure,
                                               "; the run may have done only a part of its work."));
    } else if (WentOnAfterOutOfMemory(trace)) {
      verdict->warnings.push_back(absl::StrCat(Printable(trace.file), ": memory ran out ",
                                               Counted(trace.counts.out_of_memory, "time"),
                                               ", and the program continued."));
    }
  }
  return has_failed;
}

void CheckBaseline(const JsonValue& baseline, const JsonValue& facts, const Tolerance& tolerance,
                   Verdict* verdict) {
  std::string others = OtherProcesses(baseline, facts);
  if (!others.empty()) verdict->failures.push_back(std::move(others));
  NoteNotCompared(baseline, facts, verdict);
  for (const FigureChange& figure : CompareFigures(baseline, facts)) {
    if (figure.after <= figure.before + tolerance.Of(figure.before)) continue;
    verdict->failures.push_back(
        absl::StrFormat("%s rose from %s to %s.", figure.path,
                        UnequalText(figure.path, figure.before, figure.after),
                        UnequalText(figure.path, figure.after, figure.before)));
  }
  if (verdict->failures.empty()) return;
  for (const SiteChange& site : CompareSites(baseline, facts)) {
    if (verdict->sites.size() == kMaxSitesListed) break;
    const int64_t change = site.peak_after - site.peak_before;
    if (change <= 0) continue;
    verdict->sites.push_back(absl::StrFormat(
        "+%s at the peak: %s%s", Bytes(static_cast<uint64_t>(change)), Printable(site.site),
        site.operation.empty() ? "" : ", " + Printable(site.operation)));
  }
}

std::string TextOf(const Verdict& verdict) {
  std::string text;
  for (const std::string& warning : verdict.warnings) {
    absl::StrAppend(&text, "WARNING: ", warning, "\n");
  }
  for (const std::string& note : verdict.notes) absl::StrAppend(&text, "Note: ", note, "\n");
  if (verdict.failures.empty()) return text + "passed\n";
  for (const std::string& failure : verdict.failures)
    absl::StrAppend(&text, "FAILED: ", failure, "\n");
  for (const std::string& site : verdict.sites) absl::StrAppend(&text, "  ", site, "\n");
  return text;
}

JsonValue JsonOf(const Verdict& verdict) {
  return JsonValue::Object(
      {{"schema", JsonValue::Object({{"name", "vramstow.check"}, {"version", 1}})},
       {"passed", verdict.failures.empty()},
       {"failures", verdict.failures},
       {"warnings", verdict.warnings},
       {"notes", verdict.notes},
       {"sites", verdict.sites}});
}

}  // namespace vramstow
