// Layout: how the parts of a text look: titles, labels in front of sentences, colours, plain ASCII.
//
// Ownership: results are the caller's. Threads: pure functions. Errors: none. Units: columns of a
// terminal.
#ifndef VRAMSTOW_TOOLS_REPORT_LAYOUT_H_
#define VRAMSTOW_TOOLS_REPORT_LAYOUT_H_

#include <cstddef>
#include <string>

namespace vramstow {

struct TextStyle {
  size_t width = 80;    // columns
  bool utf8 = true;     // false: plain ASCII
  bool colour = false;  // for a terminal: titles and labels stand out
};

enum class Colour { kBold, kRed, kYellow, kGreen };

// The text in a colour, where the style has colours. A coloured text has no width any more, so that
// it is wrapped and shortened before.
std::string Coloured(const std::string& text, Colour colour, const TextStyle& style);

// An empty line, and the title on a line of its own.
std::string Title(const std::string& text, const TextStyle& style, Colour colour = Colour::kBold);

// "Do       Keep what is needed of it", and the rest of the words below the first of them.
std::string Labelled(const std::string& label, const std::string& words, const TextStyle& style);

// Makes plain ASCII of the report: its own signs have a spelling, and other characters become '?'.
std::string Ascii(const std::string& text);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_REPORT_LAYOUT_H_
