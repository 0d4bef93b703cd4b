// vramstow plan: which settings of a command fit onto which cards, and which of them are fastest,
// by rehearsal.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/card_rates.h"
#include "tools/base/progress.h"
#include "tools/base/words.h"
#include "tools/commands/command.h"
#include "tools/commands/command_line.h"
#include "tools/commands/fit_once.h"
#include "tools/commands/plan_text.h"
#include "tools/inputs/trace_start.h"
#include "tools/jobs/run_folder.h"
#include "tools/json/json_value.h"
#include "tools/launch/card_list.h"
#include "tools/launch/driver.h"
#include "tools/launch/end_signals.h"
#include "tools/launch/installation.h"
#include "tools/plan/cards.h"
#include "tools/plan/choices.h"
#include "tools/plan/search.h"
#include "tools/plan/step_time.h"
#include "tools/terminal/output.h"

namespace vramstow {
namespace {

constexpr char kPlanFooter[] =
    "The command has places for values, each a name in braces; a flag of that name gives the "
    "values:\n"
    "--batch 1,2,4,8..64 for {batch}. Without the flag, {batch} is 1, 2, 4, ... 1024 and\n"
    "{accumulate} is 1. A command without places is tried as it is and with what can be changed "
    "from\n"
    "outside: PyTorch's expandable segments, vramstow's pool, and offloading.\n"
    "\n"
    "Examples:\n"
    "  vramstow plan --cards h100,a100 -- python train.py --batch {batch}\n"
    "  vramstow plan --cards h100x8,h200x4 --tokens 4M -- torchrun train.py --batch {batch}\n"
    "  vramstow plan --cards h100 --recompute no,yes -- python train.py {batch} {recompute}\n"
    "  vramstow plan --cards l4,rtx4090 -- python train.py\n"
    "  vramstow plan --cards h100,world=64,rank=0 --shard 8,64 -- torchrun train.py {shard}\n"
    "\n"
    "{shard}, {dp}, {tp}, {pp} and {cp} are numbers of ranks: they have to divide the cards of the "
    "job.\n"
    "\n"
    "Exit status: 0; 1 if nothing fits with the margin, or the result could not be written; 2 for\n"
    "wrong arguments, and if the command always fails for another reason than memory; 130 after\n"
    "Ctrl-C (143 after SIGTERM), "
    "with what is known by then.";

constexpr char kHowTimesAreMade[] =
    "Times are estimates, made of each operator's products and bytes, the rates of the card's data "
    "sheet and the shares of them that trainings reach: see vramstow help plan.md.";
constexpr char kUntoldKernels[] =
    " kernels of a step are known by their names alone (Triton's and those of torch.compile, for "
    "example, and all with values=off). The estimate counts their launches and leaves out what "
    "they "
    "compute, so that the times are too short.";
// Kernels without an operator are mentioned from this part of all on.
constexpr uint64_t kMaxUntold = 10;

// Where a rehearsal says what a card would have to do.
constexpr char kWorkLogOption[] = ",work-log=";
constexpr char kWorkLogName[] = "-work-%p.csv";

// By the card's own clock a rehearsal knows what moves and changes cost, unless it has another one.
std::string WithClock(const std::string& spec) {
  return absl::StrContains(spec, "clock=") ? spec : absl::StrCat(spec, ",clock=model");
}

constexpr size_t kMaxHints = 3;

constexpr int kExitNothingFits = 1;
constexpr char kBatch[] = "batch";
constexpr char kAccumulate[] = "accumulate";
constexpr char kBatchLadder[] = "1,2,4..1024";
// The one setting of a command without places.
constexpr char kOutside[] = "with";

// What can be changed from outside of a command.
struct RunVariant {
  const char* name;
  FlagValues flags;  // of vramstow run
  bool expandable = false;
};
const std::vector<RunVariant>& AllRunVariants() {
  static const auto* all = new std::vector<RunVariant>{
      {"nothing changed", {}},
      {"expandable segments", {}, true},
      {"the pool", {{"VRAMSTOW_POOL", "on"}}},
      {"the pool and offloading", {{"VRAMSTOW_POOL", "on"}, {"VRAMSTOW_OFFLOAD", "auto"}}},
  };
  return *all;
}

// What PyTorch's allocator is told, beside what it is told already.
std::string ExpandableWord() {
  const char* before = std::getenv("PYTORCH_CUDA_ALLOC_CONF");
  return absl::StrCat("PYTORCH_CUDA_ALLOC_CONF=", before == nullptr ? "" : before,
                      before == nullptr || *before == '\0' ? "" : ",", "expandable_segments:True");
}

struct PlanSettings {
  std::string cards;
  std::string tokens;
  double margin_percent = 5;
  std::map<std::string, std::string> values;  // by placeholder, as they were given
  std::string keep;
  bool json = false;
  std::vector<std::string> command;
};

std::string TextOfFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

int PlanIsWrong(const std::string& sentence) {
  Complain("plan", sentence);
  return kExitUsage;
}

// "4M" → 4,000,000.
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
        absl::StrCat("--tokens takes a number, 300B for example, and not '",
                     Printable(std::string(text)), "'."));
  }
  return count * unit;
}

class PlanRehearser {
 public:
  PlanRehearser(std::string folder, const PlanSettings& settings, std::vector<PlanCard> cards)
      : folder_(std::move(folder)), settings_(settings), cards_(std::move(cards)) {}

  const std::vector<PlanCard>& cards() const { return cards_; }

  absl::StatusOr<PlanTrial> Attempt(const std::string& card_text, const Choice& choice) {
    const auto card = std::ranges::find(cards_, card_text, &PlanCard::text);
    PlanTrial trial;
    trial.problem = WhyNotAmongRanks(choice, *card);
    trial.ran = trial.problem.empty();
    if (!trial.ran) return trial;
    const std::string what = WhatOf(card_text, choice);
    Progress::OfProcess().Begin(absl::StrCat("rehearsal ", ++runs_, ": ", what));
    const std::string run = absl::StrCat(folder_, "/", runs_);
    const auto estimate =
        EstimateOn(absl::StrCat(WithClock(card->spec), kWorkLogOption, run, kWorkLogName),
                   CommandOf(choice), run, FlagsOf(choice));
    if (absl::IsFailedPrecondition(estimate.status())) {
      trial.problem = absl::StrCat("It fails: ", estimate.status().message());
    } else if (!estimate.ok()) {
      return estimate.status();
    } else {
      trial.fits = estimate->fits;
      trial.total_bytes = estimate->total_bytes;
      if (estimate->spare_bytes.has_value()) {
        trial.peak_bytes =
            static_cast<uint64_t>(static_cast<int64_t>(trial.total_bytes) - *estimate->spare_bytes);
      }
      // Processes of one machine have a card each, or one has several.
      uint64_t& used = used_cards_[card_text];
      used = std::max({used, estimate->processes, estimate->devices});
      changes_[what] = ChangesOf(*estimate);
      const CardRates* rates = FindCardRates(card->key);
      const uint64_t processes = card->has_absent ? card->count : estimate->processes;
      if (rates != nullptr) trial.step = StepOf(*estimate, run, processes, *rates);
    }
    Complain("plan", absl::StrCat("rehearsal ", runs_, ": ", what, ": ", OutcomeOf(trial)));
    return trial;
  }

  // What to type for a choice.
  std::string TypedCommand(const Choice& choice) const {
    std::vector<std::string> words = Filled(settings_.command, choice);
    std::string before;
    if (const RunVariant* outside = RunVariantOf(choice)) {
      if (outside->expandable) before = ExpandableWord() + " ";
      if (!outside->flags.empty()) {
        before =
            absl::StrCat("vramstow run ", absl::StrJoin(TypedFlags(outside->flags), " "), " -- ");
      }
    }
    return before + absl::StrJoin(words, " ", [](std::string* text, const std::string& word) {
             absl::StrAppend(text, ShellWord(word));
           });
  }

  // What would let the next larger value fit onto the card of the best row, one sentence each; the
  // first row itself, which is tight or the smallest, where nothing fits.
  std::vector<std::string> Hints(const PlanSpace& space, PlanResult* result) {
    const auto axis = AxisOf(space.placeholders);
    if (!axis.has_value() || result->rows.empty()) return {};
    const PlanRow& first = result->rows.front();
    const PlanRow* next = first.fits ? NextLarger(*result, first, *axis) : &first;
    if (next == nullptr || next->failed) return {};
    std::optional<uint64_t> peak_bytes = next->peak_bytes;
    if (next->source != PlanRow::Source::kRehearsed) {
      const auto trial = Attempt(next->card, next->choice);
      result->rehearsals += trial.ok() ? 1 : 0;
      result->interrupted = absl::IsCancelled(trial.status());
      if (!trial.ok() || !trial->peak_bytes.has_value()) return {};
      peak_bytes = trial->peak_bytes;
    }
    std::vector<std::string> hints;
    const uint64_t usable = UsableBytes(next->total_bytes, space.margin);
    for (const AdviceFacts& change : changes_[WhatOf(next->card, next->choice)]) {
      if (!peak_bytes.has_value() || hints.size() == kMaxHints) break;
      const uint64_t lowered =
          *peak_bytes - std::min(*peak_bytes, change.replayed_bytes.value_or(0));
      if (!change.fits.has_value() && lowered > usable) continue;
      const std::string proof =
          change.fits.has_value()
              ? "In a replay of its rehearsal the request that failed is served then"
              : absl::StrCat("In a replay of its rehearsal the peak is then ", Bytes(lowered),
                             " in place of ", Bytes(*peak_bytes));
      hints.push_back(absl::StrCat(
          "With one change ", TextOf(next->choice),
          first.fits ? " may fit, too: " : " may fit: ", Printable(change.title), ". ", proof, ". ",
          Printable(change.action), " It costs: ", Printable(change.cost)));
    }
    return hints;
  }

  // What is to be known of the times, one sentence each.
  std::vector<std::string> Notes() const {
    std::vector<std::string> notes;
    if (timed_ > 0) notes.emplace_back(kHowTimesAreMade);
    if (timed_ == 0 && runs_ > 0) {
      notes.emplace_back(
          "No step of a training was recognised, so that there are no times: see vramstow help "
          "plan.md.");
    }
    if (untold_ > 0) {
      notes.push_back(absl::StrCat(Count(untold_), " of ", Count(launched_), kUntoldKernels));
    }
    for (const PlanCard& card : cards_) {
      const auto used = used_cards_.find(card.text);
      if (card.has_absent || used == used_cards_.end() || used->second >= card.count) continue;
      notes.push_back(absl::StrCat("The command uses ", used->second, " of the ", card.count,
                                   " cards of ", Printable(card.text),
                                   "; card hours count all of them."));
    }
    return notes;
  }

 private:
  static std::string WhatOf(const std::string& card, const Choice& choice) {
    return absl::StrCat(TextOf(choice), " on ", Printable(card));
  }

  // What would have served the request that failed, then what lowers the peak, as replays have
  // proved.
  static std::vector<AdviceFacts> ChangesOf(const CardEstimate& estimate) {
    std::vector<AdviceFacts> changes;
    for (const AdviceFacts& advice : estimate.advice_at_failure) {
      if (advice.proof.is_proved && advice.fits.value_or(false)) changes.push_back(advice);
    }
    for (const AdviceFacts& advice : estimate.facts.advice) {
      const bool is_known =
          std::ranges::find(changes, advice.id, &AdviceFacts::id) != changes.end();
      if (is_known || advice.replayed_bytes.value_or(0) == 0) continue;
      changes.push_back(advice);
      changes.back().fits.reset();
    }
    return changes;
  }

  // The median of the steps that the program made; the first is left out where there are others.
  std::optional<PlanStep> StepOf(const CardEstimate& estimate, const std::string& run,
                                 uint64_t processes, const CardRates& rates) {
    const auto process = estimate.facts.facts.find("process.pid");
    if (process == estimate.facts.facts.end()) return std::nullopt;
    const std::vector<WorkItem> items = ReadWorkLog(TextOfFile(
        absl::StrCat(run, absl::StrReplaceAll(kWorkLogName, {{"%p", process->second}}))));
    const uint64_t start = TraceStartUnixNs(estimate.facts.file);
    std::vector<StepTime> steps;
    for (const IterationFacts& iteration : estimate.facts.iterations.list) {
      steps.push_back(
          EstimateStep(Within(items, start + iteration.begin_ns, start + iteration.end_ns), rates));
    }
    if (steps.size() > 1) steps.erase(steps.begin());
    std::erase_if(steps, [](const StepTime& step) { return step.seconds <= 0; });
    if (steps.empty()) return std::nullopt;
    std::ranges::sort(steps, {}, &StepTime::seconds);
    const StepTime& step = steps[steps.size() / 2];
    const double moves = estimate.facts.offload.step_cost_seconds.value_or(0);
    ++timed_;
    if (step.untold > untold_ && step.untold * kMaxUntold > step.launched) {
      untold_ = step.untold;
      launched_ = step.launched;
    }
    return PlanStep{.seconds = step.seconds + moves,
                    .tokens = step.tokens * processes,
                    .parts = {{"products", step.products},
                              {"attention", step.attention},
                              {"memory", step.memory},
                              {"launches", step.launches},
                              {"collectives", step.collectives},
                              {"transfers", step.transfers},
                              {"program", step.program},
                              {"moves", moves}},
                    .launched = step.launched,
                    .untold = step.untold};
  }

  static const RunVariant* RunVariantOf(const Choice& choice) {
    if (choice.size() != 1 || choice.front().name != kOutside) return nullptr;
    const auto found = std::ranges::find(AllRunVariants(), choice.front().value, &RunVariant::name);
    return found == AllRunVariants().end() ? nullptr : &*found;
  }

  static FlagValues FlagsOf(const Choice& choice) {
    const RunVariant* outside = RunVariantOf(choice);
    return outside == nullptr ? FlagValues{} : outside->flags;
  }

  std::vector<std::string> CommandOf(const Choice& choice) const {
    std::vector<std::string> words = Filled(settings_.command, choice);
    const RunVariant* outside = RunVariantOf(choice);
    if (outside != nullptr && outside->expandable) {
      words.insert(words.begin(), {"env", ExpandableWord()});
    }
    return words;
  }

  std::string OutcomeOf(const PlanTrial& trial) const {
    if (!trial.problem.empty()) return "fails";
    const char* const outcome = trial.fits ? "fits" : "does not fit";
    if (!trial.peak_bytes.has_value()) return outcome;
    const uint64_t usable = UsableBytes(trial.total_bytes, settings_.margin_percent / 100);
    const bool is_tight = trial.fits && *trial.peak_bytes > usable;
    return absl::StrCat(
        is_tight ? absl::StrFormat("tight, less than %.0f%% stays free", settings_.margin_percent)
                 : outcome,
        ", ", Bytes(*trial.peak_bytes), " at the peak");
  }

  const std::string folder_;
  const PlanSettings& settings_;
  const std::vector<PlanCard> cards_;
  uint64_t runs_ = 0;
  std::map<std::string, std::vector<AdviceFacts>> changes_;  // proved, by choice
  std::map<std::string, uint64_t> used_cards_;
  uint64_t timed_ = 0;   // rehearsals whose step has a time
  uint64_t untold_ = 0;  // kernels that nobody told of, in the step that has most; 0: they are few
  uint64_t launched_ = 0;  // all operators and kernels of that step
};

absl::StatusOr<std::vector<PlanCard>> CardsOf(const PlanSettings& settings,
                                              const Installation& installation) {
  if (absl::Status status = CheckInstallation(installation, true); !status.ok()) return status;
  const auto listed = ListCards(installation.simulator_directory);
  if (!listed.ok()) return listed.status();
  std::vector<std::string> keys;
  for (const ListedCard& card : *listed) keys.push_back(card.key);
  std::vector<PlanCard> cards;
  for (const std::string& text : SplitCards(settings.cards)) {
    const auto card = ReadPlanCard(text, keys);
    if (!card.ok()) return card.status();
    const auto checked = CheckSimulator(installation.simulator_directory, card->spec);
    if (!checked.ok()) return checked.status();
    cards.push_back(*card);
  }
  return cards;
}

absl::StatusOr<std::vector<Placeholder>> PlacesOf(const PlanSettings& settings) {
  const std::vector<std::string> names = PlaceholdersOf(settings.command);
  for (const auto& [name, values] : settings.values) {
    if (values.empty() || std::ranges::find(names, name) != names.end()) continue;
    return absl::InvalidArgumentError(absl::StrCat("--", name,
                                                   " is given, but the command has no {", name,
                                                   "}: write it where the value goes."));
  }
  std::vector<Placeholder> places;
  for (const std::string& name : names) {
    std::string text = settings.values.at(name);
    if (text.empty() && name == kBatch) text = kBatchLadder;
    if (text.empty() && name == kAccumulate) text = "1";
    if (text.empty()) {
      return absl::InvalidArgumentError(absl::StrCat("the command has {", name,
                                                     "}: give its values with --", name,
                                                     ", as in --", name, " 1,2,4..32."));
    }
    auto values = ValuesOf(text);
    if (!values.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("--", name, ": ", values.status().message()));
    }
    places.push_back({name, *std::move(values)});
  }
  if (!places.empty()) return places;
  Placeholder outside{.name = kOutside, .values = {}};
  for (const RunVariant& one : AllRunVariants()) outside.values.emplace_back(one.name);
  return std::vector<Placeholder>{std::move(outside)};
}

// The first reason, where every choice fails for another reason than memory; else empty.
std::string ProblemOfAll(const PlanResult& result) {
  std::string problem;
  for (const PlanRow& row : result.rows) {
    if (row.fits || row.peak_bytes.has_value()) return "";
    if (row.failed && problem.empty()) {
      problem =
          absl::StrCat("with ", TextOf(row.choice), " on ", Printable(row.card), ": ", row.why_not);
    }
  }
  return problem;
}

int PlanAll(const PlanSettings& settings, const PlanSpace& space, std::optional<double> tokens,
            PlanRehearser* planner) {
  auto result = SearchPlan(space, [&](const std::string& card, const Choice& choice) {
    return planner->Attempt(card, choice);
  });
  if (!result.ok()) return PlanIsWrong(std::string(result.status().message()));
  if (result->interrupted && result->rehearsals == 0) {
    Complain("plan", "interrupted before anything was known.");
    return EndSignals::exit_status();
  }
  const std::string problem = ProblemOfAll(*result);
  if (!problem.empty() && !result->interrupted) return PlanIsWrong(problem);
  PlanReport report;
  report.result = &*result;
  report.cards = planner->cards();
  for (const Placeholder& placeholder : space.placeholders)
    report.names.push_back(placeholder.name);
  report.margin = space.margin;
  report.tokens = tokens;
  if (!result->interrupted) report.hints = planner->Hints(space, &*result);
  report.notes = planner->Notes();
  report.command = [&](const PlanRow& row) { return planner->TypedCommand(row.choice); };
  const int printed =
      PrintResult("plan", settings.json ? JsonOf(report).Dump() + "\n" : TextOf(report));
  if (printed != kExitOk) return printed;
  if (result->interrupted) return EndSignals::exit_status();
  return !result->rows.empty() && result->rows.front().fits ? kExitOk : kExitNothingFits;
}

// A flag for each placeholder; {batch} and {accumulate} have theirs always.
absl::Status AddPlaceholderFlags(PlanSettings* settings, const std::vector<std::string>& arguments,
                                 CommandLine* line) {
  settings->values = {{kBatch, ""}, {kAccumulate, ""}};
  const auto begin = std::ranges::find(arguments, "--");
  for (const std::string& name : PlaceholdersOf(std::vector<std::string>(begin, arguments.end()))) {
    for (const Option& option : line->options) {
      if (option.names != absl::StrCat("--", name)) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("{", name, "} has the name of a flag of vramstow plan: call it otherwise."));
    }
    settings->values.emplace(name, "");
  }
  std::vector<Option> flags;
  for (auto& [name, text] : settings->values) {
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
          "Finds the settings with which a command fits onto cards, and which of them are fastest, "
          "by\nrehearsing it with few of them.",
      .footer = kPlanFooter,
      .options = {
          {"--cards",
           &settings.cards,
           "The cards, separated by commas; h100x8 is eight of one",
           {.required = true, .takes_no_file = true}},
          {"--tokens",
           &settings.tokens,
           "The tokens of the whole job, as 300B, for its card hours",
           {.takes_no_file = true}},
          {"--margin",
           &settings.margin_percent,
           "The part of a card that has to stay free, in percent (5)",
           {.range = OptionRange{0, 90}}},
          {"--keep", &settings.keep, "A folder that keeps traces and output"},
          {"--json", &settings.json, "Print JSON on one line"},
          {"COMMAND", &settings.command, "The command to rehearse, after --", {.required = true}}}};
  if (absl::Status status = AddPlaceholderFlags(&settings, arguments, &line); !status.ok()) {
    return PlanIsWrong(std::string(status.message()));
  }
  if (const auto status = ReadArguments(line, arguments)) return *status;
  std::optional<double> tokens;
  if (!settings.tokens.empty()) {
    const auto read = ReadTokens(settings.tokens);
    if (!read.ok()) return PlanIsWrong(std::string(read.status().message()));
    tokens = *read;
  }
  const auto places = PlacesOf(settings);
  if (!places.ok()) return PlanIsWrong(std::string(places.status().message()));
  const auto installation = FindInstallation();
  if (!installation.ok()) return PlanIsWrong(std::string(installation.status().message()));
  auto cards = CardsOf(settings, *installation);
  if (!cards.ok()) return PlanIsWrong(std::string(cards.status().message()));
  if (const absl::Status status = CheckDegrees(*places, *cards); !status.ok()) {
    return PlanIsWrong(std::string(status.message()));
  }
  const RunFolder folder(settings.keep);
  if (!folder.ok()) return PlanIsWrong("cannot make a folder for the traces.");
  PlanSpace space{.cards = {}, .placeholders = *places, .margin = settings.margin_percent / 100};
  for (const PlanCard& card : *cards) space.cards.push_back(card.text);
  PlanRehearser planner(folder.path(), settings, *std::move(cards));
  return PlanAll(settings, space, tokens, &planner);
}

}  // namespace vramstow
