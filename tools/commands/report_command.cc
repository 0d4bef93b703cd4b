// vramstow report: a page that shows where the memory went.
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tools/analysis/progress.h"
#include "tools/commands/command.h"
#include "tools/commands/command_line.h"
#include "tools/inputs/analyze_input.h"
#include "tools/report/html.h"
#include "tools/report/json.h"
#include "tools/report/words.h"
#include "tools/terminal/output.h"
#include "tools/terminal/output_file.h"

namespace vramstow {
namespace {

constexpr char kFooter[] =
    "Inputs are those of vramstow analyze. The page needs no network and no other file. It shows "
    "the\n"
    "same numbers as vramstow analyze.\n"
    "\n"
    "Examples:\n"
    "  vramstow report python-4711.stow -o report.html\n"
    "  vramstow report before.pickle after.pickle -o both.html\n"
    "\n"
    "Exit status: 0; 1 if the page could not be written; 2 if an input cannot be read.";

bool IsOneOf(const std::string& output, const std::vector<std::string>& inputs) {
  std::error_code error;
  for (const std::string& input : inputs) {
    if (std::filesystem::equivalent(output, input, error)) return true;
  }
  return false;
}

}  // namespace

int ReportCommand(const std::vector<std::string>& arguments) {
  std::vector<std::string> files;
  std::string output = "report.html";
  bool json = false;
  const CommandLine line{
      .command = "report",
      .summary = "Makes a page for a browser that shows where the memory went, in one file.",
      .footer = kFooter,
      .options = {{"INPUT", &files, "Files and folders", {.required = true}},
                  {"-o,--output", &output, "The page to write", {.shows_default = true}},
                  {"--json", &json, "Print what was written, as JSON"}}};
  if (const auto status = ReadArguments(line, arguments)) return *status;
  if (IsOneOf(output, files)) {
    Complain("report", absl::StrCat(output, " is the input itself: name another file with -o."));
    return kExitUsage;
  }
  auto inputs = AnalyzePaths(files);
  if (!inputs.ok()) {
    Complain("report", std::string(inputs.status().message()));
    return kExitUsage;
  }
  std::vector<Detail> details;
  for (Analysis& analysis : inputs->analyses) details.push_back(std::move(analysis.detail));
  const FactSet set = Together(*std::move(inputs));
  std::vector<const Detail*> pointers;
  pointers.reserve(details.size());
  for (const Detail& detail : details) pointers.push_back(&detail);
  Progress::OfProcess().Begin("making the page");
  const std::string page = HtmlReport(set, pointers);
  if (!WriteOutputFile(output, page)) {
    Complain("report", absl::StrCat("cannot write ", output, ": ", strerror(errno), "."));
    return kExitCannotWrite;
  }
  const std::string told =
      json ? absl::StrCat("{\"output\":", JsonText(output), ",\"bytes\":", page.size(), "}\n")
           : absl::StrCat(output, ": ", Bytes(page.size()), "; open it in a browser.\n");
  return PrintResult("report", told);
}

}  // namespace vramstow
