#include "tools/plan/plan_rehearser.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "tools/base/progress.h"
#include "tools/base/words.h"
#include "tools/inputs/trace_start.h"
#include "tools/plan/step_time.h"

namespace vramstow {
namespace {

constexpr char kHowTimesAreMade[] =
    "Times are estimates. They are computed from each operator's products and bytes, the rates in "
    "the GPU's data sheet and the shares of these rates that trainings reach: see vramstow help "
    "plan.md.";
constexpr char kUnknownKernels[] =
    " kernels of a step are known only by their names (for example Triton's and those of "
    "torch.compile, and all with values=off). The estimate counts their launches but not their "
    "computation, so the times are too short.";
// Kernels that belong to no operator are mentioned if they are at least 1/10 of all kernels.
constexpr uint64_t kMaxUnknown = 10;

// The option by which a simulated run logs the work that the card would do.
constexpr char kWorkLogOption[] = ",work-log=";
constexpr char kWorkLogName[] = "-work-%p.csv";

// Adds the option `clock=model` to the SPEC, unless the SPEC names a clock. With this option the
// clock of the simulated GPU shows the time that the work would take on the real GPU. The simulated
// run measures the cost of moves and changes with this clock.
std::string WithClock(const std::string& spec) {
  return absl::StrContains(spec, "clock=") ? spec : absl::StrCat(spec, ",clock=model");
}

constexpr size_t kMaxHints = 3;

// The name of the placeholder that is used for a command without placeholders.
constexpr char kOutside[] = "with";

// A setting that can be changed without changing the command.
struct RunVariant {
  const char* name;
  FlagValues flags;  // flags of vramstow run
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

// All releases of PyTorch read this variable. Newer ones also read kNewConf, if this one is unset.
constexpr char kConf[] = "PYTORCH_CUDA_ALLOC_CONF";
constexpr char kNewConf[] = "PYTORCH_ALLOC_CONF";

// Returns the settings of PyTorch's allocator, with expandable segments added to the existing ones.
std::string ExpandableSettings() {
  const char* before = std::getenv(kConf);
  if (before == nullptr) before = std::getenv(kNewConf);
  return absl::StrCat(before == nullptr ? "" : before,
                      before == nullptr || *before == '\0' ? "" : ",", "expandable_segments:True");
}

std::string TextOfFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

const RunVariant* RunVariantOf(const Choice& choice) {
  if (choice.size() != 1 || choice.front().name != kOutside) return nullptr;
  const auto found = std::ranges::find(AllRunVariants(), choice.front().value, &RunVariant::name);
  return found == AllRunVariants().end() ? nullptr : &*found;
}

FlagValues FlagsOf(const Choice& choice) {
  const RunVariant* outside = RunVariantOf(choice);
  return outside == nullptr ? FlagValues{} : outside->flags;
}

std::vector<std::string> CommandOf(const std::vector<std::string>& command, const Choice& choice) {
  std::vector<std::string> words = Filled(command, choice);
  const RunVariant* outside = RunVariantOf(choice);
  if (outside != nullptr && outside->expandable) {
    words.insert(words.begin(), {"env", absl::StrCat(kConf, "=", ExpandableSettings())});
  }
  return words;
}

std::string OutcomeOf(const PlanTrial& trial, double margin) {
  if (!trial.problem.empty()) return "fails";
  if (trial.went_on > 0) {
    return absl::StrCat("ran out of memory ", Counted(trial.went_on, "time"), ", and continued");
  }
  const char* const outcome = trial.fits ? "fits" : "does not fit";
  if (!trial.peak_bytes.has_value()) return outcome;
  const uint64_t usable = UsableBytes(trial.total_bytes, margin);
  const bool is_tight = trial.fits && !trial.moves && *trial.peak_bytes > usable;
  return absl::StrCat(
      is_tight ? absl::StrCat("tight, less than ", MarginText(margin), " stays free") : outcome,
      ", ", Bytes(*trial.peak_bytes), " at the peak");
}

std::string WhatOf(const std::string& card, const Choice& choice) {
  return absl::StrCat(TextOf(choice), " on ", Printable(card));
}

// Returns the changes that would have served the failed request, followed by the changes that lower
// the peak. Replays have proved both.
std::vector<AdviceFacts> ChangesOf(const CardEstimate& estimate) {
  std::vector<AdviceFacts> changes;
  for (const AdviceFacts& advice : estimate.advice_at_failure) {
    if (advice.proof.is_proved && advice.fits.value_or(false)) changes.push_back(advice);
  }
  for (const AdviceFacts& advice : estimate.facts.advice) {
    const bool is_known = std::ranges::find(changes, advice.id, &AdviceFacts::id) != changes.end();
    if (is_known || advice.replayed_bytes.value_or(0) == 0) continue;
    changes.push_back(advice);
    changes.back().fits.reset();
  }
  return changes;
}

}  // namespace

Placeholder RunVariants() {
  Placeholder outside{.name = kOutside, .values = {}};
  for (const RunVariant& one : AllRunVariants()) outside.values.emplace_back(one.name);
  return outside;
}

std::string MarginText(double margin) { return absl::StrFormat("%g%%", 100 * margin); }

std::string TypedCommand(const std::vector<std::string>& command, const Choice& choice) {
  std::vector<std::string> words = Filled(command, choice);
  std::string before;
  if (const RunVariant* outside = RunVariantOf(choice)) {
    if (outside->expandable)
      before = absl::StrCat(kConf, "=", ShellWord(ExpandableSettings()), " ");
    if (!outside->flags.empty()) {
      before =
          absl::StrCat("vramstow run ", absl::StrJoin(TypedFlags(outside->flags), " "), " -- ");
    }
  }
  return before + absl::StrJoin(words, " ", [](std::string* text, const std::string& word) {
           absl::StrAppend(text, ShellWord(word));
         });
}

absl::StatusOr<PlanTrial> PlanRehearser::Attempt(const std::string& card_text,
                                                 const Choice& choice) {
  const auto card = std::ranges::find(cards_, card_text, &PlanCard::text);
  PlanTrial trial;
  trial.problem = WhyNotAmongRanks(choice, *card);
  trial.ran = trial.problem.empty();
  if (!trial.ran) return trial;
  const std::string what = WhatOf(card_text, choice);
  Progress::OfProcess().Begin(absl::StrCat("simulated run ", ++runs_, ": ", what));
  const std::string run = absl::StrCat(folder_, "/", runs_);
  const std::string spec = absl::StrCat(WithClock(card->spec), kWorkLogOption, run, kWorkLogName);
  const auto estimate = EstimateOn(spec, CommandOf(command_, choice), run, FlagsOf(choice));
  // The message names the card as the user did, without options for the clock and the work.
  const std::string message =
      absl::StrReplaceAll(estimate.status().message(), {{Printable(spec), Printable(card_text)}});
  if (absl::IsFailedPrecondition(estimate.status())) {
    trial.problem = absl::StrCat("It fails: ", message);
  } else if (absl::IsDataLoss(estimate.status())) {
    trial.problem = absl::StrCat("It gave no result: ", message);
  } else if (!estimate.ok()) {
    return estimate.status();
  } else {
    trial.fits = estimate->fits;
    if (estimate->continued) trial.went_on = estimate->out_of_memory;
    trial.total_bytes = estimate->total_bytes;
    trial.moves = estimate->facts.offload.carries_job;
    if (estimate->spare_bytes.has_value()) {
      trial.peak_bytes =
          static_cast<uint64_t>(static_cast<int64_t>(trial.total_bytes) - *estimate->spare_bytes);
    }
    uint64_t& used = used_cards_[card_text];
    used = std::max(used, estimate->cards);
    any_shared_ = any_shared_ || estimate->sharing > 1;
    changes_[what] = ChangesOf(*estimate);
    const CardRates* rates = FindCardRates(card->key);
    const uint64_t processes = card->has_absent ? card->count : estimate->processes;
    if (rates != nullptr) trial.step = StepOf(*estimate, run, processes, *rates);
  }
  note_(absl::StrCat(
      "simulated run ", runs_, ": ", what, ": ",
      absl::IsDataLoss(estimate.status()) ? "gave no result" : OutcomeOf(trial, margin_)));
  return trial;
}

std::vector<std::string> PlanRehearser::Hints(const PlanSpace& space,
                                              const PlanResult& result) const {
  const auto axis = AxisOf(space.placeholders);
  if (!axis.has_value() || result.rows.empty()) return {};
  const PlanRow& first = result.rows.front();
  const auto was_run = [](const PlanRow& row) {
    return row.source == PlanRow::Source::kRehearsed && !row.failed;
  };
  const PlanRow* next = nullptr;
  if (first.fits) {
    next = NextThatDoesNotFit(result, first, *axis);
  } else if (const auto row = std::ranges::find_if(result.rows, was_run);
             row != result.rows.end()) {
    next = &*row;
  }
  if (next == nullptr || !was_run(*next) || !next->peak_bytes.has_value()) return {};
  const auto changes = changes_.find(WhatOf(next->card, next->choice));
  if (changes == changes_.end()) return {};
  const uint64_t peak_bytes = *next->peak_bytes;
  std::vector<std::string> hints;
  const uint64_t usable = UsableBytes(next->total_bytes, space.margin);
  for (const AdviceFacts& change : changes->second) {
    if (hints.size() == kMaxHints) break;
    const uint64_t lowered = peak_bytes - std::min(peak_bytes, change.replayed_bytes.value_or(0));
    if (!change.fits.has_value() && lowered > usable) continue;
    const std::string proof =
        change.fits.has_value()
            ? "In a replay of the simulated run the request that failed then succeeds"
            : absl::StrCat("In a replay of the simulated run the peak is then ", Bytes(lowered),
                           " in place of ", Bytes(peak_bytes));
    hints.push_back(
        absl::StrCat("With one change ", TextOf(next->choice),
                     first.fits ? " may fit, too: " : " may fit: ", Printable(change.title), ". ",
                     proof, ". ", Printable(change.action), " It costs: ", Printable(change.cost)));
  }
  return hints;
}

std::vector<std::string> PlanRehearser::Notes() const {
  std::vector<std::string> notes;
  if (timed_ > 0) notes.emplace_back(kHowTimesAreMade);
  if (timed_ == 0 && runs_ > 0) {
    notes.emplace_back(
        "No training step was recognised, so there are no times: see vramstow help plan.md.");
  }
  if (unknown_kernels_ > 0) {
    notes.push_back(
        absl::StrCat(Count(unknown_kernels_), " of ", Count(launched_), kUnknownKernels));
  }
  if (any_shared_) notes.emplace_back(kSumOfProcesses);
  for (const PlanCard& card : cards_) {
    const auto used = used_cards_.find(card.text);
    if (card.has_absent || used == used_cards_.end() || used->second >= card.count) continue;
    notes.push_back(absl::StrCat("The command uses ", used->second, " of the ", card.count,
                                 " cards of ", Printable(card.text),
                                 "; GPU hours count all of them."));
  }
  return notes;
}

// Returns the median of the times of the program's steps. The first step is ignored if there are
// others.
std::optional<PlanStep> PlanRehearser::StepOf(const CardEstimate& estimate, const std::string& run,
                                              uint64_t processes, const CardRates& rates) {
  const auto process = estimate.facts.trace_metadata.find("process.pid");
  if (process == estimate.facts.trace_metadata.end()) return std::nullopt;
  const std::vector<WorkItem> items = ReadWorkLog(
      TextOfFile(absl::StrCat(run, absl::StrReplaceAll(kWorkLogName, {{"%p", process->second}}))));
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
  if (step.unknown_kernels > unknown_kernels_ &&
      step.unknown_kernels * kMaxUnknown > step.launched) {
    unknown_kernels_ = step.unknown_kernels;
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
                  .unknown_kernels = step.unknown_kernels};
}

}  // namespace vramstow
