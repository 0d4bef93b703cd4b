#include "tools/plan/plan.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tools/base/words.h"
#include "tools/launch/card_list.h"
#include "tools/launch/driver.h"
#include "tools/launch/installation.h"
#include "tools/plan/plan_rehearser.h"
#include "tools/plan/search.h"

namespace vramstow {
namespace {

constexpr char kBatchLadder[] = "1,2,4..1024";

absl::StatusOr<std::vector<PlanCard>> CardsOf(const std::string& names,
                                              const Installation& installation) {
  if (absl::Status status = CheckInstallation(installation, true); !status.ok()) return status;
  const auto listed = ListCards(installation.simulator_directory);
  if (!listed.ok()) return listed.status();
  std::vector<std::string> keys;
  for (const ListedCard& card : *listed) keys.push_back(card.key);
  std::vector<PlanCard> cards;
  for (const std::string& text : SplitCards(names)) {
    const auto card = ReadPlanCard(text, keys);
    if (!card.ok()) return card.status();
    const auto checked = CheckSimulator(installation.simulator_directory, card->spec);
    if (!checked.ok()) return checked.status();
    cards.push_back(*card);
  }
  return cards;
}

absl::StatusOr<std::vector<Placeholder>> PlacesOf(const PlanRequest& request) {
  const std::vector<std::string> names = PlaceholdersOf(request.command);
  for (const auto& [name, values] : request.values) {
    if (values.empty() || std::ranges::find(names, name) != names.end()) continue;
    return absl::InvalidArgumentError(absl::StrCat("--", name,
                                                   " is given, but the command has no {", name,
                                                   "}: write it where the value goes."));
  }
  std::vector<Placeholder> places;
  for (const std::string& name : names) {
    const auto given = request.values.find(name);
    std::string text = given == request.values.end() ? "" : given->second;
    if (text.empty() && name == kBatch) text = kBatchLadder;
    if (text.empty() && name == kAccumulate) text = "1";
    if (text.empty()) {
      return absl::InvalidArgumentError(absl::StrCat("the command has {", name,
                                                     "}: list its values with --", name,
                                                     ", as in --", name, " 1,2,4..32."));
    }
    auto values = ValuesOf(text);
    if (!values.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("--", name, ": ", values.status().message()));
    }
    places.push_back({name, *std::move(values)});
  }
  if (!places.empty()) return places;
  return std::vector<Placeholder>{RunVariants()};
}

// Returns the reason of the first failure if every choice fails for another reason than memory.
// Otherwise returns an empty text.
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

// Says that rows could not be compared by tokens, if times are known. Layouts of several GPUs that
// process different numbers of samples at once are then in a wrong order.
std::string WithoutTokens(const PlanReport& report) {
  const bool any_tokens = std::ranges::any_of(report.result.rows, [](const PlanRow& row) {
    return row.step.has_value() && row.step->tokens > 0;
  });
  const bool any_steps = std::ranges::any_of(
      report.result.rows, [](const PlanRow& row) { return row.step.has_value(); });
  if (any_tokens || !any_steps) return "";
  return absl::StrCat(
      "No tokens were counted, because the job has neither an embedding nor a loss over classes. "
      "Rows "
      "are compared by the samples of one process ({batch} times {accumulate}), also if settings "
      "change how many processes have samples of their own.",
      report.tokens.has_value() ? " --tokens has no effect." : "");
}

}  // namespace

absl::StatusOr<PlanTask> CheckPlan(const PlanRequest& request) {
  PlanTask task;
  auto places = PlacesOf(request);
  if (!places.ok()) return places.status();
  task.placeholders = *std::move(places);
  const auto installation = FindInstallation();
  if (!installation.ok()) return installation.status();
  auto cards = CardsOf(request.cards, *installation);
  if (!cards.ok()) return cards.status();
  task.cards = *std::move(cards);
  if (absl::Status status = CheckDegrees(task.placeholders, task.cards); !status.ok()) {
    return status;
  }
  return task;
}

absl::StatusOr<PlanReport> MakePlan(const PlanRequest& request, const PlanTask& task,
                                    const std::string& folder, const PlanNote& note) {
  PlanSpace space{.cards = {}, .placeholders = task.placeholders, .margin = request.margin};
  for (const PlanCard& card : task.cards) space.cards.push_back(card.text);
  PlanRehearser rehearser(folder, request.command, task.cards, request.margin, note);
  auto result = SearchPlan(space, [&](const std::string& card, const Choice& choice) {
    return rehearser.Attempt(card, choice);
  });
  if (!result.ok()) return result.status();
  if (result->interrupted && result->rehearsals == 0) {
    return absl::CancelledError("interrupted before there was a result.");
  }
  const std::string problem = ProblemOfAll(*result);
  if (!problem.empty() && !result->interrupted) return absl::FailedPreconditionError(problem);
  PlanReport report{.result = *std::move(result),
                    .cards = task.cards,
                    .names = {},
                    .margin = request.margin,
                    .tokens = request.tokens,
                    .hints = {},
                    .notes = {},
                    .command = request.command};
  for (const Placeholder& one : task.placeholders) report.names.push_back(one.name);
  if (!report.result.interrupted) report.hints = rehearser.Hints(space, report.result);
  report.notes = rehearser.Notes();
  const std::string without_tokens = WithoutTokens(report);
  if (!without_tokens.empty()) report.notes.push_back(without_tokens);
  return report;
}

}  // namespace vramstow
