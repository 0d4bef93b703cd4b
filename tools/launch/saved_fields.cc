#include "tools/launch/saved_fields.h"

#include <algorithm>
#include <cctype>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace vramstow {
namespace {

bool IsName(absl::string_view text) {
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text[0])) == 0 &&
         std::ranges::all_of(text, [](char c) { return absl::ascii_isalnum(c) || c == '_'; });
}

// Returns the name in "struct TORCH_API MmBackward0 : public …"; empty for any other line.
absl::string_view NameOfClass(absl::string_view line) {
  if (!absl::ConsumePrefix(&line, "struct ")) return {};
  absl::ConsumePrefix(&line, "TORCH_API ");
  const absl::string_view name = line.substr(0, line.find(' '));
  return IsName(name) && absl::StrContains(line, ": public ") ? name : absl::string_view();
}

}  // namespace

std::string SavedFields(std::string_view header) {
  std::string text;
  absl::string_view name;
  for (absl::string_view line :
       absl::StrSplit(absl::string_view(header.data(), header.size()), '\n')) {
    if (absl::StartsWith(line, "struct ")) name = NameOfClass(line);
    line = absl::StripAsciiWhitespace(line);
    if (name.empty() || !absl::ConsumeSuffix(&line, ";")) continue;
    if (absl::ConsumePrefix(&line, "SavedVariable ")) {
      if (IsName(line)) absl::StrAppend(&text, "VRAMSTOW_SAVED(", name, ", ", line, ")\n");
    } else if (absl::ConsumePrefix(&line, "std::vector<SavedVariable> ")) {
      if (IsName(line)) absl::StrAppend(&text, "VRAMSTOW_SAVED_LIST(", name, ", ", line, ")\n");
    }
  }
  return text;
}

}  // namespace vramstow
