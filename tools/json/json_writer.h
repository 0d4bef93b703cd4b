// JsonWriter: JSON as text, written from the beginning to the end.
//
// Idea: for long outputs. Nothing is kept but the text, and most of that is copied as it is; what
// has to be replaced, and fractions, are written by JsonValue.
//
// Ownership: a value. Threads: one at a time. Errors: none; bytes that are no UTF-8 are replaced.
// Each object or list that is begun has to be ended, and in an object each value has a key before
// it. Units: none.
#ifndef VRAMSTOW_TOOLS_JSON_JSON_WRITER_H_
#define VRAMSTOW_TOOLS_JSON_JSON_WRITER_H_

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace vramstow {

class JsonWriter {
 public:
  void BeginObject() { Begin('{'); }
  void EndObject() { End('}'); }
  void BeginArray() { Begin('['); }
  void EndArray() { End(']'); }
  void Key(std::string_view key);

  void Null() { Raw("null"); }
  void Value(bool value) { Raw(value ? "true" : "false"); }
  template <std::integral Number>
  requires(!std::same_as<Number, bool>) void Value(Number number) { Raw(std::to_string(number)); }
  void Value(double number);
  void Value(std::string_view text);
  void Value(const std::string& text) { Value(std::string_view(text)); }
  void Value(const char* text) { Value(std::string_view(text)); }
  // "0x7f00"
  void Hex(uint64_t address);

  std::string Take() { return std::move(text_); }

 private:
  void Begin(char bracket);
  void End(char bracket);
  void Separate();
  void Raw(std::string_view value);
  void Quoted(std::string_view text);

  std::string text_;
  bool follows_ = false;  // another value of the same object or array
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_JSON_JSON_WRITER_H_
