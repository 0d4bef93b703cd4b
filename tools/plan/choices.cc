#include "tools/plan/choices.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "tools/base/words.h"

namespace vramstow {
namespace {

constexpr char kOnwards[] = "..";
constexpr size_t kMaxValues = 200;
constexpr char kBatch[] = "batch";

bool MayBegin(char c) { return c >= 'a' && c <= 'z'; }
bool MayFollow(char c) { return MayBegin(c) || (c >= '0' && c <= '9') || c == '_'; }

void AddNamesOf(const std::string& word, std::vector<std::string>* names) {
  for (size_t open = word.find('{'); open != std::string::npos; open = word.find('{', open + 1)) {
    size_t end = open + 1;
    if (end >= word.size() || !MayBegin(word[end])) continue;
    while (end < word.size() && MayFollow(word[end])) ++end;
    if (end >= word.size() || word[end] != '}') continue;
    std::string name = word.substr(open + 1, end - open - 1);
    if (std::ranges::find(*names, name) == names->end()) names->push_back(std::move(name));
  }
}

// How a list of numbers continues. If the last three numbers have a common factor between
// neighbours, the list continues by this factor. With two numbers, it continues by their factor if
// there is one. Otherwise it continues by the difference of the last two.
struct Pattern {
  uint64_t factor = 2;
  uint64_t step = 0;  // the difference; 0 if it continues by a factor
  uint64_t After(uint64_t number) const { return step != 0 ? number + step : number * factor; }
};

Pattern PatternOf(const std::vector<uint64_t>& numbers) {
  const size_t count = numbers.size();
  if (count < 2) return {};
  const uint64_t last = numbers[count - 1];
  const uint64_t other = numbers[count - 2];
  if (last <= other) return {};
  const bool divides = other != 0 && last % other == 0;
  const bool by_factor = divides && (count < 3 || numbers[count - 3] * (last / other) == other);
  if (by_factor) return {.factor = last / other};
  return {.step = last - other};
}

absl::Status WrongPart(absl::string_view part) {
  return absl::InvalidArgumentError(absl::StrCat(
      "'", Printable(std::string(part)),
      "' is not a range of values: write two whole numbers, the smaller first, as in 8..64."));
}

// Adds the numbers of a range like "8..64" to the numbers that came before it.
absl::Status AddRange(absl::string_view part, std::vector<std::string>* values) {
  const std::vector<absl::string_view> ends = absl::StrSplit(part, kOnwards);
  uint64_t first = 0;
  uint64_t last = 0;
  if (ends.size() != 2 || !absl::SimpleAtoi(ends[0], &first) || !absl::SimpleAtoi(ends[1], &last) ||
      first == 0 || first > last) {
    return WrongPart(part);
  }
  std::vector<uint64_t> numbers;
  for (const std::string& value : *values) {
    uint64_t number = 0;
    if (absl::SimpleAtoi(value, &number)) numbers.push_back(number);
  }
  numbers.push_back(first);
  const Pattern pattern = PatternOf(numbers);
  for (uint64_t number = first; number <= last; number = pattern.After(number)) {
    values->push_back(absl::StrCat(number));
    if (values->size() > kMaxValues) {
      return absl::InvalidArgumentError(absl::StrCat(
          "'", Printable(std::string(part)), "' has more than ", kMaxValues,
          " values: write two values before it to give the step or factor, as in 8,16..256."));
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<std::string> PlaceholdersOf(const std::vector<std::string>& command) {
  std::vector<std::string> names;
  for (const std::string& word : command) AddNamesOf(word, &names);
  return names;
}

absl::StatusOr<std::vector<std::string>> ValuesOf(absl::string_view text) {
  std::vector<std::string> values;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    if (part.empty()) {
      return absl::InvalidArgumentError("a value is missing: separate values by one comma.");
    }
    if (absl::StrContains(part, kOnwards)) {
      if (absl::Status status = AddRange(part, &values); !status.ok()) return status;
    } else {
      values.emplace_back(part);
    }
  }
  std::vector<std::string> once;
  for (std::string& value : values) {
    if (std::ranges::find(once, value) == once.end()) once.push_back(std::move(value));
  }
  return once;
}

std::vector<Choice> AllChoices(const std::vector<Placeholder>& placeholders) {
  std::vector<Choice> choices = {{}};
  for (const Placeholder& placeholder : placeholders) {
    std::vector<Choice> longer;
    for (const Choice& choice : choices) {
      for (const std::string& value : placeholder.values) {
        longer.push_back(choice);
        longer.back().push_back({placeholder.name, value});
      }
    }
    choices = std::move(longer);
  }
  return choices;
}

std::vector<std::string> Filled(const std::vector<std::string>& command, const Choice& choice) {
  std::vector<std::pair<std::string, std::string>> places;
  for (const Setting& setting : choice) {
    places.emplace_back(absl::StrCat("{", setting.name, "}"), setting.value);
  }
  std::vector<std::string> filled;
  filled.reserve(command.size());
  for (const std::string& word : command) filled.push_back(absl::StrReplaceAll(word, places));
  return filled;
}

std::optional<double> NumberOf(const std::string& value) {
  double number = 0;
  if (!absl::SimpleAtod(value, &number) || !std::isfinite(number)) return std::nullopt;
  return number;
}

bool IsDegree(absl::string_view name) {
  constexpr absl::string_view kDegrees[] = {"shard", "dp", "tp", "pp", "cp"};
  return std::ranges::find(kDegrees, name) != std::end(kDegrees);
}

std::optional<size_t> AxisOf(const std::vector<Placeholder>& placeholders) {
  std::optional<size_t> axis;
  for (size_t i = 0; i < placeholders.size(); ++i) {
    const std::vector<std::string>& values = placeholders[i].values;
    if (values.size() < 2 || IsDegree(placeholders[i].name) ||
        !std::ranges::all_of(
            values, [](const std::string& value) { return NumberOf(value).has_value(); })) {
      continue;
    }
    if (placeholders[i].name == kBatch) return i;
    if (!axis.has_value()) axis = i;
  }
  return axis;
}

std::string TextOf(const Choice& choice) {
  return absl::StrJoin(choice, ", ", [](std::string* text, const Setting& setting) {
    absl::StrAppend(text, "{", setting.name, "} = ", Printable(setting.value));
  });
}

}  // namespace vramstow
