#include "tools/commands/flags.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "absl/strings/str_cat.h"

namespace vramstow {
namespace {

bool TakesValue(std::string_view flag) {
  const OptionTable table = AllOptions();
  return std::any_of(table.rows, table.rows + table.count, [flag](const OptionRow& row) {
    return row.type != OptionType::kBool && flag == row.flag;
  });
}

// The value of a flag that a user gives without a value; null if the flag needs a value.
struct ImpliedValue {
  std::string_view flag;
  std::vector<std::string_view> words;  // the words with which a value may begin
  const char* value;
};

const char* FindImpliedValue(std::string_view flag, std::string_view next) {
  static const auto* const kImplied =
      new std::vector<ImpliedValue>{{"--pool", {"on", "off"}, "on"},
                                    {"--offload", {"off", "auto", "explicit"}, "auto"},
                                    {"--share", {"off", "on"}, "on"}};
  for (const ImpliedValue& implied : *kImplied) {
    if (implied.flag != flag) continue;
    const std::string_view word = next.substr(0, next.find(','));
    const bool follows =
        std::find(implied.words.begin(), implied.words.end(), word) != implied.words.end();
    return follows ? nullptr : implied.value;
  }
  return nullptr;
}

}  // namespace

std::string FlagWithValue(const OptionRow& row) {
  return *row.metavar == '\0' ? row.flag : absl::StrCat(row.flag, " ", row.metavar);
}

RunArguments SplitRunArguments(const std::vector<std::string>& arguments) {
  RunArguments split;
  size_t i = 0;
  while (i < arguments.size() && arguments[i].starts_with("-") && arguments[i] != "--") {
    const bool with_value = TakesValue(arguments[i]);
    split.flags.push_back(arguments[i++]);
    if (!with_value) continue;
    const std::string_view next = i < arguments.size() ? arguments[i] : std::string_view();
    if (const char* implied = FindImpliedValue(split.flags.back(), next)) {
      split.flags.back() += absl::StrCat("=", implied);
    } else if (i < arguments.size() && arguments[i] != "--") {
      split.flags.push_back(arguments[i++]);
    }
  }
  if (i < arguments.size() && arguments[i] == "--") ++i;
  split.command.assign(arguments.begin() + static_cast<ptrdiff_t>(i), arguments.end());
  return split;
}

}  // namespace vramstow
