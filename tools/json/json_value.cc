#include "tools/json/json_value.h"

#include <nlohmann/json.hpp>

namespace vramstow {

// Converts between JsonValue and the values of the JSON library.
class JsonLibrary {
 public:
  using Library = nlohmann::ordered_json;

  static Library Of(const JsonValue& value) {
    return std::visit(
        [](const auto& held) -> Library {
          using T = std::decay_t<decltype(held)>;
          if constexpr (std::is_same_v<T, std::monostate>) {
            return nullptr;
          } else if constexpr (std::is_same_v<T, JsonValue::List>) {
            Library list = Library::array();
            for (const JsonValue& item : held) list.push_back(Of(item));
            return list;
          } else if constexpr (std::is_same_v<T, JsonValue::Members>) {
            Library object = Library::object();
            for (const auto& [key, member] : held) object[key] = Of(member);
            return object;
          } else {
            return held;
          }
        },
        value.value_);
  }

  static JsonValue Of(const Library& json) {
    switch (json.type()) {
      case Library::value_t::boolean:
        return json.get<bool>();
      case Library::value_t::number_integer:
        return json.get<int64_t>();
      case Library::value_t::number_unsigned:
        return json.get<uint64_t>();
      case Library::value_t::number_float:
        return json.get<double>();
      case Library::value_t::string:
        return json.get<std::string>();
      case Library::value_t::array: {
        JsonValue list = JsonValue::Array();
        for (const Library& item : json) list.Append(Of(item));
        return list;
      }
      case Library::value_t::object: {
        JsonValue::Members members;
        for (const auto& [key, member] : json.items()) members.emplace_back(key, Of(member));
        JsonValue object;
        object.value_ = std::move(members);
        return object;
      }
      default:
        return nullptr;
    }
  }
};

namespace {

template <typename T>
T NumberIn(const auto& value) {
  if (const auto* held = std::get_if<int64_t>(&value)) return static_cast<T>(*held);
  if (const auto* held = std::get_if<uint64_t>(&value)) return static_cast<T>(*held);
  if (const auto* held = std::get_if<double>(&value)) return static_cast<T>(*held);
  return 0;
}

}  // namespace

JsonValue::JsonValue(const std::vector<std::string>& values)
    : value_(List(values.begin(), values.end())) {}

JsonValue JsonValue::Object(std::initializer_list<Member> members) {
  JsonValue object;
  object.value_ = Members(members);
  return object;
}

JsonValue JsonValue::Array() {
  JsonValue array;
  array.value_ = List();
  return array;
}

bool JsonValue::is_number() const {
  return std::holds_alternative<int64_t>(value_) || std::holds_alternative<uint64_t>(value_) ||
         std::holds_alternative<double>(value_);
}

JsonValue& JsonValue::operator[](std::string_view key) {
  if (!is_object()) value_ = Members();
  Members& members = std::get<Members>(value_);
  for (auto& [name, member] : members) {
    if (name == key) return member;
  }
  return members.emplace_back(std::string(key), JsonValue()).second;
}

const JsonValue* JsonValue::Find(std::string_view key) const {
  const auto* members = std::get_if<Members>(&value_);
  if (members == nullptr) return nullptr;
  for (const auto& [name, member] : *members) {
    if (name == key) return &member;
  }
  return nullptr;
}

const JsonValue& JsonValue::At(std::string_view key) const {
  static const JsonValue* const null = new JsonValue;
  const JsonValue* found = Find(key);
  return found == nullptr ? *null : *found;
}

void JsonValue::Append(JsonValue item) {
  if (!is_array()) value_ = List();
  std::get<List>(value_).push_back(std::move(item));
}

const std::vector<JsonValue::Member>& JsonValue::members() const {
  static const std::vector<Member> none;
  const auto* members = std::get_if<Members>(&value_);
  return members == nullptr ? none : *members;
}

const std::vector<JsonValue>& JsonValue::items() const {
  static const List* const none = new List;
  const auto* held = std::get_if<List>(&value_);
  return held == nullptr ? *none : *held;
}

double JsonValue::Double() const { return NumberIn<double>(value_); }
int64_t JsonValue::Integer() const { return NumberIn<int64_t>(value_); }
uint64_t JsonValue::Unsigned() const { return NumberIn<uint64_t>(value_); }

bool JsonValue::Bool() const {
  const auto* held = std::get_if<bool>(&value_);
  return held != nullptr && *held;
}

std::string JsonValue::Text() const {
  const auto* held = std::get_if<std::string>(&value_);
  return held == nullptr ? "" : *held;
}

namespace {

// Escapes the control characters that the library leaves as they are: U+007F and U+0080 to U+009F,
// with which a text could control the terminal. They occur only within texts.
std::string WithoutControls(std::string json) {
  const auto is_control = [&json](size_t at) {
    const bool is_two_bytes = json[at] == '\xc2' && at + 1 < json.size();
    return json[at] == '\x7f' || (is_two_bytes && static_cast<uint8_t>(json[at + 1]) < 0xa0);
  };
  if (json.find_first_of("\x7f\xc2") == std::string::npos) return json;
  std::string escaped;
  constexpr char kDigits[] = "0123456789abcdef";
  for (size_t i = 0; i < json.size(); ++i) {
    if (!is_control(i)) {
      escaped += json[i];
      continue;
    }
    if (json[i] == '\xc2') ++i;
    const auto code = static_cast<uint8_t>(json[i]);
    escaped += "\\u00";
    escaped += kDigits[code >> 4];
    escaped += kDigits[code & 15];
  }
  return escaped;
}

}  // namespace

std::string JsonValue::Dump() const {
  return WithoutControls(
      JsonLibrary::Of(*this).dump(-1, ' ', false, JsonLibrary::Library::error_handler_t::replace));
}

std::optional<JsonValue> JsonValue::Parse(std::string_view text) {
  // Text that is nested too deeply is refused while it is parsed, because copying it would need an
  // equally deep stack.
  bool is_too_deep = false;
  const auto watch = [&is_too_deep](int depth, JsonLibrary::Library::parse_event_t,
                                    JsonLibrary::Library&) {
    if (static_cast<size_t>(depth) > kDeepest) is_too_deep = true;
    return !is_too_deep;
  };
  const auto parsed = JsonLibrary::Library::parse(text.begin(), text.end(), watch, false);
  if (parsed.is_discarded() || is_too_deep) return std::nullopt;
  return JsonLibrary::Of(parsed);
}

}  // namespace vramstow
