// vramstow diff: what changed from one run to another.
#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tools/commands/command.h"
#include "tools/commands/command_line.h"
#include "tools/commands/compare.h"
#include "tools/inputs/analyze_input.h"
#include "tools/json/json_value.h"
#include "tools/report/json.h"
#include "tools/report/table.h"
#include "tools/report/words.h"
#include "tools/terminal/output.h"

namespace vramstow {
namespace {

using Align = Table::Align;

constexpr char kFooter[] =
    "Inputs are those of vramstow analyze.\n"
    "\n"
    "Example:\n"
    "  vramstow diff before.stow after.stow\n"
    "\n"
    "Exit status: 0, whatever changed; 1 if the result could not be written; 2 if an input cannot "
    "be\n"
    "read.";

constexpr size_t kMostSiteRows = 20;

std::string Signed(const std::string& path, double change) {
  return absl::StrCat(change > 0 ? "+" : "", FigureText(path, change));
}

std::string Text(const std::vector<FigureChange>& figures, const std::vector<SiteChange>& sites) {
  Table table({Align::kLeft, Align::kRight, Align::kRight, Align::kRight});
  table.AddRow({"", "before", "after", "change"});
  for (const FigureChange& figure : figures) {
    table.AddRow({figure.path, FigureText(figure.path, figure.before),
                  FigureText(figure.path, figure.after),
                  Signed(figure.path, figure.after - figure.before)});
  }
  std::string text = table.Text(0);
  if (sites.empty()) return text + "\nNo site holds more or less than before.\n";
  Table rows({Align::kRight, Align::kRight, Align::kRight, Align::kLeft, Align::kLeft});
  const bool steady = std::ranges::any_of(
      sites, [](const SiteChange& site) { return site.steady_before != site.steady_after; });
  rows.AddRow({"at the peak", steady ? "steady" : "", "at the end", "site", "operation"});
  for (size_t i = 0; i < std::min(sites.size(), kMostSiteRows); ++i) {
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
  absl::StrAppend(&text, "\n", rows.Text(0));
  if (sites.size() > kMostSiteRows) {
    absl::StrAppend(&text, "  … and ", sites.size() - kMostSiteRows, " more\n");
  }
  return text;
}

std::string AsJson(const std::vector<FigureChange>& figures, const std::vector<SiteChange>& sites) {
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
  bool json = false;
  const CommandLine line{
      .command = "diff",
      .summary =
          "Shows what changed from one run to another, and where, at the peak and at the end.",
      .footer = kFooter,
      .options = {{"BEFORE", &before, "A file or folder", {.required = true}},
                  {"AFTER", &after, "A file or folder", {.required = true}},
                  {"--json", &json, "Print JSON on one line"}}};
  if (const auto status = ReadArguments(line, arguments)) return *status;
  std::vector<JsonValue> facts;
  for (const std::string& path : {before, after}) {
    auto inputs = AnalyzePaths({path});
    if (!inputs.ok()) {
      Complain("diff", std::string(inputs.status().message()));
      return kExitUsage;
    }
    std::vector<Detail> details;
    for (Analysis& analysis : inputs->analyses) details.push_back(std::move(analysis.detail));
    std::vector<const Detail*> pointers;
    for (const Detail& detail : details) pointers.push_back(&detail);
    facts.push_back(*JsonValue::Parse(JsonReport(Together(*std::move(inputs)))));
    AddSteadyState(pointers, &facts.back());
  }
  const auto figures = CompareFigures(facts[0], facts[1]);
  const auto sites = CompareSites(facts[0], facts[1]);
  return PrintResult("diff", json ? AsJson(figures, sites) : Text(figures, sites));
}

}  // namespace vramstow
