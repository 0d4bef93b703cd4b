// vramstow report: writes a page that shows where the memory went.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tools/base/child_ends.h"
#include "tools/base/progress.h"
#include "tools/base/words.h"
#include "tools/commands/command.h"
#include "tools/commands/command_line.h"
#include "tools/commands/default_input.h"
#include "tools/commands/output_check.h"
#include "tools/inputs/redacted_source.h"
#include "tools/inputs/stacked_source.h"
#include "tools/pipeline/analyze.h"
#include "tools/report/html.h"
#include "tools/report/json.h"
#include "tools/report/source_lines.h"
#include "tools/terminal/output.h"
#include "tools/terminal/output_file.h"

namespace vramstow {
namespace {

constexpr char kReportFooter[] =
    "Inputs are the same as for vramstow analyze. The page needs no network and no other file. It "
    "shows\nthe same numbers as vramstow analyze.\n\nExamples:\n  vramstow report --open\n  "
    "vramstow report train-1125-2303-4711.stow -o report.html\n  vramstow report "
    "train-1125-2303-4711.stow --redact -o for-the-forum.html\n  vramstow report before.pickle "
    "after.pickle -o both.html\n\nExit status: 0; 1 if the page could not be written or opened; 2 "
    "if an input cannot be read.";

// Opens the page with the desktop's opener, or the program that BROWSER names, and waits for its
// end.
bool OpenInBrowser(const std::string& page) {
  const char* browser = std::getenv("BROWSER");
  const std::string program = browser == nullptr || *browser == '\0' ? "xdg-open" : browser;
  std::string path = std::filesystem::absolute(page);
  std::string name = program;
  char* const arguments[] = {name.data(), path.data(), nullptr};
  const ChildEnds child_ends;
  pid_t child = 0;
  const int error = posix_spawnp(&child, program.c_str(), nullptr, nullptr, arguments, environ);
  int status = 0;
  if (error == 0) waitpid(child, &status, 0);
  if (error == 0 && status == 0) return true;
  const std::string why = error == 0 ? "failed" : strerror(error);
  Complain("report", absl::StrCat(page, " is written, but ", Printable(program),
                                  " cannot open it (", why, "): open it yourself."));
  return false;
}

}  // namespace

int ReportCommand(const std::vector<std::string>& arguments) {
  std::vector<std::string> files;
  std::string output = "report.html";
  bool json = false;
  bool open = false;
  bool redact = false;
  const CommandLine line{
      .command = "report",
      .summary = "Writes an HTML page that shows where the memory went, in one file.",
      .footer = kReportFooter,
      .options = {
          {"INPUT", &files, "Files and folders; without one, the newest trace in this folder"},
          {"-o,--output",
           &output,
           "The page to write, - for standard output",
           {.shows_default = true}},
          {"--open", &open, "Open the page in the browser"},
          {"--redact", &redact,
           "Remove hosts, users, folders and arguments, so that the page can be shared"},
          {"--json", &json, "Print what was written, as JSON"}}};
  if (const auto status = ReadArguments(line, arguments)) return *status;
  if (!FindDefaultInput("report", &files)) return kExitUsage;
  if (const std::string wrong = WhyNotWrite(output, files, "-o"); !wrong.empty()) {
    Complain("report", wrong);
    return kExitUsage;
  }
  auto inputs = AnalyzePaths(files, "", LookupFor(redact));
  if (!inputs.ok()) {
    Complain("report", std::string(inputs.status().message()));
    return kExitUsage;
  }
  PrintLeftOut("report", *inputs);
  std::vector<Detail> details;
  std::vector<PageSource> sources;
  for (Analysis& analysis : inputs->analyses) {
    details.push_back(std::move(analysis.detail));
    // A redacted page does not show the program's source.
    sources.emplace_back();
    if (!redact) sources.back().lines = ReadSourceLines(details.back(), analysis.facts.file);
  }
  FactSet set = Together(*std::move(inputs));
  if (redact) {
    Redactor redactor = RedactorFor(files);
    redactor.Learn(set);
    redactor.Redact(&set);
    for (Detail& detail : details) redactor.Redact(&detail);
  }
  for (size_t i = 0; i < details.size(); ++i) sources[i].detail = &details[i];
  Progress::OfProcess().Begin("making the page");
  const std::string page = HtmlReport(set, sources);
  if (output == "-") return PrintResult("report", page);
  if (!WriteOutputFile(output, page)) {
    Complain("report", absl::StrCat("cannot write ", output, ": ", strerror(errno), "."));
    return kExitCannotWrite;
  }
  const std::string message =
      json ? absl::StrCat("{\"output\":", JsonText(output), ",\"bytes\":", page.size(), "}\n")
           : absl::StrCat(Printable(output), ": ", Bytes(page.size()),
                          open ? ".\n" : "; open it in a browser.\n");
  if (open && !OpenInBrowser(output)) return kExitCannotWrite;
  return PrintResult("report", message);
}

}  // namespace vramstow
