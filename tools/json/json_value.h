// JsonValue: one JSON value in memory, for small answers and small inputs.
//
// Idea: json_value.cc alone knows the library that reads and writes JSON (nlohmann/json), so that
// whoever uses this header compiles fast. Members keep the order in which they were added.
// Readers never fail: what is not there, or is of another type, reads as 0, false or "".
//
// Ownership: copies. Threads: as a container. Errors: Parse gives nothing. Units: none.
#ifndef VRAMSTOW_TOOLS_JSON_JSON_VALUE_H_
#define VRAMSTOW_TOOLS_JSON_JSON_VALUE_H_

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace vramstow {

class JsonValue {
 public:
  using Member = std::pair<std::string, JsonValue>;

  JsonValue() = default;
  // Not explicit, so that a member is written as {"name", value}.
  JsonValue(std::nullptr_t) {}
  JsonValue(bool value) : value_(value) {}
  template <std::signed_integral T>
  JsonValue(T value) : value_(int64_t{value}) {}
  template <std::unsigned_integral T>
  requires(!std::same_as<T, bool>) JsonValue(T value) : value_(uint64_t{value}) {}
  JsonValue(double value) : value_(value) {}
  JsonValue(std::string value) : value_(std::move(value)) {}
  JsonValue(std::string_view value) : value_(std::string(value)) {}
  JsonValue(const char* value) : value_(std::string(value)) {}
  JsonValue(const std::vector<std::string>& values);

  static JsonValue Object(std::initializer_list<Member> members = {});
  static JsonValue Array();

  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  bool is_object() const { return std::holds_alternative<Members>(value_); }
  bool is_array() const { return std::holds_alternative<List>(value_); }
  bool is_number() const;

  // The member of this name, added as null if it is not there. A null becomes an object.
  JsonValue& operator[](std::string_view key);
  // Null pointer: this is no object, or has no such member.
  const JsonValue* Find(std::string_view key) const;
  bool Has(std::string_view key) const { return Find(key) != nullptr; }

  // The members of an object, in their order; of another value none.
  const std::vector<Member>& members() const;

  // Adds to the array. A null becomes an array.
  void Append(JsonValue item);
  // The elements of an array; of another value none.
  const std::vector<JsonValue>& items() const;

  // This value; numbers of one type can be read as another.
  double Double() const;
  int64_t Integer() const;
  uint64_t Unsigned() const;
  bool Bool() const;
  std::string Text() const;
  // The same of a member.
  int64_t Integer(std::string_view key) const { return At(key).Integer(); }
  uint64_t Unsigned(std::string_view key) const { return At(key).Unsigned(); }
  bool Bool(std::string_view key) const { return At(key).Bool(); }
  std::string Text(std::string_view key) const { return At(key).Text(); }
  const std::vector<JsonValue>& Items(std::string_view key) const { return At(key).items(); }

  // On one line, without its end. Bytes that are no UTF-8 are replaced.
  std::string Dump() const;
  // Nothing: the text is no JSON, or is nested deeper than kDeepest.
  static std::optional<JsonValue> Parse(std::string_view text);
  static constexpr size_t kDeepest = 200;

 private:
  friend class JsonLibrary;
  using List = std::vector<JsonValue>;
  using Members = std::vector<Member>;

  // The member of this name, or a null.
  const JsonValue& At(std::string_view key) const;

  std::variant<std::monostate, bool, int64_t, uint64_t, double, std::string, List, Members> value_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_JSON_JSON_VALUE_H_
