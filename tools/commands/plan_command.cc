// vramstow plan: which settings of a command fit onto which cards, and which of them are fastest,
// by rehearsal.
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tools/base/progress.h"
#include "tools/base/words.h"
#include "tools/commands/command.h"
#include "tools/commands/command_line.h"
#include "tools/commands/fit_once.h"
#include "tools/commands/plan_text.h"
#include "tools/commands/run_folder.h"
#include "tools/json/json_value.h"
#include "tools/launch/card_list.h"
#include "tools/launch/driver.h"
#include "tools/launch/installation.h"
#include "tools/plan/cards.h"
#include "tools/plan/choices.h"
#include "tools/plan/search.h"
#include "tools/terminal/output.h"

namespace vramstow {
namespace {

constexpr char kPlanFooter[] =
    "The command has places for values, each a name in braces; a flag of that name gives the "
    "values:\n"
    "--batch 1,2,4,8..64 those of {batch}. Without the flag, {batch} is 1, 2, 4, ... 1024 and\n"
    "{accumulate} is 1. A command without places is tried as it is and with what can be changed "
    "from\n"
    "outside: PyTorch's expandable segments, vramstow's pool, and offloading.\n"
    "\n"
    "Examples:\n"
    "  vramstow plan --cards h100,a100 -- python train.py --batch {batch}\n"
    "  vramstow plan --cards h100x8,h200x4 --tokens 4M --batch 1,2,4..32 --checkpoint none,full "
    "\\\n"
    "      -- torchrun --nproc-per-node 8 train.py --batch {batch} --checkpoint {checkpoint}\n"
    "  vramstow plan --cards l4,rtx4090 -- python train.py\n"
    "\n"
    "Exit status: 0; 1 if nothing fits, or the result could not be written; 2 for wrong "
    "arguments,\n"
    "and if the command always fails for another reason than memory; 130 after Ctrl-C, with what "
    "is\n"
    "known by then.";

constexpr int kExitNothingFits = 1;
constexpr int kExitInterrupted = 128 + SIGINT;
constexpr char kBatch[] = "batch";
constexpr char kAccumulate[] = "accumulate";
constexpr char kBatchLadder[] = "1,2,4..1024";
// The one setting of a command without places.
constexpr char kOutside[] = "with";

// What can be changed from outside of a command.
struct Outside {
  const char* name;
  std::vector<std::string> flags;  // of vramstow run
  bool expandable = false;
};
const std::vector<Outside>& AllOutside() {
  static const auto* all = new std::vector<Outside>{
      {"nothing changed", {}},
      {"expandable segments", {}, true},
      {"the pool", {"--pool=on"}},
      {"the pool and offloading", {"--pool=on", "--offload=auto"}},
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
  PlanRehearser(std::string program, std::string folder, const PlanSettings& settings,
                std::vector<PlanCard> cards)
      : program_(std::move(program)),
        folder_(std::move(folder)),
        settings_(settings),
        cards_(std::move(cards)) {}

  const std::vector<PlanCard>& cards() const { return cards_; }

  absl::StatusOr<PlanTrial> Attempt(const std::string& card_text, const Choice& choice) {
    const auto card = std::ranges::find(cards_, card_text, &PlanCard::text);
    const std::string what = absl::StrCat(TextOf(choice), " on ", Printable(card_text));
    Progress::OfProcess().Begin(absl::StrCat("rehearsal ", ++runs_, ": ", what));
    const auto estimate = EstimateOn(card->spec, program_, CommandOf(choice),
                                     absl::StrCat(folder_, "/", runs_), FlagsOf(choice));
    PlanTrial trial;
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
    }
    Complain("plan", absl::StrCat("rehearsal ", runs_, ": ", what, ": ", OutcomeOf(trial)));
    return trial;
  }

  // What to type for a choice.
  std::string TypedCommand(const Choice& choice) const {
    std::vector<std::string> words = Filled(settings_.command, choice);
    std::string before;
    if (const Outside* outside = OutsideOf(choice)) {
      if (outside->expandable) before = ExpandableWord() + " ";
      if (!outside->flags.empty()) {
        before = absl::StrCat("vramstow run ", absl::StrJoin(outside->flags, " "), " -- ");
      }
    }
    return before + absl::StrJoin(words, " ", [](std::string* text, const std::string& word) {
             absl::StrAppend(text, ShellWord(word));
           });
  }

 private:
  static const Outside* OutsideOf(const Choice& choice) {
    if (choice.size() != 1 || choice.front().name != kOutside) return nullptr;
    const auto found = std::ranges::find(AllOutside(), choice.front().value, &Outside::name);
    return found == AllOutside().end() ? nullptr : &*found;
  }

  static std::vector<std::string> FlagsOf(const Choice& choice) {
    const Outside* outside = OutsideOf(choice);
    return outside == nullptr ? std::vector<std::string>{} : outside->flags;
  }

  std::vector<std::string> CommandOf(const Choice& choice) const {
    std::vector<std::string> words = Filled(settings_.command, choice);
    const Outside* outside = OutsideOf(choice);
    if (outside != nullptr && outside->expandable) {
      words.insert(words.begin(), {"env", ExpandableWord()});
    }
    return words;
  }

  static std::string OutcomeOf(const PlanTrial& trial) {
    if (!trial.problem.empty()) return "fails";
    const std::string peak = trial.peak_bytes.has_value()
                                 ? absl::StrCat(", ", Bytes(*trial.peak_bytes), " at the peak")
                                 : "";
    return absl::StrCat(trial.fits ? "fits" : "does not fit", peak);
  }

  const std::string program_;
  const std::string folder_;
  const PlanSettings& settings_;
  const std::vector<PlanCard> cards_;
  uint64_t runs_ = 0;
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
  for (const Outside& one : AllOutside()) outside.values.emplace_back(one.name);
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
  const auto result = SearchPlan(space, [&](const std::string& card, const Choice& choice) {
    return planner->Attempt(card, choice);
  });
  if (!result.ok()) return PlanIsWrong(std::string(result.status().message()));
  if (result->interrupted && result->rehearsals == 0) {
    Complain("plan", "interrupted before anything was known.");
    return kExitInterrupted;
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
  report.command = [&](const PlanRow& row) { return planner->TypedCommand(row.choice); };
  const int printed =
      PrintResult("plan", settings.json ? JsonOf(report).Dump() + "\n" : TextOf(report));
  if (printed != kExitOk) return printed;
  if (result->interrupted) return kExitInterrupted;
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
  const RunFolder folder(settings.keep);
  if (!folder.ok()) return PlanIsWrong("cannot make a folder for the traces.");
  PlanSpace space{.cards = {}, .placeholders = *places, .margin = settings.margin_percent / 100};
  for (const PlanCard& card : *cards) space.cards.push_back(card.text);
  PlanRehearser planner(installation->program, folder.path(), settings, *std::move(cards));
  return PlanAll(settings, space, tokens, &planner);
}

}  // namespace vramstow
