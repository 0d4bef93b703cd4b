// Layout: the appearance of a report's text: titles, labels before sentences, colours, plain ASCII.
//
// Ownership: the caller owns the results. Threads: pure functions, callable from any thread.
// Errors: none. Units: columns of a terminal.
#ifndef VRAMSTOW_TOOLS_TERMINAL_LAYOUT_H_
#define VRAMSTOW_TOOLS_TERMINAL_LAYOUT_H_

#include <cstddef>
#include <string>

namespace vramstow {

struct TextStyle {
  size_t width = 80;    // columns
  bool utf8 = true;     // false for plain ASCII
  bool colour = false;  // for a terminal: titles and labels stand out
};

enum class Colour { kBold, kRed, kYellow, kGreen };

// Returns the text in a colour, if the style has colours. The text must be wrapped or shortened
// before this call, because the width of coloured text cannot be measured.
std::string Coloured(const std::string& text, Colour colour, const TextStyle& style);

// Returns an empty line, followed by the title on a line of its own.
std::string Title(const std::string& text, const TextStyle& style, Colour colour = Colour::kBold);

// Returns the label and the words, for example "Do       Keep what is needed of it". If the words
// need more lines, these are indented like the first word.
std::string Labelled(const std::string& label, const std::string& words, const TextStyle& style);

// Converts the report to plain ASCII: its own symbols are spelled out, and other characters become
// '?'.
std::string Ascii(const std::string& text);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_TERMINAL_LAYOUT_H_
