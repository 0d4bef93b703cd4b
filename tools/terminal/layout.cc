#include "tools/terminal/layout.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tools/base/words.h"

namespace vramstow {
namespace {

const char* CodeOf(Colour colour) {
  switch (colour) {
    case Colour::kBold:
      return "\x1b[1m";
    case Colour::kRed:
      return "\x1b[1;31m";
    case Colour::kYellow:
      return "\x1b[1;33m";
    case Colour::kGreen:
      return "\x1b[1;32m";
  }
  return "";
}

}  // namespace

std::string Coloured(const std::string& text, Colour colour, const TextStyle& style) {
  return style.colour ? absl::StrCat(CodeOf(colour), text, "\x1b[0m") : text;
}

std::string Title(const std::string& text, const TextStyle& style, Colour colour) {
  if (!style.utf8) return absl::StrCat("\n", Coloured("== " + text + " ==", colour, style), "\n");
  const size_t rest = style.width - std::min(style.width, Columns(text) + 4);
  std::string line = absl::StrCat("── ", text, " ");
  for (size_t i = 0; i < rest; ++i) line += "─";
  return absl::StrCat("\n", Coloured(line, colour, style), "\n");
}

std::string Labelled(const std::string& label, const std::string& words, const TextStyle& style) {
  constexpr size_t kIndent = 9;
  const std::string wrapped = WrappedLines(Printable(words), style.width - kIndent);
  std::string text;
  size_t from = 0;
  while (from < wrapped.size()) {
    const size_t end = std::min(wrapped.find('\n', from), wrapped.size());
    if (from == 0) {
      text += Coloured(label, Colour::kBold, style);
      text += std::string(kIndent - std::min(kIndent, Columns(label)), ' ');
    } else {
      text += std::string(kIndent, ' ');
    }
    absl::StrAppend(&text, wrapped.substr(from, end - from), "\n");
    from = end + 1;
  }
  return text;
}

std::string Ascii(const std::string& text) {
  const std::string spelled = absl::StrReplaceAll(text, {{"÷", "/"}, {"…", "..."}, {"→", "->"}});
  std::string ascii;
  for (char c : spelled) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      ascii += c;
    } else if (byte >= 0xc0) {
      ascii += '?';
    }
  }
  return ascii;
}

}  // namespace vramstow
