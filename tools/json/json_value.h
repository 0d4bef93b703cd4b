// JsonValue is one JSON value in memory, for small outputs and small inputs.
//
// Idea: only json_value.cc includes the library that reads and writes JSON (nlohmann/json), so
// files that include this header compile fast. Members are in the order in which they were added.
// Accessors never fail: a missing value, or one of another type, reads as 0, false or "".
//
// Ownership: copies. Threads: as a container. Errors: Parse returns nullopt. Units: none.
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
  // The constructors are not explicit, so that a member is written as {"name", value}.
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

  // Returns the member with this name. If there is none, adds it as null. If this value is null, it
  // becomes an object.
  JsonValue& operator[](std::string_view key);
  // Returns the member with this name. Returns a null pointer if there is none, or if this value is
  // not an object.
  const JsonValue* Find(std::string_view key) const;
  bool Has(std::string_view key) const { return Find(key) != nullptr; }

  // The members of an object, in their order; empty for another value.
  const std::vector<Member>& members() const;

  // Appends to the array. A null value becomes an array.
  void Append(JsonValue item);
  // The elements of an array; empty for another value.
  const std::vector<JsonValue>& items() const;

  // These functions return this value as the named type. A number can be read as any of the numeric
  // types.
  double Double() const;
  int64_t Integer() const;
  uint64_t Unsigned() const;
  bool Bool() const;
  std::string Text() const;
  // These functions return the value of the member with this name.
  int64_t Integer(std::string_view key) const { return At(key).Integer(); }
  uint64_t Unsigned(std::string_view key) const { return At(key).Unsigned(); }
  bool Bool(std::string_view key) const { return At(key).Bool(); }
  std::string Text(std::string_view key) const { return At(key).Text(); }
  const std::vector<JsonValue>& Items(std::string_view key) const { return At(key).items(); }

  // Returns the value on one line, without a line end. Invalid UTF-8 is replaced, and control
  // characters are escaped.
  std::string Dump() const;
  // Parses a text. Returns nullopt if the text is not JSON, or is nested deeper than kDeepest.
  static std::optional<JsonValue> Parse(std::string_view text);
  static constexpr size_t kDeepest = 200;

 private:
  friend class JsonLibrary;
  using List = std::vector<JsonValue>;
  using Members = std::vector<Member>;

  // Returns the member with this name, or a null value if there is none.
  const JsonValue& At(std::string_view key) const;

  std::variant<std::monostate, bool, int64_t, uint64_t, double, std::string, List, Members> value_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_JSON_JSON_VALUE_H_
