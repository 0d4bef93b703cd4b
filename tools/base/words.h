// Formats numbers and texts as the reports show them.
//
// Ownership: results are the caller's. Threads: pure functions. Errors: none. Units: documented at
// each function.
#ifndef VRAMSTOW_TOOLS_BASE_WORDS_H_
#define VRAMSTOW_TOOLS_BASE_WORDS_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace vramstow {

// "1.46 GiB".
std::string Bytes(uint64_t bytes);
// Returns a number such as "1,234,567".
std::string Count(uint64_t count);
// Returns a number with a noun: "1 block", "1,234 blocks". The plural of the noun must end in -s.
std::string Counted(uint64_t count, std::string_view noun);
// Formats a duration in nanoseconds: "320 ns", "4.2 ms", "12.3 s", "3 min 20 s", "2 h 05 min".
std::string Time(uint64_t nanoseconds);
// Returns a percentage such as "42%"; "0%" if either number is 0, "<1%" for a small part.
std::string Share(uint64_t part, uint64_t whole);
// Returns part ÷ whole with two decimals; "1.00" if `whole` is 0.
std::string Ratio(uint64_t part, uint64_t whole);
// Returns why a write failed and ended a recording, from its errno: "the disk was full".
std::string WriteErrorInWords(uint32_t error);
// Makes text from a trace safe for a terminal: control characters and invalid UTF-8 become '?'.
std::string Printable(std::string_view text);
// Returns a word as it is typed into a shell, in quotes if it needs them: '…', or $'…' with escapes
// if a terminal would not show all of its characters.
std::string ShellWord(const std::string& word);
// Shortens a text to `width` columns by leaving out its middle ("trans…ion.py", or with dots in
// ASCII).
std::string Shortened(std::string_view text, size_t width, bool utf8);
// Replaces spaces by line breaks so that lines have at most `width` columns, if the words are short
// enough. Spaces at the beginning are removed.
std::string Wrapped(std::string_view text, size_t width);
// Wraps each line of a text to at most `width` columns, if the words are short enough.
std::string WrappedLines(std::string_view text, size_t width);
// Returns the width of a text on a terminal, at one column for each character.
size_t Columns(std::string_view text);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_BASE_WORDS_H_
