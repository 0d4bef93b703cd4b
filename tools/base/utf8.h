// Converts untrusted texts to valid UTF-8, so that every report can show them.
//
// Ownership: values. Threads: pure functions. Errors: none; invalid bytes become U+FFFD. Units:
// bytes.
#ifndef VRAMSTOW_TOOLS_BASE_UTF8_H_
#define VRAMSTOW_TOOLS_BASE_UTF8_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace vramstow {

// Appends one character; U+FFFD for a number that is not a character (surrogates, above 0x10FFFF).
void AppendUtf8(uint32_t code, std::string* text);

// Returns the length of the valid character at the front of `text`, which is not empty; 0 if there
// is none.
size_t CharacterLength(std::string_view text);

bool IsUtf8(std::string_view text);

// Returns the text with every invalid byte replaced by U+FFFD.
std::string CleanUtf8(std::string_view text);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_BASE_UTF8_H_
