#include "tools/base/library_name.h"

#include <algorithm>
#include <cctype>

namespace vramstow {
namespace {

constexpr size_t kLeastHashDigits = 12;

bool IsHash(std::string_view text) {
  const auto is_digit = [](char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; };
  return text.size() >= kLeastHashDigits && std::ranges::all_of(text, is_digit);
}

// Removes the last part of `*text` together with the dash before it, and returns the part.
std::string_view CutOff(std::string_view* text) {
  const size_t dash = text->rfind('-');
  if (dash == std::string_view::npos) return "";
  const std::string_view part = text->substr(dash + 1);
  *text = text->substr(0, dash);
  return part;
}

// True for a name of the form torch-RELEASE-HASH-HASH.so.
bool IsAdapter(std::string_view name) {
  constexpr std::string_view kSuffix = ".so";
  if (!name.ends_with(kSuffix)) return false;
  name.remove_suffix(kSuffix.size());
  return IsHash(CutOff(&name)) && IsHash(CutOff(&name)) && name.starts_with("torch-");
}

}  // namespace

std::string LastPart(std::string_view path) {
  const bool is_of_windows = path.size() > 2 && path.substr(1, 2) == ":\\";
  const size_t slash = path.rfind(is_of_windows ? '\\' : '/');
  return std::string(slash == std::string_view::npos ? path : path.substr(slash + 1));
}

std::string LibraryName(std::string_view path) {
  std::string name = LastPart(path);
  return IsAdapter(name) ? "PyTorch's tensors" : name;
}

}  // namespace vramstow
