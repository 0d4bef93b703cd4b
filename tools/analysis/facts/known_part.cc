#include "tools/analysis/facts/known_part.h"

#include "absl/strings/str_cat.h"
#include "tools/base/words.h"

namespace vramstow {

KnownPart KnownPartOf(const Facts& facts) {
  const ReadReport& report = facts.report;
  if (report.write_error != 0) return KnownPart::kBeginning;
  const bool has_gaps = report.missing_events > 0 || report.dropped_events > 0 ||
                        report.left_out_events > 0 || report.damaged_chunks > 0 ||
                        report.damaged_bytes > 0;
  if (has_gaps || (facts.kind != "stow" && !report.closed)) return KnownPart::kWithGaps;
  if (report.overwritten_events > 0) return KnownPart::kNewest;
  return report.closed ? KnownPart::kWhole : KnownPart::kUntilOpen;
}

bool MayHidePeak(const Facts& facts) {
  const ReadReport& report = facts.report;
  return report.write_error != 0 || report.missing_events > 0 || report.dropped_events > 0 ||
         report.damaged_chunks > 0 || report.damaged_bytes > 0;
}

bool SeesOnlyFramework(const Facts& facts) {
  return facts.trace_metadata.contains("process.attached");
}

std::string KnownPartInWords(const Facts& facts) {
  switch (KnownPartOf(facts)) {
    case KnownPart::kWhole:
      return "";
    case KnownPart::kUntilOpen:
      return absl::StrCat("up to ", Time(facts.end_ns), ", where the recording ends");
    case KnownPart::kBeginning:
      return absl::StrCat("up to ", Time(facts.end_ns), "; later events are not known");
    case KnownPart::kNewest:
      return "in its newest part; earlier events are not known";
    case KnownPart::kWithGaps:
      return "in the recorded part; the rest is not known";
  }
  return "";
}

}  // namespace vramstow
