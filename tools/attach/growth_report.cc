#include "tools/attach/growth_report.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tools/base/words.h"
#include "tools/pipeline/analyze.h"

namespace vramstow {

std::vector<GrownLine> GrownLinesOf(const std::string& trace) {
  std::vector<GrownLine> lines;
  const auto analysis = AnalyzeFile(trace);
  if (!analysis.ok()) return lines;
  for (const auto& group : analysis->facts.live.groups) {
    if (group.site.empty()) continue;
    const auto known = std::find_if(lines.begin(), lines.end(), [&group](const GrownLine& line) {
      return line.site == group.site;
    });
    GrownLine& line = known == lines.end() ? lines.emplace_back() : *known;
    line.site = group.site;
    line.bytes += group.size * group.count;
    line.blocks += group.count;
  }
  std::stable_sort(lines.begin(), lines.end(),
                   [](const GrownLine& a, const GrownLine& b) { return a.bytes > b.bytes; });
  return lines;
}

GrowthReport MakeGrowthReport(const JsonValue& before, const JsonValue& after,
                              std::vector<GrownLine> lines) {
  GrowthReport report{.holders = CompareCensuses(before, after), .lines = std::move(lines)};
  report.live_bytes = after.Unsigned("live_bytes");
  report.grown_bytes =
      static_cast<int64_t>(report.live_bytes) - static_cast<int64_t>(before.Unsigned("live_bytes"));
  return report;
}

std::string SignedBytes(int64_t bytes) {
  return absl::StrCat(bytes < 0 ? "-" : "+", Bytes(static_cast<uint64_t>(std::abs(bytes))));
}

std::string TextOf(const GrowthReport& report) {
  const std::vector<GrownHolder>& holders = report.holders;
  const std::vector<GrownLine>& lines = report.lines;
  constexpr size_t kMax = 10;
  std::string text =
      holders.empty() ? "No object references more memory than before.\n" : "By holder:\n";
  for (size_t i = 0; i < std::min(kMax, holders.size()); ++i) {
    const GrownHolder& holder = holders[i];
    absl::StrAppend(&text, "  ", SignedBytes(holder.bytes), ", now ", Bytes(holder.bytes_now),
                    " in ", Count(holder.blocks_now),
                    holder.blocks_now == 1 ? " block: " : " blocks: ", Printable(holder.holder),
                    " (", Printable(holder.about), ")\n");
  }
  if (lines.empty()) return text;
  absl::StrAppend(&text, "Allocated meanwhile and still live, by source line:\n");
  for (size_t i = 0; i < std::min(kMax, lines.size()); ++i) {
    absl::StrAppend(&text, "  ", Bytes(lines[i].bytes), " in ", Count(lines[i].blocks),
                    lines[i].blocks == 1 ? " block: " : " blocks: ", Printable(lines[i].site),
                    "\n");
  }
  return text;
}

JsonValue JsonOf(const GrowthReport& report) {
  JsonValue json =
      JsonValue::Object({{"holders", JsonValue::Array()}, {"lines", JsonValue::Array()}});
  for (const GrownHolder& holder : report.holders) {
    json["holders"].Append(JsonValue::Object({{"holder", holder.holder},
                                              {"about", holder.about},
                                              {"grown_bytes", holder.bytes},
                                              {"grown_blocks", holder.blocks},
                                              {"bytes", holder.bytes_now},
                                              {"blocks", holder.blocks_now}}));
  }
  for (const GrownLine& line : report.lines) {
    json["lines"].Append(
        JsonValue::Object({{"site", line.site}, {"bytes", line.bytes}, {"blocks", line.blocks}}));
  }
  json["live_bytes"] = static_cast<int64_t>(report.live_bytes);
  json["grown_bytes"] = report.grown_bytes;
  return json;
}

}  // namespace vramstow
