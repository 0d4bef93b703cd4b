// JsonWriter writes JSON as text, from the beginning to the end.
//
// Idea: it is made for long outputs. Only the text is stored, and most of it is copied unchanged.
// JsonValue writes fractions, and texts in which characters have to be replaced.
//
// Ownership: a value. Threads: one at a time. Errors: none; invalid UTF-8 is replaced. Each object
// or list that is begun must be ended, and in an object each value must have a key before it.
// Units: none.
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
  bool follows_ = false;  // another value of the same object or array follows
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_JSON_JSON_WRITER_H_
