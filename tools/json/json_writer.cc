#include "tools/json/json_writer.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "tools/json/json_value.h"

namespace vramstow {
namespace {

// True if no character has to be escaped or replaced. This is true for nearly all texts.
bool IsPlain(std::string_view text) {
  return std::ranges::all_of(text,
                             [](char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; });
}

}  // namespace

void JsonWriter::Separate() {
  if (follows_) text_ += ',';
  follows_ = true;
}

void JsonWriter::Raw(std::string_view value) {
  Separate();
  text_ += value;
}

void JsonWriter::Begin(char bracket) {
  Separate();
  text_ += bracket;
  follows_ = false;
}

void JsonWriter::End(char bracket) {
  text_ += bracket;
  follows_ = true;
}

void JsonWriter::Quoted(std::string_view text) {
  if (!IsPlain(text)) {
    text_ += JsonValue(text).Dump();
    return;
  }
  text_ += '"';
  text_ += text;
  text_ += '"';
}

void JsonWriter::Key(std::string_view key) {
  Separate();
  Quoted(key);
  text_ += ':';
  follows_ = false;
}

void JsonWriter::Value(double number) { Raw(JsonValue(number).Dump()); }

void JsonWriter::Value(std::string_view text) {
  Separate();
  Quoted(text);
}

void JsonWriter::Hex(uint64_t address) {
  std::array<char, 16> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), address, 16).ptr;
  Raw("\"0x" + std::string(digits.data(), end) + "\"");
}

}  // namespace vramstow
