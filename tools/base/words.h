// Words: numbers and texts as the reports write them.
//
// Ownership: results are the caller's. Threads: pure functions. Errors: none. Units: named by each.
#ifndef VRAMSTOW_TOOLS_BASE_WORDS_H_
#define VRAMSTOW_TOOLS_BASE_WORDS_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace vramstow {

// "1.46 GiB".
std::string Bytes(uint64_t bytes);
// "1,234,567".
std::string Count(uint64_t count);
// Count and noun: "1 block", "1,234 blocks". For nouns with a plural on -s.
std::string Counted(uint64_t count, std::string_view noun);
// A span of time in nanoseconds: "320 ns", "4.2 ms", "12.3 s", "3 min 20 s", "2 h 05 min".
std::string Time(uint64_t nanoseconds);
// "42%"; "0%" of nothing, "<1%" of little.
std::string Share(uint64_t part, uint64_t whole);
// part ÷ whole with two decimals; "1.00" of nothing.
std::string Ratio(uint64_t part, uint64_t whole);
// Why the write failed that ended a recording, from its errno: "the disk was full".
std::string WriteErrorInWords(uint32_t error);
// Makes text from a trace safe for a terminal: control characters and invalid UTF-8 become '?'.
std::string Printable(std::string_view text);
// A word as one types it into a shell: in quotes where it needs them.
std::string ShellWord(const std::string& word);
// At most `width` columns, the middle left out ("trans…ion.py", or with dots in ASCII).
std::string Shortened(std::string_view text, size_t width, bool utf8);
// The text with line breaks in place of spaces, so that lines have at most `width` columns where
// words allow. Spaces at the beginning are lost.
std::string Wrapped(std::string_view text, size_t width);
// The same for each line of a text that has lines.
std::string WrappedLines(std::string_view text, size_t width);
// Columns that a text takes on a terminal: its characters, each taken as one column wide.
size_t Columns(std::string_view text);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_BASE_WORDS_H_
