#include "tools/compare/verdict.h"

#include <cstdint>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/units.h"
#include "tools/analysis/facts/known_part.h"
#include "tools/analysis/facts/program_end.h"
#include "tools/base/words.h"
#include "tools/compare/compare.h"

namespace vramstow {
namespace {

constexpr size_t kMaxSitesListed = 5;

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
