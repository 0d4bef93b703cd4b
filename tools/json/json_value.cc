#include "tools/json/json_value.h"

#include <nlohmann/json.hpp>
#include <unordered_map>

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
            // Members are appended, because a look-up of each key would be a search through all
            // members before it.
            auto& members = object.template get_ref<Library::object_t&>();
            members.reserve(held.size());
            for (const auto& [key, member] : held) members.emplace_back(key, Of(member));
            return object;
          } else {
            return held;
          }
        },
        value.value_);
  }

  // Builds a JsonValue from the parts that the parser of the library finds. Refuses text that is
  // nested too deeply, because copying its value would need an equally deep stack.
  class Builder : public nlohmann::json_sax<Library> {
   public:
    JsonValue Take() { return std::move(root_); }

    bool null() override { return Add(nullptr); }
    bool boolean(bool value) override { return Add(value); }
    bool number_integer(number_integer_t value) override { return Add(value); }
    bool number_unsigned(number_unsigned_t value) override { return Add(value); }
    bool number_float(number_float_t value, const string_t&) override { return Add(value); }
    bool string(string_t& value) override { return Add(std::move(value)); }
    bool binary(binary_t&) override { return false; }
    bool start_object(size_t) override { return Open(JsonValue::Object()); }
    bool start_array(size_t) override { return Open(JsonValue::Array()); }
    bool key(string_t& name) override {
      open_.back().key = std::move(name);
      return true;
    }
    bool end_object() override {
      KeepLastOfEachKey(&std::get<JsonValue::Members>(open_.back().value.value_));
      return Close();
    }
    bool end_array() override { return Close(); }
    bool parse_error(size_t, const std::string&, const nlohmann::detail::exception&) override {
      return false;
    }

   private:
    struct Unfinished {
      JsonValue value;
      std::string key;  // of the member that is read next
    };

    bool Add(JsonValue value) {
      if (open_.empty()) {
        root_ = std::move(value);
      } else if (auto* members = std::get_if<JsonValue::Members>(&open_.back().value.value_)) {
        members->emplace_back(std::move(open_.back().key), std::move(value));
      } else {
        open_.back().value.Append(std::move(value));
      }
      return true;
    }
    bool Open(JsonValue value) {
      if (open_.size() == JsonValue::kDeepest) return false;
      open_.push_back({std::move(value), ""});
      return true;
    }
    bool Close() {
      JsonValue value = std::move(open_.back().value);
      open_.pop_back();
      return Add(std::move(value));
    }
    // If a key occurs more than once, the object has its last value, at its first place.
    static void KeepLastOfEachKey(JsonValue::Members* members) {
      std::unordered_map<std::string_view, size_t> first;
      first.reserve(members->size());
      std::vector<bool> is_repeated(members->size());
      for (size_t i = 0; i < members->size(); ++i) {
        const auto [known, is_new] = first.try_emplace((*members)[i].first, i);
        if (is_new) continue;
        (*members)[known->second].second = std::move((*members)[i].second);
        is_repeated[i] = true;
      }
      if (first.size() == members->size()) return;
      size_t at = 0;
      std::erase_if(*members, [&](const JsonValue::Member&) { return is_repeated[at++]; });
    }

    JsonValue root_;
    std::vector<Unfinished> open_;
  };
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
  JsonLibrary::Builder builder;
  if (!JsonLibrary::Library::sax_parse(text.begin(), text.end(), &builder)) return std::nullopt;
  return builder.Take();
}

}  // namespace vramstow
