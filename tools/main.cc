// The program `vramstow`: hands its arguments to the command that they name.
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tools/base/likely_name.h"
#include "tools/base/words.h"
#include "tools/built_from.h"
#include "tools/commands/advice_page.h"
#include "tools/commands/command_table.h"
#include "tools/commands/pages.h"
#include "tools/commands/topics.h"
#include "tools/terminal/exit_status.h"
#include "tools/terminal/output.h"
#include "tools/terminal/progress_bar.h"

namespace vramstow {
namespace {

constexpr char kHelpBegins[] =
    "Usage: vramstow COMMAND …\n\nProfiles the GPU memory of unmodified programs; can pool it and "
    "offload it to the host.\n\nCommands:\n";

constexpr char kHelpEnds[] =
    "\n  --help, --version\n\nExamples:\n  vramstow run -- python train.py\n  vramstow run "
    "--simulate=h200 -- python train.py\n  vramstow analyze train-1125-2303-4711.stow\n  vramstow "
    "report train-1125-2303-4711.stow -o report.html\n  vramstow export train-1125-2303-4711.stow "
    "--to csv\n\nMore: vramstow help COMMAND, help PAGE (README.md lists them), help ID (of a "
    "cause or advice:\nheld_graphs), or help TOPIC:\n";

std::string Help() {
  std::string help = kHelpBegins;
  for (const Command& command : ListedCommands()) {
    absl::StrAppendFormat(&help, "  %-11s%s\n", command.name, command.summary);
  }
  help += kHelpEnds;
  std::string line = " ";
  for (const Topic& topic : AllTopics()) absl::StrAppend(&line, " ", topic.name);
  return help + line + "\n";
}

// Returns a text such as "run, analyze, … LAST completion".
std::string NamesOfCommands(const char* last) {
  const std::vector<Command> listed = ListedCommands();
  std::string names;
  for (size_t i = 0; i < listed.size(); ++i) {
    absl::StrAppend(&names, i == 0 ? "" : i + 1 == listed.size() ? last : ", ", listed[i].name);
  }
  return names;
}

int RefuseName(const std::string& name) {
  std::vector<std::string> names;
  for (const Command& command : AllCommands()) names.emplace_back(command.name);
  const std::string likely = LikelyName(name, names);
  const std::string hint = likely.empty()
                               ? absl::StrCat(": ", NamesOfCommands(" and "), " are there; see")
                               : absl::StrCat(", did you mean ", likely, "? See");
  Complain("", absl::StrCat("unknown ", name.starts_with("-") ? "argument" : "command", " '",
                            Printable(name), "'", hint, " vramstow --help."));
  return kExitUsage;
}

int PrintPage(const std::string& name) {
  const auto page = ReadPage(name);
  if (page.ok()) return PrintResult("", *page);
  Complain("", std::string(page.status().message()));
  return kExitUsage;
}

int PrintHelpOn(const std::string& name) {
  if (IsPageName(name)) return PrintPage(name);
  if (const Topic* topic = FindTopic(name); topic != nullptr) return PrintResult("", topic->text);
  if (const std::string text = HelpOnAdvice(name); !text.empty()) return PrintResult("", text);
  const auto page = ReadPage(name + ".md");
  if (page.ok()) return PrintResult("", *page);
  std::vector<std::string> names;
  for (const Command& command : AllCommands()) names.emplace_back(command.name);
  for (const Topic& topic : AllTopics()) names.emplace_back(topic.name);
  for (std::string& id : AdviceIds()) names.push_back(std::move(id));
  const std::string likely = LikelyName(name, names);
  std::string hint = likely.empty()
                         ? "; see vramstow --help."
                         : absl::StrCat(", did you mean ", likely, "? See vramstow --help.");
  // Slim containers leave out the folder of documentation when they install a package.
  if (likely.empty() && AllPages().empty()) hint = absl::StrCat(", and ", page.status().message());
  Complain("", absl::StrCat("there is no command, topic or advice '", Printable(name), "'", hint));
  return kExitUsage;
}

int Main(const std::vector<std::string>& arguments) {
  OccupyStandardStreams();
  if (arguments.empty()) {
    Complain("", absl::StrCat("no command: ", NamesOfCommands(" or "), "; see vramstow --help."));
    return kExitUsage;
  }
  std::vector<std::string> words = arguments;
  if (words.front() == "help" && words.size() > 1) {
    // "vramstow help run" has the same meaning as "vramstow run --help".
    const auto is_meant = [&](const Command& command) { return words[1] == command.name; };
    if (std::ranges::none_of(AllCommands(), is_meant)) return PrintHelpOn(words[1]);
    words = {words[1], "--help"};
  }
  const std::string& name = words.front();
  if (name == "--help" || name == "-h" || name == "help") return PrintResult("", Help());
  if (name == "--version") {
    return PrintResult("", absl::StrCat("vramstow ", VRAMSTOW_VERSION, " (commit ", BuiltCommit(),
                                        ", ", BuiltKind(), ")\n"));
  }
  for (const Command& command : AllCommands()) {
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
    // The usual exception is that of a failed allocation.
    vramstow::Complain("", std::string("cannot go on: ") + error.what() + ".");
    return vramstow::kExitCannotWrite;
  }
}
