#include "tools/plan/cards.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tools/base/words.h"

namespace vramstow {
namespace {

constexpr char kCountOption[] = "count=";

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

absl::StatusOr<PlanCard> ReadPlanCard(const std::string& text,
                                      const std::vector<std::string>& keys) {
  const size_t comma = text.find(',');
  const std::string word = text.substr(0, comma);
  const std::string options = comma == std::string::npos ? "" : text.substr(comma);
  const auto is_known = [&](const std::string& key) {
    return std::ranges::find(keys, key) != keys.end();
  };
  PlanCard card{.text = text, .key = word, .spec = text};
  for (const absl::string_view option : absl::StrSplit(options, ',')) {
    if (absl::StartsWith(option, kCountOption) &&
        !absl::SimpleAtoi(option.substr(sizeof(kCountOption) - 1), &card.count)) {
      card.count = 0;
    }
  }
  if (is_known(word)) return card;
  const size_t times = word.rfind('x');
  if (times == std::string::npos || !is_known(word.substr(0, times))) {
    return absl::InvalidArgumentError(absl::StrCat("there is no card '", Printable(word),
                                                   "': write one of ", absl::StrJoin(keys, ", "),
                                                   ", and h100x8 for eight of one."));
  }
  card.key = word.substr(0, times);
  if (!absl::SimpleAtoi(word.substr(times + 1), &card.count) || card.count == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", Printable(word), "' has no number of cards behind the x: write h100x8 for eight."));
  }
  card.spec = absl::StrCat(card.key, ",", kCountOption, card.count, options);
  return card;
}

}  // namespace vramstow
