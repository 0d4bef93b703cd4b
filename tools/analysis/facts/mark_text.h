// Functions that parse the texts of vramstow's own marks (docs/trace-format.md).
//
// Ownership: views of the caller's text. Threads: pure functions, callable from any thread. Errors:
// a function returns false if it cannot parse the text. Units: none.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_FACTS_MARK_TEXT_H_
#define VRAMSTOW_TOOLS_ANALYSIS_FACTS_MARK_TEXT_H_

#include <charconv>
#include <string_view>

namespace vramstow {

// Returns the part before the separator, and removes both from *text.
inline std::string_view CutPart(std::string_view* text, char separator) {
  const size_t end = text->find(separator);
  const std::string_view part = text->substr(0, end);
  *text = end == std::string_view::npos ? std::string_view() : text->substr(end + 1);
  return part;
}

template <typename Number>
bool ReadNumber(std::string_view text, Number* number) {
  const auto read = std::from_chars(text.data(), text.data() + text.size(), *number);
  return read.ec == std::errc() && read.ptr == text.data() + text.size();
}

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_FACTS_MARK_TEXT_H_
