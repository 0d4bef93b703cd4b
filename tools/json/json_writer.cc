#include "tools/report/json_writer.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"

namespace vramstow {
namespace {

using Json = nlohmann::ordered_json;

std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Nearly all texts are: then nothing has to be replaced.
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
  if (IsPlain(text)) {
    absl::StrAppend(&text_, "\"", absl::string_view(text.data(), text.size()), "\"");
  } else {
    text_ += Dump(Json(text));
  }
}

void JsonWriter::Key(std::string_view key) {
  Separate();
  Quoted(key);
  text_ += ':';
  follows_ = false;
}

void JsonWriter::Value(double number) { Raw(Dump(Json(number))); }

void JsonWriter::Value(std::string_view text) {
  Separate();
  Quoted(text);
}

void JsonWriter::Hex(uint64_t address) { Raw(absl::StrCat("\"0x", absl::Hex(address), "\"")); }

}  // namespace vramstow
