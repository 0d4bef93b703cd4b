// vramstow fit: finds the largest batch (or other value) with which a command fits onto a card, by
// simulated runs.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tools/base/progress.h"
#include "tools/base/words.h"
#include "tools/commands/command.h"
#include "tools/commands/command_line.h"
#include "tools/commands/fitting_output.h"
#include "tools/jobs/run_folder.h"
#include "tools/json/json_value.h"
#include "tools/plan/cards.h"
#include "tools/plan/estimate.h"
#include "tools/plan/largest.h"
#include "tools/terminal/output.h"

namespace vramstow {
namespace {

constexpr char kFitFooter[] =
    "The command replaces {batch} by the value that it tries. \"Without fragmentation\" estimates "
    "the result\nif there were no gaps between tensors. It is known if the pool can serve the "
    "tensors (PyTorch).\n\nWith --once the command runs unchanged, once on each GPU: does it fit, "
    "how much memory does it\nneed, and what is it used for?\n\nExamples:\n  vramstow fit "
    "--simulate=h100,a100 -- python "
    "train.py --batch-size {batch}\n  vramstow fit --once --simulate=h100,l4 -- python train.py\n  "
    "vramstow fit --simulate=rtx4090,memory=16GiB --to 64 --json -- ./job {batch}\n\nExit status: "
    "0; 1 if nothing fits on any GPU, or the result could not be written; 2 for wrong\narguments, "
    "and if the command fails for a reason other than memory; 130 after Ctrl-C (143 "
    "after\nSIGTERM), with the results so far.";

int FitIsWrong(const std::string& sentence) {
  Complain("fit", sentence);
  return kExitUsage;
}

void NoteFit(const std::string& sentence) { Complain("fit", sentence); }

struct FitSettings {
  std::string simulate;
  bool once = false;
  FitRange range{1, 65536, 1};
  uint64_t repeat = 1;
  std::string keep;
  bool json = false;
  std::vector<std::string> command;
};

int FitOnce(const FitSettings& settings, const std::string& folder) {
  Fitting fitting;
  fitting.json = JsonValue::Object(
      {{"schema", JsonValue::Object({{"name", "vramstow.estimate"}, {"version", 1}})},
       {"cards", JsonValue::Array()}});
  size_t number = 0;
  for (const std::string& card : SplitCards(settings.simulate)) {
    Progress::OfProcess().Begin(absl::StrCat("simulated run on ", card));
    const auto estimate = EstimateOn(card, settings.command, absl::StrCat(folder, "/", ++number));
    if (absl::IsCancelled(estimate.status())) break;
    if (!estimate.ok()) return FitIsWrong(std::string(estimate.status().message()));
    fitting.any_fits |= estimate->fits;
    NoteFit(absl::StrCat("run ", number, ": ", estimate->fits ? "fits" : "does not fit", " on ",
                         Printable(card)));
    fitting.json["cards"].Append(JsonOf(*estimate));
    fitting.text += TextOf(*estimate);
  }
  return PrintFitting("fit", fitting, settings.json);
}

int FitCards(const FitSettings& settings, const std::string& folder) {
  const auto report = FindLargest({.cards = SplitCards(settings.simulate),
                                   .command = settings.command,
                                   .range = settings.range,
                                   .repeat = settings.repeat},
                                  folder, NoteFit);
  if (!report.ok()) return FitIsWrong(std::string(report.status().message()));
  return PrintFitting("fit", {TextOf(*report), JsonOf(*report), report->any_fits()}, settings.json);
}

// Returns one sentence on wrong arguments; empty if there are none.
std::string WrongWith(const FitSettings& settings) {
  const bool has_place = std::ranges::any_of(settings.command, [](const std::string& word) {
    return word.find(kBatchPlace) != std::string::npos;
  });
  if (settings.once) {
    return has_place ? "--once runs the command unchanged: write a value in place of {batch}." : "";
  }
  if (!has_place) {
    return "the command has no {batch}: write {batch} where the value goes, or run the command "
           "unchanged with --once.";
  }
  if (settings.range.step == 0 || settings.repeat == 0 || settings.range.from > settings.range.to) {
    return "--step and --repeat must be at least 1, and --from must not be above --to.";
  }
  if (settings.range.to > kMaxFitValue) {
    return absl::StrCat("--to must be at most ", kMaxFitValue, ".");
  }
  return "";
}

}  // namespace

int FitCommand(const std::vector<std::string>& arguments) {
  FitSettings settings;
  const CommandLine line{
      .command = "fit",
      .summary =
          "Finds the largest batch with which a command fits onto a GPU, by running the command "
          "with several\nvalues on a simulated GPU; or checks whether one command fits (--once).",
      .footer = kFitFooter,
      .options = {
          {"--simulate",
           &settings.simulate,
           "The GPUs, as for vramstow run, separated by commas",
           {.required = true, .takes_no_file = true}},
          {"--once",
           &settings.once,
           "Run the command unchanged, once on each GPU",
           {.excludes = {"--from", "--to", "--step", "--repeat"}}},
          {"--from", &settings.range.from, "The first value to try (1)"},
          {"--to", &settings.range.to, "The largest value to try (65536)"},
          {"--step", &settings.range.step, "The distance between the values to try (1)"},
          {"--repeat", &settings.repeat, "Runs for each value; all of them must fit (1)"},
          {"--keep", &settings.keep, "A folder in which traces and output are kept"},
          {"--json", &settings.json, "Print JSON on one line"},
          {"COMMAND", &settings.command, "The command to run, after --", {.required = true}}}};
  if (const auto status = ReadArguments(line, arguments)) return *status;
  const std::string wrong = WrongWith(settings);
  if (!wrong.empty()) return FitIsWrong(wrong);
  if (const absl::Status status = CheckCards(SplitCards(settings.simulate)); !status.ok()) {
    return FitIsWrong(std::string(status.message()));
  }
  const RunFolder folder(settings.keep);
  if (!folder.ok()) return FitIsWrong("cannot make a folder for the traces.");
  return settings.once ? FitOnce(settings, folder.path()) : FitCards(settings, folder.path());
}

}  // namespace vramstow
