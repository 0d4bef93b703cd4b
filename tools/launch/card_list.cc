#include "tools/launch/card_list.h"

#include <algorithm>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/units.h"
#include "tools/base/words.h"
#include "tools/launch/driver.h"

namespace vramstow {
namespace {

constexpr uint32_t kLargeWorkspaceCapability = 90;  // with a larger workspace of cuBLAS

// The least memory that a context and the driver use on a card.
constexpr uint64_t kContext = 400 * kMiB;

// The cards on which public snapshots were most likely made.
constexpr absl::string_view kUsualCards[] = {"a100", "h100", "b200", "l40s", "rtx4090", "rtx3090"};

// "79.2 GiB".
std::optional<uint64_t> BytesOf(absl::string_view text) {
  const size_t space = text.find(' ');
  if (space == absl::string_view::npos) return std::nullopt;
  double number = 0;
  if (!absl::SimpleAtod(text.substr(0, space), &number)) return std::nullopt;
  const absl::string_view unit = text.substr(space + 1);
  const uint64_t scale = unit == "GiB" ? kGiB : unit == "MiB" ? kMiB : unit == "TiB" ? kTiB : 0;
  if (scale == 0) return std::nullopt;
  return static_cast<uint64_t>(number * static_cast<double>(scale));
}

// Parses a line like "  h100  NVIDIA H100 80GB HBM3, 79.2 GiB, compute capability 9.0, 132
// multiprocessors".
std::optional<ListedCard> ReadCard(absl::string_view line) {
  if (!absl::ConsumePrefix(&line, "  ")) return std::nullopt;
  const size_t space = line.find(' ');
  if (space == absl::string_view::npos || space == 0) return std::nullopt;
  ListedCard card;
  card.key = std::string(line.substr(0, space));
  const std::vector<absl::string_view> parts =
      absl::StrSplit(absl::StripAsciiWhitespace(line.substr(space)), ", ");
  if (parts.size() != 4) return std::nullopt;
  card.name = std::string(parts[0]);
  const std::optional<uint64_t> memory = BytesOf(parts[1]);
  absl::string_view capability = parts[2];
  absl::string_view multiprocessors = parts[3];
  double version = 0;
  if (!memory.has_value() || !absl::ConsumePrefix(&capability, "compute capability ") ||
      !absl::SimpleAtod(capability, &version) ||
      !absl::ConsumeSuffix(&multiprocessors, " multiprocessors") ||
      !absl::SimpleAtoi(multiprocessors, &card.multiprocessors)) {
    return std::nullopt;
  }
  card.memory_bytes = *memory;
  card.capability = static_cast<uint32_t>(version * 10 + 0.5);
  return card;
}

// Returns the least memory that the card of a snapshot can have. The card may have more, because
// other processes may have held a part of it.
uint64_t LeastMemory(const CardEvidence& evidence) {
  const uint64_t held_or_free =
      evidence.held_then_bytes > 0 ? evidence.held_then_bytes + evidence.free_bytes + kContext : 0;
  return std::max(held_or_free, evidence.held_bytes + kContext);
}

bool Agrees(const ListedCard& card, const CardEvidence& evidence) {
  if (card.memory_bytes < LeastMemory(evidence)) return false;
  const bool is_large = card.capability == kLargeWorkspaceCapability;
  if (evidence.has_large_workspace) return is_large;
  return !evidence.has_workspace || !is_large;
}

}  // namespace

std::vector<ListedCard> ReadCardList(absl::string_view help) {
  std::vector<ListedCard> cards;
  for (const absl::string_view line : absl::StrSplit(help, '\n')) {
    std::optional<ListedCard> card = ReadCard(line);
    if (card.has_value()) cards.push_back(*std::move(card));
  }
  return cards;
}

absl::StatusOr<std::vector<ListedCard>> ListCards(const std::string& simulator_directory) {
  const auto help = CheckSimulator(simulator_directory, "help");
  if (!help.ok()) return help.status();
  return ReadCardList(*help);
}

uint64_t MultiprocessorsOf(const std::vector<ListedCard>& cards, const std::string& spec) {
  uint64_t number = 0;
  const std::vector<absl::string_view> parts = absl::StrSplit(spec, ',');
  for (const ListedCard& card : cards) {
    if (card.key == parts[0]) number = card.multiprocessors;
  }
  for (absl::string_view part : parts) {
    uint64_t own = 0;
    if (absl::ConsumePrefix(&part, "sms=") && absl::SimpleAtoi(part, &own)) number = own;
  }
  return number;
}

std::vector<uint64_t> PossibleMultiprocessors(const std::vector<ListedCard>& cards,
                                              const CardEvidence& evidence) {
  const auto rank = [](const ListedCard* card) {
    return std::ranges::find(kUsualCards, card->key) - std::begin(kUsualCards);
  };
  std::vector<const ListedCard*> agreeing;
  for (const ListedCard& card : cards) {
    if (Agrees(card, evidence)) agreeing.push_back(&card);
  }
  std::ranges::stable_sort(agreeing, {}, rank);
  std::vector<uint64_t> numbers;
  for (const ListedCard* card : agreeing) {
    if (std::ranges::find(numbers, card->multiprocessors) == numbers.end()) {
      numbers.push_back(card->multiprocessors);
    }
  }
  return numbers;
}

absl::StatusOr<MatchedCard> MatchCard(const CardEvidence& evidence,
                                      const std::vector<ListedCard>& cards) {
  const uint64_t least = LeastMemory(evidence);
  const ListedCard* best = nullptr;
  for (const ListedCard& card : cards) {
    if (!Agrees(card, evidence)) continue;
    if (best == nullptr || card.memory_bytes < best->memory_bytes) best = &card;
  }
  if (best == nullptr) {
    return absl::NotFoundError(
        absl::StrCat("no simulated GPU agrees with the snapshot, which contains ",
                     Bytes(evidence.held_bytes), ": name one with --simulate=CARD,memory=SIZE."));
  }
  std::string why =
      absl::StrCat("the card is ", best->key, ": the smallest with at least ", Bytes(least));
  if (evidence.has_large_workspace) {
    absl::StrAppend(&why, " and compute capability 9.0, according to cuBLAS's workspace");
  } else if (evidence.has_workspace) {
    absl::StrAppend(&why, " and not compute capability 9.0, according to cuBLAS's workspace");
  } else {
    absl::StrAppend(&why, "; its generation is unknown");
  }
  return MatchedCard{best->key, why + "."};
}

absl::StatusOr<std::string> ResolveMatch(const std::string& spec,
                                         const std::string& simulator_directory, std::string* why) {
  absl::string_view rest = spec;
  if (!absl::ConsumePrefix(&rest, kMatchSpec)) return spec;
  const size_t comma = rest.find(',');
  const std::string path(rest.substr(0, comma));
  const auto evidence = ReadCardEvidence(path);
  if (!evidence.ok()) return evidence.status();
  const auto cards = ListCards(simulator_directory);
  if (!cards.ok()) return cards.status();
  const auto matched = MatchCard(*evidence, *cards);
  if (!matched.ok()) return matched.status();
  *why = matched->why;
  return absl::StrCat(matched->spec, comma == absl::string_view::npos ? "" : rest.substr(comma));
}

}  // namespace vramstow
