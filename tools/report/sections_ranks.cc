// Writes the section that compares the ranks of a job.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "tools/base/words.h"
#include "tools/report/sections.h"
#include "tools/report/text_table.h"

namespace vramstow {
namespace {

using Align = Table::Align;

constexpr size_t kShownSites = 5;
constexpr size_t kSiteWidth = 34;
constexpr size_t kOperationWidth = 20;

// Turns "peak_reserved_bytes" into "peak reserved".
std::string KeyWords(const std::string& key) {
  std::string words = key.substr(0, key.rfind("_bytes"));
  return absl::StrReplaceAll(words, {{"_", " "}});
}

std::string FigureTable(const RankComparison& comparison) {
  Table table(
      {Align::kLeft, Align::kRight, Align::kRight, Align::kLeft, Align::kRight, Align::kLeft});
  table.AddRow({"", "median", "highest", "", "lowest", ""});
  for (const RankFigure& figure : comparison.figures) {
    const bool is_bytes = figure.name.ends_with("_bytes");
    // A figure that is 0 for all ranks is left out.
    if (figure.most == 0) continue;
    const auto value = [is_bytes](uint64_t number) {
      return is_bytes ? Bytes(number) : Count(number);
    };
    table.AddRow({KeyWords(figure.name), value(figure.median), value(figure.most),
                  absl::StrCat("rank ", figure.most_rank), value(figure.least),
                  absl::StrCat("rank ", figure.least_rank)});
  }
  return table.Text(0);
}

// Returns "rank 3", or "ranks 3, 5 and 7 more".
std::string RanksInWords(const std::vector<int64_t>& ranks) {
  constexpr size_t kMax = 8;
  if (ranks.size() == 1) return absl::StrCat("rank ", ranks.front());
  const size_t shown = std::min(kMax, ranks.size());
  std::string text =
      absl::StrCat("ranks ", absl::StrJoin(ranks.begin(), ranks.begin() + shown, ", "));
  if (shown < ranks.size()) absl::StrAppend(&text, " and ", ranks.size() - shown, " more");
  return text;
}

// Says which ranks cannot be compared, because events are missing in their recordings.
std::string IncompleteInWords(const RankComparison& comparison) {
  const bool one = comparison.incomplete.size() == 1;
  const std::string why = absl::StrCat(
      "because the ", one ? "recording" : "recordings", " of ", RanksInWords(comparison.incomplete),
      one ? " lacks" : " lack", " events: ", one ? "its" : "their", " figures are \"at least\".");
  return comparison.has_straggler
             ? absl::StrCat("Only ", comparison.ranks - comparison.incomplete.size(),
                            " are compared, ", why, " ")
             : absl::StrCat("They cannot be compared, ", why);
}

}  // namespace

std::string RankSentence(const RankComparison& comparison) {
  const RankFigure& reserved = comparison.figures.front();
  std::string text = absl::StrCat(Counted(comparison.ranks, "rank"), ". ");
  if (comparison.attempts > 1) {
    absl::StrAppend(&text, "Ranks ran up to ", Counted(comparison.attempts, "time"),
                    ", one attempt after the other: of each rank, the attempt with the highest "
                    "peak is compared. ");
  }
  if (!comparison.incomplete.empty()) text += IncompleteInWords(comparison);
  if (!comparison.has_straggler) return text;
  const std::string above =
      absl::StrCat(Bytes(comparison.over_median_bytes), " (",
                   Share(comparison.over_median_bytes, reserved.median), ") above the median");
  if (comparison.balanced) {
    absl::StrAppend(&text, "The ranks are alike: the highest, rank ", comparison.straggler, ", is ",
                    above, ".");
  } else {
    absl::StrAppend(&text, "The straggler is rank ", comparison.straggler,
                    comparison.host.empty() ? "" : " on " + Printable(comparison.host),
                    ": it reserved ", Bytes(reserved.most), ", ", above, ".");
  }
  return text;
}

std::string RankSection(const RankComparison& comparison, const TextStyle& style) {
  std::string text =
      WrappedLines(RankSentence(comparison), style.width) + "\n" + FigureTable(comparison);
  if (!comparison.has_straggler || comparison.balanced || comparison.sites.empty()) return text;
  absl::StrAppend(&text, "what rank ", comparison.straggler,
                  " held at its peak above the median:\n");
  Table table({Align::kRight, Align::kLeft, Align::kLeft, Align::kRight, Align::kRight});
  size_t shown = 0;
  for (const RankSite& site : comparison.sites) {
    if (shown++ == kShownSites) break;
    table.AddRow({absl::StrCat("+", Bytes(site.bytes_at_peak - site.median_bytes_at_peak)),
                  Shortened(Printable(site.site), kSiteWidth, style.utf8),
                  Shortened(Printable(site.operation), kOperationWidth, style.utf8),
                  Bytes(site.bytes_at_peak),
                  absl::StrCat("median ", Bytes(site.median_bytes_at_peak))});
  }
  text += table.Text(2);
  if (comparison.sites.size() > kShownSites) {
    absl::StrAppend(&text, "  … and ", comparison.sites.size() - kShownSites, " more\n");
  }
  return text;
}

}  // namespace vramstow
