#include "tools/plan/cards.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "tools/base/words.h"
#include "tools/launch/card_list.h"
#include "tools/launch/driver.h"
#include "tools/launch/installation.h"

namespace vramstow {
namespace {

constexpr char kCountOption[] = "count=";
constexpr char kWorldOption[] = "world=";
constexpr char kHelp[] = "help";  // asks the simulator for its list of GPUs

void ReadCount(absl::string_view number, PlanCard* card) {
  if (!absl::SimpleAtoi(number, &card->count)) card->count = 0;
}

// Reads the options of a card. The number of GPUs is the world size, wherever that option stands,
// and otherwise the count: each rank of a job has a GPU of its own.
void ReadOptions(absl::string_view options, PlanCard* card) {
  for (absl::string_view option : absl::StrSplit(options, ',')) {
    const bool is_world = absl::ConsumePrefix(&option, kWorldOption);
    if (is_world || (!card->has_absent && absl::ConsumePrefix(&option, kCountOption))) {
      ReadCount(option, card);
    }
    card->has_absent = card->has_absent || is_world;
  }
}

}  // namespace

std::vector<std::string> SplitCards(const std::string& cards) {
  std::vector<std::string> split;
  for (const absl::string_view part : absl::StrSplit(cards, ',')) {
    if (!split.empty() && absl::StrContains(part, '=')) {
      absl::StrAppend(&split.back(), ",", part);
    } else {
      split.emplace_back(part);
    }
  }
  return split;
}

absl::Status CheckCards(const std::vector<std::string>& cards) {
  const auto installation = FindInstallation();
  if (!installation.ok()) return installation.status();
  if (absl::Status status = CheckInstallation(*installation, true); !status.ok()) return status;
  for (const std::string& card : cards) {
    if (card.empty() || card.front() == ',') {
      return absl::InvalidArgumentError(
          "the list of GPUs has an empty part: write a name between two commas.");
    }
    if (card == kHelp) {
      return absl::InvalidArgumentError(
          "'help' is no GPU: vramstow run --simulate=help lists them.");
    }
    std::string why;
    const auto spec = ResolveMatch(card, installation->simulator_directory, &why);
    if (!spec.ok()) return spec.status();
    const auto checked = CheckSimulator(installation->simulator_directory, *spec);
    if (!checked.ok()) return checked.status();
  }
  return absl::OkStatus();
}

absl::StatusOr<PlanCard> ReadPlanCard(const std::string& text,
                                      const std::vector<std::string>& keys) {
  const size_t comma = text.find(',');
  const std::string word = text.substr(0, comma);
  const std::string options = comma == std::string::npos ? "" : text.substr(comma);
  const auto is_known = [&](const std::string& key) {
    return std::ranges::find(keys, key) != keys.end();
  };
  PlanCard card{.text = text, .key = word, .spec = text};
  ReadOptions(options, &card);
  if (is_known(word)) return card;
  const size_t times = word.rfind('x');
  if (times == std::string::npos || !is_known(word.substr(0, times))) {
    return absl::InvalidArgumentError(absl::StrCat("there is no card '", Printable(word),
                                                   "': write one of ", absl::StrJoin(keys, ", "),
                                                   ", and h100x8 for a machine with eight."));
  }
  card.key = word.substr(0, times);
  uint64_t count = 0;
  if (!absl::SimpleAtoi(word.substr(times + 1), &count) || count == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", Printable(word), "' has no number of GPUs after the x: write h100x8 for eight."));
  }
  card.spec = absl::StrCat(card.key, ",", kCountOption, count, options);
  if (!card.has_absent) card.count = count;
  return card;
}

std::string WhyNotAmongRanks(const Choice& choice, const PlanCard& card) {
  if (card.count <= 1) return "";
  for (const Setting& setting : choice) {
    uint64_t degree = 0;
    if (!IsDegree(setting.name) || !absl::SimpleAtoi(setting.value, &degree) ||
        (degree > 0 && card.count % degree == 0)) {
      continue;
    }
    return absl::StrCat("{", setting.name, "} = ", setting.value, " does not divide the ",
                        card.count, " ranks of ", Printable(card.text), ".");
  }
  return "";
}

absl::Status CheckDegrees(const std::vector<Placeholder>& places,
                          const std::vector<PlanCard>& cards) {
  for (const Placeholder& place : places) {
    for (const std::string& value : place.values) {
      std::string why;
      for (const PlanCard& card : cards) {
        why = WhyNotAmongRanks({{place.name, value}}, card);
        if (why.empty()) break;
      }
      if (!why.empty()) return absl::InvalidArgumentError(why);
    }
  }
  return absl::OkStatus();
}

}  // namespace vramstow
