// The program `vramstow`: hands its arguments to the command that they name.
#include <unistd.h>

#include <cstring>
#include <exception>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tools/commands/command.h"
#include "tools/commands/likely_name.h"
#include "tools/report/words.h"
#include "tools/terminal/output.h"
#include "tools/terminal/progress_bar.h"

namespace vramstow {
namespace {

constexpr char kHelp[] =
    "Usage: vramstow COMMAND …\n"
    "\n"
    "Shows, pools and moves the GPU memory of programs that were not changed for it.\n"
    "\n"
    "Commands:\n"
    "  run      runs a command under vramstow and prints a summary of its device memory\n"
    "  analyze  tells where the memory of a recorded run went\n"
    "  report   makes a page for a browser that shows it\n"
    "  diff     shows what changed from one run to another\n"
    "  check    tests a run against an earlier one, or against assertions\n"
    "  replay   plays the requests of a recorded run to models of other allocators\n"
    "  export   writes the events of a trace in another format\n"
    "  convert  makes a trace of what another program recorded\n"
    "  fit      finds the largest batch that fits onto a card, by rehearsals\n"
    "  ctl      asks a running process for numbers, or to give memory back\n"
    "  top      shows running processes, and refreshes the page\n"
    "  adapter  builds, lists and removes the allocators that are compiled for PyTorch\n"
    "  doctor   tells what works on this machine, and what to do about the rest\n"
    "\n"
    "  --help, --version\n"
    "\n"
    "Examples:\n"
    "  vramstow run -- python train.py\n"
    "  vramstow run --simulate=h200 -- python train.py\n"
    "  vramstow analyze python-4711.stow\n"
    "  vramstow report python-4711.stow -o report.html\n"
    "  vramstow export python-4711.stow --to csv\n"
    "\n"
    "For more: vramstow help COMMAND.\n";

struct Command {
  const char* name;
  int (*run)(const std::vector<std::string>& arguments);
  // It leaves the terminal to others, or shows its own page there.
  bool has_no_bar = false;
};

constexpr Command kCommands[] = {
    {"run", RunCommand, true}, {"analyze", AnalyzeCommand}, {"report", ReportCommand},
    {"diff", DiffCommand},     {"check", CheckCommand},     {"replay", ReplayCommand},
    {"export", ExportCommand}, {"convert", ConvertCommand}, {"fit", FitCommand},
    {"ctl", CtlCommand},       {"top", TopCommand, true},   {"adapter", AdapterCommand},
    {"doctor", DoctorCommand}, {"docs", DocsCommand}};

// "run, analyze, … LAST doctor". The documentation's own command is for whoever builds it.
std::string NamesOfCommands(const char* last) {
  constexpr size_t kShown = std::size(kCommands) - 1;
  std::string names;
  for (size_t i = 0; i < kShown; ++i) {
    absl::StrAppend(&names, i == 0 ? "" : i + 1 == kShown ? last : ", ", kCommands[i].name);
  }
  return names;
}

int RefuseName(const std::string& name) {
  std::vector<std::string> names;
  for (const Command& command : kCommands) names.emplace_back(command.name);
  const std::string likely = LikelyName(name, names);
  const std::string hint = likely.empty()
                               ? absl::StrCat(": ", NamesOfCommands(" and "), " are there; see")
                               : absl::StrCat(", did you mean ", likely, "? See");
  Complain("", absl::StrCat("unknown ", name.starts_with("-") ? "argument" : "command", " '",
                            Printable(name), "'", hint, " vramstow --help."));
  return kExitUsage;
}

int Main(const std::vector<std::string>& arguments) {
  OccupyStandardStreams();
  if (arguments.empty()) {
    Complain("", absl::StrCat("no command: ", NamesOfCommands(" or "), "; see vramstow --help."));
    return kExitUsage;
  }
  std::vector<std::string> words = arguments;
  // "vramstow help run" is "vramstow run --help".
  if (words.front() == "help" && words.size() > 1) words = {words[1], "--help"};
  const std::string& name = words.front();
  if (name == "--help" || name == "-h" || name == "help") return PrintResult("", kHelp);
  if (name == "--version") {
    return PrintResult("", absl::StrCat("vramstow ", VRAMSTOW_VERSION, "\n"));
  }
  for (const Command& command : kCommands) {
    if (name != command.name) continue;
    std::optional<ProgressBar> bar;
    if (!command.has_no_bar) bar.emplace(STDERR_FILENO);
    return command.run({words.begin() + 1, words.end()});
  }
  return RefuseName(name);
}

}  // namespace
}  // namespace vramstow

int main(int count, char** values) {
  try {
    return vramstow::Main({values + (count > 0 ? 1 : 0), values + count});
  } catch (const std::exception& error) {
    // Out of memory, in the first place.
    vramstow::Complain("", std::string("cannot go on: ") + error.what() + ".");
    return vramstow::kExitCannotWrite;
  }
}
