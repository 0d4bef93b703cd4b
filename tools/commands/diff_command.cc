// vramstow diff: shows what changed from one run to another.
#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tools/base/words.h"
#include "tools/commands/command.h"
#include "tools/commands/command_line.h"
#include "tools/commands/default_input.h"
#include "tools/compare/compare.h"
#include "tools/json/json_value.h"
#include "tools/pipeline/analyze.h"
#include "tools/report/json.h"
#include "tools/report/text_table.h"
#include "tools/terminal/output.h"

namespace vramstow {
namespace {

using Align = Table::Align;

constexpr char kDiffFooter[] =
    "Inputs are the same as for vramstow analyze.\n\nExamples:\n  vramstow diff before.stow "
    "after.stow\n  vramstow diff base/ change/ --to markdown > comment.md\n\nExit status: 0, also "
    "if something changed; 1 if the result could not be written; 2 if an input\ncannot be read.";

constexpr size_t kMaxSiteRows = 20;
constexpr char kNoSite[] = "\nNo call site holds more or less than before.\n";

std::string Signed(const std::string& path, double change) {
  return absl::StrCat(change > 0 ? "+" : "", FigureText(path, change));
}

Table FigureTable(const std::vector<FigureChange>& figures) {
  Table table({Align::kLeft, Align::kRight, Align::kRight, Align::kRight});
  table.AddRow({"", "before", "after", "change"});
  for (const FigureChange& figure : figures) {
    table.AddRow({figure.path, FigureText(figure.path, figure.before),
                  FigureText(figure.path, figure.after),
                  Signed(figure.path, figure.after - figure.before)});
  }
  return table;
}

// Returns a table of the first call sites. The caller says how many further call sites exist.
Table SiteTable(const std::vector<SiteChange>& sites) {
  Table rows({Align::kRight, Align::kRight, Align::kRight, Align::kLeft, Align::kLeft});
  const bool steady = std::ranges::any_of(
      sites, [](const SiteChange& site) { return site.steady_before != site.steady_after; });
  rows.AddRow({"at the peak", steady ? "steady" : "", "at the end", "site", "operation"});
  for (size_t i = 0; i < std::min(sites.size(), kMaxSiteRows); ++i) {
    const SiteChange& site = sites[i];
    const auto change = [](int64_t before, int64_t after) {
      return before == after ? std::string("=")
                             : Signed("_bytes", static_cast<double>(after - before));
    };
    rows.AddRow({change(site.peak_before, site.peak_after),
                 steady ? change(site.steady_before, site.steady_after) : "",
                 change(site.end_before, site.end_after), Printable(site.site),
                 Printable(site.operation)});
  }
  return rows;
}

std::string DiffText(const std::vector<FigureChange>& figures,
                     const std::vector<SiteChange>& sites) {
  std::string text = FigureTable(figures).Text(0);
  if (sites.empty()) return text + kNoSite;
  absl::StrAppend(&text, "\n", SiteTable(sites).Text(0));
  if (sites.size() > kMaxSiteRows) {
    absl::StrAppend(&text, "  … and ", sites.size() - kMaxSiteRows, " more\n");
  }
  return text;
}

// Returns the change of the first figure, the peak: "+12.5%".
std::string Share(const FigureChange& figure) {
  if (figure.before == figure.after) return "unchanged";
  if (figure.before == 0) return "new";
  return absl::StrFormat("%+.1f%%", 100 * (figure.after - figure.before) / figure.before);
}

// Returns a comment for a pull request: the peak in the first line, other figures if they changed,
// and the call sites folded.
std::string Markdown(const std::vector<FigureChange>& figures,
                     const std::vector<SiteChange>& sites) {
  std::string text = "### Device memory";
  std::vector<FigureChange> moved;
  for (const FigureChange& figure : figures) {
    if (figure.path == "peak.allocated_bytes") {
      absl::StrAppend(&text, ": peak ", FigureText(figure.path, figure.before), " → ",
                      FigureText(figure.path, figure.after), " (", Share(figure), ")");
    }
    if (figure.before != figure.after) moved.push_back(figure);
  }
  absl::StrAppend(&text, "\n\n",
                  moved.empty() ? "No figure changed.\n" : FigureTable(moved).Markdown());
  if (sites.empty()) return text + kNoSite;
  absl::StrAppend(&text, "\n<details><summary>", Counted(sites.size(), "site"),
                  " with more or less than before</summary>\n\n", SiteTable(sites).Markdown());
  if (sites.size() > kMaxSiteRows) {
    absl::StrAppend(&text, "\n… and ", sites.size() - kMaxSiteRows, " more\n");
  }
  return text + "\n</details>\n";
}

std::string DiffJson(const std::vector<FigureChange>& figures,
                     const std::vector<SiteChange>& sites) {
  JsonValue json =
      JsonValue::Object({{"schema", JsonValue::Object({{"name", "vramstow.diff"}, {"version", 1}})},
                         {"figures", JsonValue::Array()},
                         {"sites", JsonValue::Array()}});
  for (const FigureChange& figure : figures) {
    json["figures"].Append(JsonValue::Object(
        {{"path", figure.path}, {"before", figure.before}, {"after", figure.after}}));
  }
  for (const SiteChange& site : sites) {
    json["sites"].Append(JsonValue::Object({{"site", site.site},
                                            {"operation", site.operation},
                                            {"bytes_at_peak_before", site.peak_before},
                                            {"bytes_at_peak_after", site.peak_after},
                                            {"bytes_steady_before", site.steady_before},
                                            {"bytes_steady_after", site.steady_after},
                                            {"bytes_at_end_before", site.end_before},
                                            {"bytes_at_end_after", site.end_after}}));
  }
  return json.Dump() + "\n";
}

}  // namespace

int DiffCommand(const std::vector<std::string>& arguments) {
  std::string before;
  std::string after;
  std::string form = "text";
  bool json = false;
  const CommandLine line{
      .command = "diff",
      .summary =
          "Shows what changed from one run to another, and where, at the peak and at the end.",
      .footer = kDiffFooter,
      .options = {{"BEFORE", &before, "A file or folder", {.required = true}},
                  {"AFTER", &after, "A file or folder", {.required = true}},
                  {"--to",
                   &form,
                   "The format of the output: text, markdown (for a comment on a change) or json",
                   {.shows_default = true, .one_of = {"text", "markdown", "json"}}},
                  {"--json", &json, "Means --to json", {.excludes = {"--to"}}}}};
  if (const auto status = ReadArguments(line, arguments)) return *status;
  std::vector<JsonValue> facts;
  for (const std::string& path : {before, after}) {
    auto inputs = AnalyzePaths({path});
    if (!inputs.ok()) {
      Complain("diff", std::string(inputs.status().message()));
      return kExitUsage;
    }
    PrintLeftOut("diff", *inputs);
    std::vector<Detail> details;
    for (Analysis& analysis : inputs->analyses) details.push_back(std::move(analysis.detail));
    std::vector<const Detail*> pointers;
    for (const Detail& detail : details) pointers.push_back(&detail);
    facts.push_back(*JsonValue::Parse(JsonReport(Together(*std::move(inputs)))));
    AddSteadyState(pointers, &facts.back());
  }
  const auto figures = CompareFigures(facts[0], facts[1]);
  const auto sites = CompareSites(facts[0], facts[1]);
  return PrintResult("diff", json || form == "json" ? DiffJson(figures, sites)
                             : form == "markdown"   ? Markdown(figures, sites)
                                                    : DiffText(figures, sites));
}

}  // namespace vramstow
