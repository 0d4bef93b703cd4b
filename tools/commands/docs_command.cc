// vramstow docs: prints docs/configuration.md, generated from the table of options, and the lists
// of docs/metrics.md and docs/analyze.md and a schema of docs/schemas, generated from the tables of
// facts and of advice.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/options.h"
#include "tools/base/words.h"
#include "tools/commands/advice_page.h"
#include "tools/commands/command.h"
#include "tools/commands/flags.h"
#include "tools/report/analysis_schema.h"
#include "tools/report/metrics_page.h"
#include "tools/terminal/output.h"

namespace vramstow {
namespace {

// No line of a page is wider than this.
constexpr size_t kPageColumns = 140;

std::string DefaultOf(const OptionRow& row) {
  if (row.type == OptionType::kBool) return row.default_bool ? "1" : "0";
  return *row.default_text == '\0' ? "" : absl::StrCat("`", row.default_text, "`");
}

std::string ValuesOf(const OptionRow& row) {
  switch (row.type) {
    case OptionType::kBool:
      return "1 or 0; also on, off, true, false, yes, no";
    case OptionType::kText:
      return "a text";
    case OptionType::kPath:
      return "an existing directory";
    case OptionType::kChoice:
      return absl::StrReplaceAll(row.metavar, {{"|", ", "}});
    case OptionType::kBytes:
      return "a number of bytes, for example 512MiB";
    case OptionType::kTraceSize:
      return "auto, unlimited, or a number of bytes, for example 512MiB";
    case OptionType::kDuration:
      return "a time, for example 30s or 500ms; or 0";
    case OptionType::kLimit:
      return "a number of bytes, or a part of the device: 20GiB or 50%";
    case OptionType::kOffload:
      return "off, auto or explicit, optionally with ,host=BYTES";
    case OptionType::kShare:
      return "off or on, optionally with ,weight=N";
    case OptionType::kLaunches:
      return "off, count, or sample=N with N from 1 to 1000000";
    case OptionType::kMetrics:
      return "a port, unix:PATH, or a file that ends with .prom";
  }
  return "";
}

// Returns one row of the table; text that would make it too wide continues in a row below.
std::string TableRow(const OptionRow& row) {
  const std::string cells =
      absl::StrCat("| `", absl::StrReplaceAll(FlagWithValue(row), {{"|", "\\|"}}), "` | `",
                   row.environment, "` | ", DefaultOf(row), " | ");
  const std::string values = ValuesOf(row);
  const size_t room = kPageColumns - cells.size() - 2;
  size_t cut = values.size();
  if (cut > room) cut = values.rfind(' ', room);
  std::string text = absl::StrCat(cells, values.substr(0, cut), " |\n");
  if (cut < values.size()) absl::StrAppend(&text, "| | | | ", values.substr(cut + 1), " |\n");
  return text;
}

std::string ConfigurationPage() {
  std::string page =
      "# Configuration\n\n<!-- Made by `vramstow docs configuration` from base/options.def; do not "
      "edit. -->\n\nEvery setting is an environment variable and a flag of `vramstow run`, which "
      "sets that variable for the command.\nIf both are given, the flag is used. An empty variable "
      "counts as not set. If a value is wrong, `vramstow run` says\nwhat is wrong and starts "
      "nothing; a library that was preloaded by hand says so once on stderr and stays "
      "inactive.\n\n| flag of `vramstow run` | variable | default | values |\n|---|---|---|---|\n";
  const OptionTable table = AllOptions();
  for (size_t i = 0; i < table.count; ++i) {
    page += TableRow(table.rows[i]);
  }
  for (size_t i = 0; i < table.count; ++i) {
    const OptionRow& row = table.rows[i];
    absl::StrAppend(&page, "\n## `", FlagWithValue(row), "`\n\n",
                    WrappedLines(row.help, kPageColumns), "\n");
  }
  absl::StrAppend(
      &page,
      "\n## Set by `vramstow run`\n\n"
      "`",
      kRunIdVariable,
      "` is the id of the run to which a process belongs. It is stored in the traces as `run.id`, "
      "so that the run finds its files\nagain. [The page about run](run.md) lists the other "
      "variables.\n");
  return page;
}

}  // namespace

int DocsCommand(const std::vector<std::string>& arguments) {
  const std::string page = arguments.size() == 1 ? arguments.front() : "";
  if (page == "configuration") return PrintResult("docs", ConfigurationPage());
  if (page == "metrics") return PrintResult("docs", MetricsTables());
  if (page == "analysis-schema") return PrintResult("docs", AnalysisSchema());
  if (page == "causes") return PrintResult("docs", CausesList());
  if (page == "advice") return PrintResult("docs", AdviceList());
  Complain("docs", "choose one of: configuration, metrics, analysis-schema, causes and advice.");
  return kExitUsage;
}

}  // namespace vramstow
