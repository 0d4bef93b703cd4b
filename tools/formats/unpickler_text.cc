#include "tools/base/utf8.h"
#include "tools/formats/pickle_opcodes.h"
#include "tools/formats/text_helpers.h"
#include "tools/formats/unpickler_machine.h"

namespace vramstow {
namespace {

// Returns the character that a backslash and this letter stand for, or 0 if there is none.
char SimpleEscape(char letter) {
  switch (letter) {
    case '\\':
    case '\'':
    case '"':
      return letter;
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    case 'a':
      return '\a';
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'v':
      return '\v';
    default:
      return 0;
  }
}

// Parses 'text' or "text" with the escapes of Python's repr().
bool Unquote(std::string_view line, std::string* text) {
  if (line.size() < 2 || (line.front() != '\'' && line.front() != '"') ||
      line.back() != line.front()) {
    return false;
  }
  line = line.substr(1, line.size() - 2);
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '\\') {
      *text += line[i];
      continue;
    }
    if (++i == line.size()) return false;
    if (line[i] == 'x') {
      const std::string_view digits = line.substr(i + 1, 2);
      const auto code = ParseNumber<uint8_t>(digits, 16);
      if (digits.size() != 2 || !code) return false;
      *text += static_cast<char>(*code);
      i += 2;
      continue;
    }
    const char c = SimpleEscape(line[i]);
    if (c == 0) return false;
    *text += c;
  }
  return true;
}

// Decodes Python's raw-unicode-escape: \uXXXX and \UXXXXXXXX are escapes, and all other bytes are
// Latin-1.
bool UnescapeRawUnicode(std::string_view line, std::string* text) {
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c != '\\' || i + 1 >= line.size() || (line[i + 1] != 'u' && line[i + 1] != 'U')) {
      AppendUtf8(static_cast<unsigned char>(c), text);
      continue;
    }
    const size_t digits = line[i + 1] == 'u' ? 4 : 8;
    const std::string_view number = line.substr(i + 2, digits);
    const auto code = ParseNumber<uint32_t>(number, 16);
    if (number.size() != digits || !code) return false;
    AppendUtf8(*code, text);
    i += 1 + digits;
  }
  return true;
}

}  // namespace

Unpickler::Step Unpickler::TextProtocol(uint8_t opcode) {
  std::string_view line;
  if (!bytes_.ReadLine(&line)) return EndsEarly();
  std::string text;
  switch (opcode) {
    case pickle::kIntText:
      if (line == "00") return Push(PickleValue::OfKind(PickleKind::kFalse));
      if (line == "01") return Push(PickleValue::OfKind(PickleKind::kTrue));
      [[fallthrough]];
    case pickle::kLongText: {
      if (line.ends_with('L')) line.remove_suffix(1);
      if (const auto number = ParseNumber<int64_t>(line)) return Push(builder_.Integer(*number));
      if (const auto number = ParseNumber<uint64_t>(line)) return Push(builder_.Unsigned(*number));
      const size_t first = line.starts_with('-') ? 1 : 0;
      if (line.size() == first || line.find_first_not_of("0123456789", first) != line.npos) {
        return Damaged("a number is expected");
      }
      return Push(PickleValue::OfKind(PickleKind::kHugeInteger));
    }
    case pickle::kFloatText: {
      const auto number = ParseNumber<double>(line);
      return number ? Push(builder_.Float(*number)) : Damaged("a number is expected");
    }
    case pickle::kStringText:
      if (!Unquote(line, &text)) return Damaged("a text in quotes is expected");
      return Push(builder_.Text(text, /*stable=*/false));
    case pickle::kUnicodeText:
      if (!UnescapeRawUnicode(line, &text)) return Damaged("a text has a wrong escape");
      return Push(builder_.Text(text, /*stable=*/false));
    default: {
      const auto index = ParseNumber<uint64_t>(line);
      if (!index) return Damaged("a number is expected");
      return opcode == pickle::kGetText ? Get(*index) : Put(*index);
    }
  }
}

}  // namespace vramstow
