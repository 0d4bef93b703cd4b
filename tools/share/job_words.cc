#include "tools/share/job_words.h"

#include <algorithm>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"

namespace vramstow {
namespace {

// The characters beside letters and digits that mean nothing to a shell.
constexpr std::string_view kPlain = " @%+=:,./_-";

bool IsPlain(char letter) {
  return absl::ascii_isalnum(static_cast<unsigned char>(letter)) ||
         kPlain.find(letter) != std::string_view::npos;
}

std::vector<std::string> SplitAtSpaces(const std::string& text) {
  return absl::StrSplit(text, ' ', absl::SkipEmpty());
}

}  // namespace

bool NeedsShell(const std::string& text) {
  if (!std::ranges::all_of(text, IsPlain)) return true;
  const std::vector<std::string> words = SplitAtSpaces(text);
  return !words.empty() && words.front().find('=') != std::string::npos;
}

std::vector<std::string> WordsOfJob(const std::string& text) {
  if (NeedsShell(text)) return {"sh", "-c", text};
  return SplitAtSpaces(text);
}

}  // namespace vramstow
