// vramstow plan: finds which settings of a command fit onto which cards, and which of them are
// fastest, by simulated runs.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tools/base/words.h"
#include "tools/commands/command.h"
#include "tools/commands/command_line.h"
#include "tools/commands/fitting_output.h"
#include "tools/jobs/run_folder.h"
#include "tools/launch/end_signals.h"
#include "tools/plan/largest.h"
#include "tools/plan/plan.h"
#include "tools/plan/plan_text.h"
#include "tools/terminal/output.h"

namespace vramstow {
namespace {

constexpr char kPlanFooter[] =
    "The command has placeholders for values, each a name in braces; a flag of that name gives the "
    "values:\n"
    "--batch 1,2,4,8..64 for {batch}. Without the flag, {batch} is 1, 2, 4, ... 1024 and\n"
    "{accumulate} is 1. A command without placeholders is run unchanged and with settings that "
    "need no\n"
    "change of the program: PyTorch's expandable segments, vramstow's pool, and offloading.\n"
    "\n"
    "With --largest it looks for one number, the largest {batch} that fits onto each GPU, as\n"
    "vramstow fit does.\n"
    "\n"
    "Examples:\n"
    "  vramstow plan --cards h100,a100 -- python train.py --batch {batch}\n"
    "  vramstow plan --cards h100x8,h200x4 --tokens 4M -- torchrun train.py --batch {batch}\n"
    "  vramstow plan --cards h100 --recompute no,yes -- python train.py {batch} {recompute}\n"
    "  vramstow plan --cards l4,rtx4090 -- python train.py\n"
    "  vramstow plan --cards h100,world=64,rank=0 --shard 8,64 -- torchrun train.py {shard}\n"
    "\n"
    "{shard}, {dp}, {tp}, {pp} and {cp} are numbers of ranks: the number of GPUs must be divisible "
    "by them.\n"
    "\n"
    "Exit status: 0; 1 if nothing fits with the margin, or the result could not be written; 2 for\n"
    "wrong arguments, and if the command always fails for a reason other than memory; 130 after\n"
    "Ctrl-C (143 after SIGTERM), with the results so far.";

constexpr int kExitNothingFits = 1;

struct PlanSettings {
  PlanRequest request;
  std::string tokens;
  double margin_percent = 5;
  std::string keep;
  bool largest = false;
  bool json = false;
};

int PlanIsWrong(const std::string& sentence) {
  Complain("plan", sentence);
  return kExitUsage;
}

void NotePlan(const std::string& sentence) { Complain("plan", sentence); }

int PrintPlan(const PlanReport& report, bool json) {
  const int printed = PrintResult("plan", json ? JsonOf(report).Dump() + "\n" : TextOf(report));
  if (printed != kExitOk) return printed;
  if (report.result.interrupted) return EndSignals::exit_status();
  const std::vector<PlanRow>& rows = report.result.rows;
  return !rows.empty() && rows.front().fits ? kExitOk : kExitNothingFits;
}

// Prints the largest {batch} between the smallest and the largest given value, as vramstow fit
// does.
int PlanLargest(const PlanTask& task, const PlanRequest& request, const std::string& folder,
                bool json) {
  if (task.placeholders.size() != 1 || task.placeholders.front().name != kBatch) {
    return PlanIsWrong(
        "--largest looks for the value of {batch} alone: write {batch} where it "
        "goes, and values in place of other names.");
  }
  LargestRequest largest{.cards = {}, .command = request.command};
  for (const PlanCard& card : task.cards) largest.cards.push_back(card.spec);
  if (!request.values.at(kBatch).empty()) {
    std::vector<uint64_t> values;
    for (const std::string& value : task.placeholders.front().values) {
      uint64_t number = 0;
      if (!absl::SimpleAtoi(value, &number) || number > kMaxFitValue) {
        return PlanIsWrong(absl::StrCat("--largest needs whole numbers for {batch}, of at most ",
                                        kMaxFitValue, "."));
      }
      values.push_back(number);
    }
    largest.range.from = std::ranges::min(values);
    largest.range.to = std::ranges::max(values);
  }
  const auto report = FindLargest(largest, folder, NotePlan);
  if (!report.ok()) return PlanIsWrong(std::string(report.status().message()));
  return PrintFitting("plan", {TextOf(*report), JsonOf(*report), report->any_fits()}, json);
}

// Parses "4M" as 4,000,000.
absl::StatusOr<double> ReadTokens(absl::string_view text) {
  static constexpr std::pair<char, double> kUnits[] = {
      {'K', 1e3}, {'M', 1e6}, {'B', 1e9}, {'G', 1e9}, {'T', 1e12}};
  double unit = 1;
  absl::string_view number = text;
  for (const auto& [letter, size] : kUnits) {
    if (number.empty() ||
        absl::ascii_toupper(static_cast<unsigned char>(number.back())) != letter) {
      continue;
    }
    unit = size;
    number.remove_suffix(1);
    break;
  }
  double count = 0;
  if (!absl::SimpleAtod(number, &count) || !(count > 0) || !(count * unit < 1e18)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--tokens needs a number, for example 300B, and not '",
                     Printable(std::string(text)), "'."));
  }
  return count * unit;
}

// Adds a flag for each placeholder of the command. {batch} and {accumulate} always have a flag.
absl::Status AddPlaceholderFlags(PlanRequest* request, const std::vector<std::string>& arguments,
                                 CommandLine* line) {
  request->values = {{kBatch, ""}, {kAccumulate, ""}};
  // Without "--" the command begins somewhere among the arguments.
  const auto dashes = std::ranges::find(arguments, "--");
  const auto begin = dashes == arguments.end() ? arguments.begin() : dashes;
  for (const std::string& name : PlaceholdersOf(std::vector<std::string>(begin, arguments.end()))) {
    const bool is_flag = std::ranges::any_of(line->options, [&name](const Option& option) {
      return option.names == absl::StrCat("--", name);
    });
    if (is_flag || name == "help") {
      return absl::InvalidArgumentError(
          absl::StrCat("{", name, "} has the name of a flag of vramstow plan: use another name."));
    }
    request->values.emplace(name, "");
  }
  std::vector<Option> flags;
  for (auto& [name, text] : request->values) {
    flags.push_back({absl::StrCat("--", name),
                     &text,
                     absl::StrCat("The values of {", name, "}: 1,2,4..64, or words"),
                     {.takes_no_file = true, .value_name = "VALUES"}});
  }
  line->options.insert(line->options.begin() + 1, flags.begin(), flags.end());
  return absl::OkStatus();
}

}  // namespace

int PlanCommand(const std::vector<std::string>& arguments) {
  PlanSettings settings;
  CommandLine line{
      .command = "plan",
      .summary =
          "Finds the settings with which a command fits onto GPUs, and which of them are fastest, "
          "by running it\non simulated GPUs with a few of them.",
      .footer = kPlanFooter,
      .options = {{"--cards",
                   &settings.request.cards,
                   "The GPUs, separated by commas; h100x8 is a machine with eight",
                   {.required = true, .takes_no_file = true}},
                  {"--tokens",
                   &settings.tokens,
                   "The tokens of the whole job, for example 300B, to compute its GPU hours",
                   {.takes_no_file = true}},
                  {"--margin",
                   &settings.margin_percent,
                   "The percentage of the GPU's memory that must stay free (5)",
                   {.range = OptionRange{0, 90}}},
                  {"--largest",
                   &settings.largest,
                   "Find the largest {batch} alone, to the unit",
                   {.excludes = {"--tokens", "--margin"}}},
                  {"--keep", &settings.keep, "A folder in which traces and output are kept"},
                  {"--json", &settings.json, "Print JSON on one line"},
                  {"COMMAND",
                   &settings.request.command,
                   "The command to run, after --",
                   {.required = true}}}};
  if (absl::Status status = AddPlaceholderFlags(&settings.request, arguments, &line);
      !status.ok()) {
    return PlanIsWrong(std::string(status.message()));
  }
  if (const auto status = ReadArguments(line, arguments)) return *status;
  PlanRequest& request = settings.request;
  request.margin = settings.margin_percent / 100;
  if (!settings.tokens.empty()) {
    const auto read = ReadTokens(settings.tokens);
    if (!read.ok()) return PlanIsWrong(std::string(read.status().message()));
    request.tokens = *read;
  }
  const auto task = CheckPlan(request);
  if (!task.ok()) return PlanIsWrong(std::string(task.status().message()));
  const RunFolder folder(settings.keep);
  if (!folder.ok()) return PlanIsWrong("cannot make a folder for the traces.");
  if (absl::StrContains(folder.path(), ',')) {
    return PlanIsWrong(
        absl::StrCat("the folder for the traces, ", Printable(folder.path()),
                     ", has a comma in its path, which separates the options of a simulated GPU: "
                     "name another folder with --keep."));
  }
  if (settings.largest) return PlanLargest(*task, request, folder.path(), settings.json);
  const auto report = MakePlan(request, *task, folder.path(), NotePlan);
  if (report.ok()) return PrintPlan(*report, settings.json);
  Complain("plan", std::string(report.status().message()));
  return absl::IsCancelled(report.status()) ? EndSignals::exit_status() : kExitUsage;
}

}  // namespace vramstow
