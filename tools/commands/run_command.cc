// vramstow run: runs a command with vramstow preloaded, and summarises what it did.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <exception>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/options.h"
#include "tools/base/words.h"
#include "tools/commands/command.h"
#include "tools/commands/command_line.h"
#include "tools/commands/flags.h"
#include "tools/jobs/job.h"
#include "tools/launch/driver.h"
#include "tools/launch/installation.h"
#include "tools/report/json.h"
#include "tools/report/summary.h"
#include "tools/terminal/output.h"

namespace vramstow {
namespace {

constexpr size_t kHelpWidth = 68;
constexpr char kHelpAll[] = "--help-all";
constexpr char kHelp[] = "help";  // the SPEC that lists the cards

constexpr char kRunFooter[] =
    "Each flag has an environment variable (see vramstow help configuration.md); if both are "
    "given, the\nflag is used.\n\nExamples:\n  vramstow run -- python train.py\n  vramstow run "
    "--simulate=h200 -- python train.py       (no GPU needed)\n  vramstow run --trace-dir traces "
    "-- torchrun --nproc-per-node 2 train.py\n\nExit status: the command's own; 127 if there is no "
    "such command; 126 if it cannot be executed; 2\nif a flag is wrong or something is missing on "
    "the machine (then nothing was started).";

// The most common flags, with the texts of the first screen of --help; the other flags are under
// --help-all.
struct FirstScreen {
  const char* group;
  std::vector<std::string> flags;
};

// Returns the group of a flag; empty if it is not on the first screen.
std::string GroupOf(const OptionRow& row) {
  static const auto* const kFirstScreen = new std::vector<FirstScreen>{
      {"Profile: see where the memory goes",
       {"--stacks", "--trace-dir", "--no-trace", "--simulate", "--quiet"}},
      {"Pool: vramstow serves the memory, instead of the driver and PyTorch",
       {"--pool", "--limit"}},
      {"Offload: run a job that needs more memory than the GPU has", {"--offload"}},
      {"Share: use one GPU in turns with other jobs", {"--share"}}};
  for (const FirstScreen& screen : *kFirstScreen) {
    for (const std::string& flag : screen.flags) {
      if (flag == row.flag) return screen.group;
    }
  }
  return "";
}

// Returns the flag with its former name, which is still accepted.
std::string WithOldName(const std::string& flag) {
  return flag == "--interception-report" ? flag + ",--coverage" : flag;
}

// Returns the words with which a value may begin: "off|auto|explicit[,host=BYTES]" has three.
std::vector<std::string> SuggestionsOf(const OptionRow& row) {
  std::vector<std::string> words;
  const std::string_view metavar = row.metavar;
  if (metavar.find('|') == std::string_view::npos) return words;
  for (const std::string& part : std::vector<std::string>(absl::StrSplit(row.metavar, '|'))) {
    const std::string word = part.substr(0, part.find('['));
    // Placeholders in capitals are cut off ("sample=N"), and values that are only a placeholder
    // ("PORT") are no suggestions.
    const size_t end = word.find_first_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ");
    if (!word.empty() && end != 0) words.push_back(word.substr(0, end));
  }
  return words;
}

// The flags of the option table, and the values given for them.
class FlagReader {
 public:
  FlagReader() : texts_(AllOptions().count), given_(AllOptions().count) {}

  // Returns the options. `all` includes the flags that only --help-all lists.
  std::vector<Option> Options(bool all) {
    std::vector<Option> options;
    const OptionTable table = AllOptions();
    for (size_t i = 0; i < table.count; ++i) {
      const OptionRow& row = table.rows[i];
      const std::string help = Wrapped(row.help, kHelpWidth);
      const std::string group = GroupOf(row);
      OptionRules rules = {.hidden = group.empty() && !all, .group = group};
      if (row.type == OptionType::kBool) {
        options.push_back({WithOldName(row.flag), &given_[i], help, rules});
      } else {
        rules.last_wins = true;
        rules.suggests = SuggestionsOf(row);
        rules.takes_no_file =
            row.type != OptionType::kPath && std::string_view(row.metavar) != "DIR";
        rules.value_name = row.metavar;
        options.push_back({row.flag, &texts_[i], help, rules});
      }
    }
    return options;
  }

  FlagValues Values() const {
    FlagValues values;
    const OptionTable table = AllOptions();
    for (size_t i = 0; i < table.count; ++i) {
      const OptionRow& row = table.rows[i];
      if (given_[i]) values[row.environment] = row.default_bool ? '0' : '1';
      if (!texts_[i].empty()) values[row.environment] = texts_[i];
    }
    return values;
  }

 private:
  // The texts are indexed by the row of the option table. The containers are deques and not
  // vectors, because options hold the addresses of the elements.
  std::deque<std::string> texts_;
  std::deque<bool> given_;
};

// Refuses "--simulate=", which would take the next flag as its value.
absl::Status CheckNoEmptyValue(const std::vector<std::string>& flags) {
  for (const std::string& flag : flags) {
    if (!flag.ends_with('=')) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(flag, " has no value: leave the flag out, or give it a value."));
  }
  return absl::OkStatus();
}

int RefuseToRun(const absl::Status& status) {
  Complain("run", Printable(std::string(status.message())));
  return kExitUsage;
}

// Returns "process 4711 (python3.11), which it started, still runs"; empty if there is none.
std::string RunningInWords(const std::vector<RunningProcess>& processes) {
  constexpr size_t kMax = 3;
  if (processes.empty()) return "";
  std::string names;
  for (size_t i = 0; i < std::min(kMax, processes.size()); ++i) {
    absl::StrAppend(&names, i == 0 ? "" : ", ", processes[i].process, " (",
                    Printable(processes[i].program), ")");
  }
  if (processes.size() > kMax) {
    absl::StrAppend(&names, " and ", processes.size() - kMax, " more");
  }
  return processes.size() == 1 ? absl::StrCat("process ", names, ", which it started, still runs")
                               : absl::StrCat("processes ", names, ", which it started, still run");
}

std::string WhyNoTrace(const std::string& folder, bool any_unread, const std::string& running) {
  constexpr uint64_t kLeastBytes = 128 * 1024;  // the smallest trace
  std::error_code error;
  if (any_unread) {
    return absl::StrCat("the command left no readable trace in ", Printable(folder), ".");
  }
  if (!running.empty()) {
    return absl::StrCat("the command has ended, but ", running, "; its trace will be in ",
                        Printable(folder), ".");
  }
  if (!std::filesystem::exists(folder, error)) {
    return absl::StrCat("the command left no trace, because the folder for traces, ",
                        Printable(folder), ", was removed or renamed while it ran.");
  }
  if (std::filesystem::space(folder, error).available < kLeastBytes && !error) {
    return absl::StrCat("the command left no trace: the disk of ", Printable(folder), " is full.");
  }
  return absl::StrCat("no trace of this run is in ", Printable(folder),
                      ": no CUDA call was seen, or the traces went elsewhere, or a process said "
                      "above why it writes none. Did env -i, sudo or a launcher clear LD_PRELOAD? "
                      "vramstow cannot see set-user-ID and static programs.");
}

// Returns the path as a user in the current folder would type it.
std::string FromHere(const std::string& path) {
  std::error_code error;
  const std::string here = std::filesystem::current_path(error).string() + "/";
  return !error && path.starts_with(here) ? path.substr(here.size()) : path;
}

std::string EndInWords(const ChildEnd& end) {
  return end.how == ChildEnd::How::kKilled
             ? absl::StrCat("the command was ended by signal ", end.value)
             : absl::StrCat("the command ended with status ", end.value);
}

// Prints the summary of the traces, or why there is none.
void PrintSummary(Outcome outcome, bool json) {
  const JobFiles& traces = outcome.traces;
  if (traces.directory.empty()) {
    Complain("", "there is no summary, because --no-trace was given.");
    return;
  }
  if (!traces.problem.empty()) {
    Complain("", absl::StrCat("cannot sum up the run: ", traces.problem, "."));
    return;
  }
  if (traces.stopped) {
    Complain("",
             absl::StrCat("interrupted while reading the traces in ", Printable(traces.directory),
                          "; they are complete: see vramstow analyze."));
    return;
  }
  const std::string running = RunningInWords(traces.running);
  if (outcome.facts.traces.empty()) {
    Complain("", WhyNoTrace(traces.directory, traces.unread > 0, running));
    return;
  }
  if (!running.empty()) {
    Complain("", absl::StrCat("the command has ended, but ", running,
                              ": the summary covers what was recorded until now."));
  }
  if (json) {
    WriteAll(STDERR_FILENO, JsonReport(outcome.facts));
    return;
  }
  const TracePlace place = {.directory = FromHere(traces.directory),
                            .has_others = traces.has_others,
                            .unread = traces.unread,
                            .command_end = EndInWords(outcome.exit.end)};
  for (Facts& facts : outcome.facts.traces) facts.file = FromHere(facts.file);
  WriteAll(STDERR_FILENO, RunSummary(outcome.facts, place));
}

// Returns true for --simulate=help.
bool AsksForCards(const FlagValues& flags) {
  const auto flag = flags.find("VRAMSTOW_SIMULATE");
  const char* variable = std::getenv("VRAMSTOW_SIMULATE");
  return (flag != flags.end() ? flag->second : variable != nullptr ? variable : "") == kHelp;
}

int PrintCards() {
  const auto installation = FindInstallation();
  if (!installation.ok()) return RefuseToRun(installation.status());
  const auto cards = CheckSimulator(installation->simulator_directory, kHelp);
  return cards.ok() ? PrintResult("run", *cards + "\n") : RefuseToRun(cards.status());
}

// Runs the command in this process, and ends with the exit status of the command.
int RunInPlace(const Job& job, bool json) {
  auto outcome = RunJob(job);
  if (!outcome.ok()) return RefuseToRun(outcome.status());
  const JobExit ended = outcome->exit;
  if (!ended.not_started.empty()) {
    Complain("run", ended.not_started);
    return ended.status;
  }
  if (outcome->quiet) EndAs(ended.end);
  try {
    PrintSummary(*std::move(outcome), json);
  } catch (const std::exception& error) {
    // An error in the summary must not change the exit status, which is that of the command.
    Complain("", absl::StrCat("cannot sum up the run: ", error.what(), "."));
  }
  EndAs(ended.end);
}

}  // namespace

int RunCommand(const std::vector<std::string>& arguments) {
  const RunArguments split = SplitRunArguments(arguments);
  FlagReader reader;
  bool json = false;
  bool help_all = false;
  const bool shows_all =
      std::find(split.flags.begin(), split.flags.end(), kHelpAll) != split.flags.end();
  CommandLine line{.command = "run",
                   .summary =
                       "Runs a command under vramstow without changing it, and writes a summary of "
                       "its device memory to stderr.",
                   .footer = kRunFooter,
                   .options = reader.Options(shows_all),
                   .usage = "[FLAGS] -- COMMAND…"};
  line.options.push_back(
      {"--json", &json,
       Wrapped("Write the summary as one line of JSON, the same as vramstow analyze --json",
               kHelpWidth)});
  line.options.push_back({kHelpAll, &help_all, "Print this text with all flags"});
  if (absl::Status status = CheckNoEmptyValue(split.flags); !status.ok())
    return RefuseToRun(status);
  const std::vector<std::string> help = {"--help"};
  if (const auto status = ReadArguments(line, shows_all ? help : split.flags)) return *status;
  const FlagValues flags = reader.Values();
  if (AsksForCards(flags)) return PrintCards();
  // The line of JSON has all that vramstow analyze explains; the summary for people is short.
  return RunInPlace({.command = split.command,
                     .flags = flags,
                     .output = "",
                     .explains_everything = json,
                     .note = Complain},
                    json);
}

}  // namespace vramstow
