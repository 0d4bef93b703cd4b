// vramstow run: runs a command with vramstow preloaded, and sums up what it did.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/host_mapping.h"
#include "tools/analysis/facts/merge.h"
#include "tools/base/words.h"
#include "tools/commands/command.h"
#include "tools/commands/command_line.h"
#include "tools/commands/flags.h"
#include "tools/doctor/host_mapping.h"
#include "tools/inputs/open_input.h"
#include "tools/inputs/runs.h"
#include "tools/launch/card_list.h"
#include "tools/launch/child.h"
#include "tools/launch/driver.h"
#include "tools/launch/environment.h"
#include "tools/launch/installation.h"
#include "tools/launch/job_folder.h"
#include "tools/launch/prepare_adapters.h"
#include "tools/launch/ranks.h"
#include "tools/launch/run_ends.h"
#include "tools/launch/run_traces.h"
#include "tools/pipeline/analyze.h"
#include "tools/report/json.h"
#include "tools/report/summary.h"
#include "tools/symbols/kept_functions.h"
#include "tools/terminal/output.h"
#include "tools/terminal/progress_bar.h"

namespace vramstow {
namespace {

constexpr int kExitNotFound = 127;       // as shells have it
constexpr int kExitNotExecutable = 126;  // likewise
constexpr size_t kHelpWidth = 68;
constexpr char kHelpAll[] = "--help-all";
constexpr char kHelp[] = "help";  // the SPEC that lists the cards

constexpr char kRunFooter[] =
    "Each flag has an environment variable, which vramstow help configuration.md names; the flag "
    "wins.\n"
    "\n"
    "Examples:\n"
    "  vramstow run -- python train.py\n"
    "  vramstow run --simulate=h200 -- python train.py       (no GPU needed)\n"
    "  vramstow run --trace-dir traces -- torchrun --nproc-per-node 2 train.py\n"
    "\n"
    "Exit status: the command's own; 127 if there is no such command; 126 if it cannot be "
    "executed; 2\n"
    "if a flag is wrong or the machine lacks something (then nothing was started).";

// What most people want to say, in the words of the first screen of --help; the other flags are
// under --help-all.
struct FirstScreen {
  const char* group;
  std::vector<std::string> flags;
};

// Empty: the flag is not on the first screen.
std::string GroupOf(const OptionRow& row) {
  static const auto* const kFirstScreen = new std::vector<FirstScreen>{
      {"See: where the memory goes",
       {"--stacks", "--trace-dir", "--no-trace", "--simulate", "--quiet"}},
      {"Serve: the pool allocates, instead of the driver and PyTorch", {"--pool", "--limit"}},
      {"Survive: a job that needs more than the card has goes on", {"--offload"}}};
  for (const FirstScreen& screen : *kFirstScreen) {
    for (const std::string& flag : screen.flags) {
      if (flag == row.flag) return screen.group;
    }
  }
  return "";
}

// A name that a flag had before, and still takes.
std::string WithOldName(const std::string& flag) {
  return flag == "--interception-report" ? flag + ",--coverage" : flag;
}

// The words that a value may begin with: "off|auto|explicit[,host=BYTES]" has three.
std::vector<std::string> SuggestionsOf(const OptionRow& row) {
  std::vector<std::string> words;
  const std::string_view metavar = row.metavar;
  if (metavar.find('|') == std::string_view::npos) return words;
  for (const std::string& part : std::vector<std::string>(absl::StrSplit(row.metavar, '|'))) {
    const std::string word = part.substr(0, part.find('['));
    // Of "sample=N" what a person does not choose is left out; "PORT" is no word at all.
    const size_t end = word.find_first_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ");
    if (!word.empty() && end != 0) words.push_back(word.substr(0, end));
  }
  return words;
}

// The flags of the option table, and what was given for them.
class FlagReader {
 public:
  FlagReader() : texts_(AllOptions().count), given_(AllOptions().count) {}

  // `all`: also those that --help leaves to --help-all.
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
  // By the row of the option table; not vectors, because options keep addresses of bools.
  std::deque<std::string> texts_;
  std::deque<bool> given_;
};

// "--simulate=" would take the next flag for its value.
absl::Status CheckNoEmptyValue(const std::vector<std::string>& flags) {
  for (const std::string& flag : flags) {
    if (!flag.ends_with('=')) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(flag, " has no value: leave the flag out, or say what it is to be."));
  }
  return absl::OkStatus();
}

// A folder that is not there is made when all else is right; until then the flag says where.
absl::StatusOr<JobFolder> TakeJobFolder(FlagValues* flags) {
  constexpr char kVariable[] = "VRAMSTOW_TRACE_DIR";
  const auto flag = flags->find(kVariable);
  const char* variable = std::getenv(kVariable);
  std::string directory = variable == nullptr ? "" : variable;
  if (flag != flags->end()) directory = flag->second;
  auto folder = FindJobFolder(directory);
  if (folder.ok() && !folder->parent.empty()) (*flags)[kVariable] = folder->parent;
  return folder;
}

// The card that a snapshot tells of, in place of "match=SNAPSHOT".
absl::Status TakeMatchedCard(const Installation& installation, FlagValues* flags,
                             Settings* settings) {
  std::string why;
  const auto spec = ResolveMatch(settings->simulate, installation.simulator_directory, &why);
  if (!spec.ok()) return spec.status();
  if (!why.empty() && !settings->quiet) Complain("", Printable(why));
  (*flags)["VRAMSTOW_SIMULATE"] = *spec;
  settings->simulate = *spec;
  return absl::OkStatus();
}

// Makes the folder for traces absolute, because the command may change its own.
absl::Status PrepareTraceDirectory(Settings* settings) {
  if (!settings->trace) return absl::OkStatus();
  std::error_code error;
  const std::filesystem::path absolute =
      std::filesystem::canonical(settings->trace_directory, error);
  if (error) {
    return absl::InvalidArgumentError(absl::StrCat("cannot use the folder for traces, '",
                                                   settings->trace_directory,
                                                   "': ", error.message(), "."));
  }
  settings->trace_directory = absolute;
  if (access(absolute.c_str(), W_OK | X_OK) == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("cannot write traces into ", absolute.string(), " (", strerror(errno),
                   "): name another folder with --trace-dir, or trace nothing with --no-trace."));
}

int Refuse(const absl::Status& status) {
  Complain("run", Printable(std::string(status.message())));
  return kExitUsage;
}

int PrintCards(const Installation& installation) {
  const auto cards = CheckSimulator(installation.simulator_directory, kHelp);
  return cards.ok() ? PrintResult("run", *cards + "\n") : Refuse(cards.status());
}

// All that can be wrong before the command is started.
absl::Status CheckMachine(const Settings& settings, const Installation& installation) {
  const bool rehearsal = !settings.simulate.empty();
  if (absl::Status status = CheckInstallation(installation, rehearsal); !status.ok()) return status;
  if (!rehearsal) return CheckDriver();
  return CheckSimulator(installation.simulator_directory, settings.simulate).status();
}

// What another process of the run held is told by its trace.
Facts WithNeighbours(const RunTraces& traces, Facts failed, uint64_t most_events) {
  std::vector<std::string> files;
  uint64_t events = 0;
  for (const Facts& facts : traces.facts) {
    events += facts.report.events;
    files.push_back(facts.file);
  }
  if (files.size() < 2 || events > most_events) return failed;
  absl::StatusOr<InputSet> inputs = AnalyzePaths(files);
  if (!inputs.ok()) return failed;
  for (Analysis& analysis : inputs->analyses) {
    if (analysis.facts.file == failed.file) return std::move(analysis.facts);
  }
  return failed;
}

// The machine that reads these traces may not have the libraries of this one. Where that fails, a
// trace names them here only, as before.
void KeepFunctionsOf(const RunTraces& traces) {
  constexpr std::chrono::milliseconds kMax{2000};
  const auto end = std::chrono::steady_clock::now() + kMax;
  for (const Facts& facts : traces.facts) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    if (left.count() <= 0) return;
    KeepFunctions(facts.file, left).IgnoreError();
  }
}

// The user waits for a prompt: longer traces are explained by vramstow analyze alone.
constexpr uint64_t kMaxEvents = 2'000'000;

// Explains the last failure of a job that ran out of memory, where that takes a moment only.
void ExplainFailure(RunTraces* traces) {
  for (auto facts = traces->facts.rbegin(); facts != traces->facts.rend(); ++facts) {
    if (facts->counts.out_of_memory == 0 || facts->report.events > kMaxEvents) continue;
    absl::StatusOr<Analysis> analysis = AnalyzeFile(facts->file);
    if (!analysis.ok()) return;
    const bool is_of_others =
        !analysis->facts.out_of_memory.empty() &&
        analysis->facts.out_of_memory.back().cause == AdviceId::kOtherProcesses;
    Facts told = std::move(analysis->facts);
    if (is_of_others) told = WithNeighbours(*traces, std::move(told), kMaxEvents);
    *facts = std::move(told);
    return;
  }
}

// Finds out what an iteration takes by a simulated card's clock, and whether jobs ran only because
// memory was moved, where that takes a moment only.
void ExplainMoves(RunTraces* traces) {
  constexpr auto kClock = static_cast<size_t>(EventKind::kModelClock);
  constexpr auto kPressure = static_cast<size_t>(OffloadReason::kPressure);
  for (Facts& facts : traces->facts) {
    if (facts.counts.by_kind[kClock] == 0 && facts.offload.by_reason[kPressure] == 0) continue;
    if (facts.report.events > kMaxEvents) continue;
    const absl::StatusOr<Facts> explained = ExplainFile(facts.file);
    if (!explained.ok()) continue;
    facts.model_clock = explained->model_clock;
    facts.offload = explained->offload;
  }
}

// "process 4711 (python3.11), which it started, still runs"; empty: none does.
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
  constexpr uint64_t kLeastBytes = 128 * 1024;  // of a trace
  std::error_code error;
  if (any_unread) {
    return absl::StrCat("the command left no trace that can be read in ", Printable(folder), ".");
  }
  if (!running.empty()) {
    return absl::StrCat("the command has ended, but ", running, "; its trace will be in ",
                        Printable(folder), ".");
  }
  if (std::filesystem::space(folder, error).available < kLeastBytes && !error) {
    return absl::StrCat("the command left no trace: the disk of ", Printable(folder), " is full.");
  }
  return "no CUDA call was seen, so there is no trace. Did env -i, sudo or a launcher clear "
         "LD_PRELOAD? Set-user-ID and static programs cannot be seen.";
}

// As somebody who stands here would type it.
std::string FromHere(const std::string& path) {
  std::error_code error;
  const std::string here = std::filesystem::current_path(error).string() + "/";
  return !error && path.starts_with(here) ? path.substr(here.size()) : path;
}

// Would `vramstow analyze FOLDER` take other files than the traces of this run? Files that were
// written before it are not those of the newest run.
bool HasOthers(const RunTraces& traces, const std::string& folder, time_t begin) {
  std::vector<std::string> files = FilesOf(folder);
  std::erase_if(files, [begin](const std::string& file) {
    struct stat status = {};
    return stat(file.c_str(), &status) != 0 || status.st_mtime < begin;
  });
  TakeCopies(&files);
  std::vector<TraceOrigin> origins;
  for (const std::string& file : files) origins.push_back(OriginOf(file));
  const std::vector<Run> runs = RunsOf(origins);
  std::vector<std::string> own;
  for (const Facts& facts : traces.facts) own.push_back(facts.file);
  std::ranges::sort(own);
  return runs.empty() || runs.front().files != own;
}

std::string EndInWords(const ChildEnd& end) {
  return end.how == ChildEnd::How::kKilled
             ? absl::StrCat("the command was ended by signal ", end.value)
             : absl::StrCat("the command ended with status ", end.value);
}

// What the trace of a process could not keep.
void AddUncaught(const std::map<std::string, std::string>& uncaught, std::vector<Facts>* traces) {
  for (Facts& facts : *traces) {
    const auto process = facts.facts.find("process.pid");
    if (process == facts.facts.end()) continue;
    const auto error = uncaught.find(process->second);
    if (error != uncaught.end()) facts.facts.try_emplace("program.uncaught", error->second);
  }
}

// What was run, and how it ended.
struct Ran {
  std::string run_id;
  time_t begin = 0;
  ChildEnd end;
  std::map<std::string, std::string> uncaught;  // RunEnds::Uncaught
};

void PrintSummary(const Settings& settings, const Ran& ran, bool json) {
  const auto& [run_id, begin, end, uncaught] = ran;
  if (!settings.trace) {
    Complain("", "there is no summary, because --no-trace was given.");
    return;
  }
  const std::string running = RunningInWords(FindProcessesOfRun(run_id));
  // The command has ended and left the terminal.
  const ProgressBar bar(STDERR_FILENO);
  RunTraces traces =
      FindRunTraces(settings.trace_directory, run_id, begin, [] { return IsAskedToEnd(); });
  if (traces.stopped) {
    Complain("", absl::StrCat("interrupted while reading the traces in ",
                              Printable(settings.trace_directory),
                              "; they are complete: see vramstow analyze."));
    return;
  }
  if (traces.facts.empty()) {
    Complain("", WhyNoTrace(settings.trace_directory, traces.unread > 0, running));
    return;
  }
  if (!running.empty()) {
    Complain("", absl::StrCat("the command has ended, but ", running,
                              ": the summary is of what was recorded until now."));
  }
  KeepFunctionsOf(traces);
  ExplainFailure(&traces);
  ExplainMoves(&traces);
  AddUncaught(uncaught, &traces.facts);
  FactSet set = MergeTraces(traces.facts);
  if (json) {
    WriteAll(STDERR_FILENO, JsonReport(set));
    return;
  }
  const TracePlace place = {.directory = FromHere(settings.trace_directory),
                            .has_others = HasOthers(traces, settings.trace_directory, begin),
                            .unread = traces.unread,
                            .command_end = EndInWords(end)};
  for (Facts& facts : set.traces) facts.file = FromHere(facts.file);
  WriteAll(STDERR_FILENO, RunSummary(set, place));
}

// Does a file of this name lie in a folder of PATH? execvp says "permission denied" also where it
// does not, but a folder on the way may not be searched.
bool IsInPath(const std::string& command) {
  const char* path = std::getenv("PATH");
  for (absl::string_view folder : absl::StrSplit(path == nullptr ? "" : path, ':')) {
    if (access(absl::StrCat(folder.empty() ? "." : folder, "/", command).c_str(), F_OK) == 0) {
      return true;
    }
  }
  return false;
}

int CannotStart(const std::string& command, const ChildEnd& end) {
  if (end.how == ChildEnd::How::kNoProcess) {
    Complain("run", absl::StrCat("cannot start a process (", strerror(end.value), ")."));
    return kExitNotExecutable;
  }
  const bool is_path = command.find('/') != std::string::npos;
  if (end.value == ENOENT || (end.value == EACCES && !is_path && !IsInPath(command))) {
    Complain("run",
             absl::StrCat("cannot run '", Printable(command), "': there is no such ",
                          is_path ? "file, or its interpreter is missing." : "command in PATH."));
    return kExitNotFound;
  }
  Complain("run",
           absl::StrCat("cannot run '", Printable(command), "': ", strerror(end.value), "."));
  return kExitNotExecutable;
}

// Whether a rehearsal on this card has to know PyTorch's operators: to compute them, unless all is
// discarded and reads as zeros, or to say what a card would have to do.
bool WantsOperators(const std::string& simulate) {
  const std::vector<std::string> options = absl::StrSplit(simulate, ',');
  const auto has = [&](absl::string_view begin) {
    return std::any_of(options.begin(), options.end(), [begin](const std::string& option) {
      return absl::StartsWith(option, begin);
    });
  };
  return !simulate.empty() && (!has("contents=discard") || has("clock=model") || has("work-log="));
}

// Runs the command; in a rehearsal of some ranks of a job once for each of these, and then the
// first end that is no success stands for all.
ChildEnd RunAll(const std::vector<std::string>& command, const std::string& simulate,
                const std::vector<vramstowSimulatorRank>& ranks, const Environment& environment) {
  std::vector<Environment> environments = {environment};
  environments.resize(std::max<size_t>(ranks.size(), 1), environment);
  for (size_t i = 0; i < ranks.size(); ++i) TellRank(ranks[i], simulate, &environments[i]);
  const std::vector<ChildEnd> ends = RunChildren(command, &environments);
  const auto failed = [](const ChildEnd& end) {
    return end.how != ChildEnd::How::kExited || end.value != 0;
  };
  for (size_t i = 0; i < ends.size() && ranks.size() > 1; ++i) {
    if (ends[i].how == ChildEnd::How::kExited && ends[i].value != 0) {
      Complain("", absl::StrCat("rank ", ranks[i].rank, " ended with status ", ends[i].value, "."));
    } else if (ends[i].how == ChildEnd::How::kKilled) {
      Complain("",
               absl::StrCat("rank ", ranks[i].rank, " was ended by signal ", ends[i].value, "."));
    }
  }
  const auto first = std::find_if(ends.begin(), ends.end(), failed);
  return first != ends.end() ? *first : ends.front();
}

// Runs the command and ends as it did.
int Launch(const std::vector<std::string>& command, const FlagValues& flags,
           const Settings& settings, const Installation& installation, bool json) {
  const auto ranks = FindRanks(installation.simulator_directory, settings.simulate);
  if (!ranks.ok()) return Refuse(ranks.status());
  if (!ranks->empty()) {
    const absl::Status alone = CheckStartsNoRanks(command, settings.simulate);
    if (!alone.ok()) return Refuse(alone);
  }
  Environment environment;
  for (const auto& [variable, value] : flags) environment.Set(variable, value);
  if (settings.trace) environment.Set("VRAMSTOW_TRACE_DIR", settings.trace_directory);
  const std::string run_id = NewRunId(environment.Get(kRunIdVariable));
  environment.Set(kRunIdVariable, run_id);
  const RunEnds run_ends(&environment);
  // Before CUPTI, which may be among the others.
  if (settings.trace && settings.cupti) AddCuptiWatch(installation, &environment);
  AddLibraries(installation, !settings.simulate.empty(), &environment);
  if (settings.trace && settings.nvtx) AddNvtx(installation, &environment);
  if (settings.observed || !settings.simulate.empty()) AddPythonHook(installation, &environment);
  if (settings.observed) PrepareObservers(installation, command.front(), &environment);
  if (settings.offload) {
    const ProgressBar bar(STDERR_FILENO);
    constexpr uint64_t kPatienceMs = 30'000;
    environment.Set(
        kHostMappingVariable,
        FindHostMappings({installation, settings.simulate, kPatienceMs}, HostTrialOf::kUnknown));
  }
  PrepareCensuses(installation, command.front(), &environment);
  if (WantsOperators(settings.simulate)) {
    const std::string why = [&] {
      const ProgressBar bar(STDERR_FILENO);
      return PrepareValues(installation, command.front(), &environment);
    }();
    if (!why.empty()) {
      Complain("",
               absl::StrCat("the rehearsal computes nothing of PyTorch: ", Printable(why), "."));
    }
  }
  if (settings.tensors) {
    AddPythonHook(installation, &environment);
    const std::string why = [&] {
      const ProgressBar bar(STDERR_FILENO);
      return PrepareAdapters(installation, command.front(), &environment);
    }();
    if (!why.empty()) {
      Complain("", absl::StrCat("the pool serves PyTorch's segments, not its tensors: ",
                                Printable(why), "."));
    }
  }

  const time_t begin = time(nullptr);
  const ChildEnd end = RunAll(command, settings.simulate, *ranks, environment);
  if (end.how != ChildEnd::How::kExited && end.how != ChildEnd::How::kKilled) {
    return CannotStart(command.front(), end);
  }
  if (settings.quiet) EndAs(end);
  try {
    PrintSummary(settings, {run_id, begin, end, run_ends.Uncaught()}, json);
  } catch (const std::exception& error) {
    // Whatever goes wrong here must not change how the command ended.
    Complain("", absl::StrCat("cannot sum up the run: ", error.what(), "."));
  }
  EndAs(end);
}

}  // namespace

int RunCommand(const std::vector<std::string>& arguments) {
  const RunArguments split = SplitRunArguments(arguments);
  FlagReader reader;
  bool json = false;
  bool help_all = false;
  const bool shows_all =
      std::find(split.flags.begin(), split.flags.end(), kHelpAll) != split.flags.end();
  CommandLine line{
      .command = "run",
      .summary =
          "Runs a command unchanged under vramstow, and writes a summary of its device memory to "
          "stderr.",
      .footer = kRunFooter,
      .options = reader.Options(shows_all),
      .usage = "[FLAGS] -- COMMAND…"};
  line.options.push_back(
      {"--json", &json,
       Wrapped("Write the summary as one line of JSON, the same as vramstow analyze --json",
               kHelpWidth)});
  line.options.push_back({kHelpAll, &help_all, "Print this text with all flags"});
  if (absl::Status status = CheckNoEmptyValue(split.flags); !status.ok()) return Refuse(status);
  const std::vector<std::string> help = {"--help"};
  if (const auto status = ReadArguments(line, shows_all ? help : split.flags)) return *status;
  FlagValues flags = reader.Values();
  ImplyPool(&flags);
  const auto job_folder = TakeJobFolder(&flags);
  if (!job_folder.ok()) return Refuse(job_folder.status());

  auto settings = ReadSettings(flags);
  if (!settings.ok()) return Refuse(settings.status());
  const auto installation = FindInstallation();
  if (!installation.ok()) return Refuse(installation.status());
  if (settings->simulate == kHelp) return PrintCards(*installation);
  if (settings->simulate.starts_with(kMatchSpec)) {
    const absl::Status status = TakeMatchedCard(*installation, &flags, &*settings);
    if (!status.ok()) return Refuse(status);
  }
  if (split.command.empty()) {
    return Refuse(absl::InvalidArgumentError(
        "no command to run: put it after --, as in vramstow run -- python train.py."));
  }
  if (absl::Status status = PrepareTraceDirectory(&*settings); !status.ok()) return Refuse(status);
  if (absl::Status status = CheckMachine(*settings, *installation); !status.ok()) {
    return Refuse(status);
  }
  if (settings->trace) {
    if (absl::Status status = MakeJobFolder(*job_folder, &settings->trace_directory);
        !status.ok()) {
      return Refuse(status);
    }
  }
  if (!settings->quiet) {
    for (const std::string& sentence : MisspeltVariables(Environment().entries())) {
      Complain("run", Printable(sentence));
    }
    for (const std::string& sentence : VariablesWithoutPool(flags)) Complain("run", sentence);
  }
  return Launch(split.command, flags, *settings, *installation, json);
}

}  // namespace vramstow
