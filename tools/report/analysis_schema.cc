#include "tools/report/analysis_schema.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tools/analysis/facts/fact_tables.h"
#include "tools/json/json_value.h"
#include "tools/report/json.h"

namespace vramstow {
namespace {

template <typename Value>
inline constexpr bool kIsList = false;
template <typename Item>
inline constexpr bool kIsList<std::vector<Item>> = true;

template <typename Value>
inline constexpr bool kIsOptional = false;
template <typename Item>
inline constexpr bool kIsOptional<std::optional<Item>> = true;

// Objects whose keys are data: texts by name, and numbers by kind or reason.
template <typename Value>
inline constexpr std::string_view kItemsByName = "";
template <>
inline constexpr std::string_view kItemsByName<std::map<std::string, std::string>> = "string";
template <size_t size>
inline constexpr std::string_view kItemsByName<std::array<uint64_t, size>> = "integer";

// The JSON types of a plain value. Enums are written as texts.
template <typename Value>
struct PlainTypes {
  static std::vector<std::string> Names() {
    static_assert(std::is_same_v<Value, std::string> || std::is_arithmetic_v<Value> ||
                  std::is_enum_v<Value>);
    return {std::is_same_v<Value, bool>       ? "boolean"
            : std::is_integral_v<Value>       ? "integer"
            : std::is_floating_point_v<Value> ? "number"
                                              : "string"};
  }
};
template <typename... Items>
struct PlainTypes<std::variant<std::monostate, Items...>> {
  static std::vector<std::string> Names() {
    std::vector<std::string> names;
    (names.push_back(PlainTypes<Items>::Names().front()), ...);
    names.emplace_back("null");
    return names;
  }
};

// What the entry of a table says of its value, beside the C++ type.
struct Remarks {
  explicit Remarks(std::string_view words = "", bool may_be_null = false)
      : meaning(words), is_nullable(may_be_null) {}

  std::string_view meaning;
  bool is_nullable;
  bool is_hex = false;
  std::string_view variant;  // of the rows
};

// The members of an object. Those that are not required are written only under a condition.
struct Members {
  JsonValue properties = JsonValue::Object();
  std::vector<std::string> required;

  void Add(std::string_view name, bool is_required, JsonValue schema) {
    properties[name] = std::move(schema);
    if (is_required) required.emplace_back(name);
  }
  void AddTo(JsonValue* schema) {
    (*schema)["required"] = JsonValue(required);
    (*schema)["properties"] = std::move(properties);
  }
};

JsonValue Typed(std::vector<std::string> names, const Remarks& remarks) {
  if (remarks.is_nullable && names.back() != "null") names.emplace_back("null");
  JsonValue schema = JsonValue::Object(
      {{"type", names.size() == 1 ? JsonValue(names.front()) : JsonValue(names)}});
  if (!remarks.meaning.empty()) schema["description"] = remarks.meaning;
  return schema;
}

// Makes schemas by the same rules by which FactWriter (json.cc) writes values.
class SchemaMaker {
 public:
  template <HasFacts Struct>
  static Members MembersOf(std::string_view variant) {
    Members members;
    AddStruct<Struct>(variant, &members);
    return members;
  }

  template <typename Value>
  static JsonValue Of(Remarks remarks) {
    if constexpr (kIsOptional<Value>) {
      remarks.is_nullable = true;
      return Of<typename Value::value_type>(remarks);
    } else if constexpr (std::is_same_v<Value, std::vector<RankFigure>>) {
      JsonValue schema = Typed({"object"}, remarks);
      schema["additionalProperties"] = Of<RankFigure>(Remarks());
      return schema;
    } else if constexpr (kIsList<Value>) {
      JsonValue schema = Typed({"array"}, remarks);
      Remarks of_item;
      of_item.variant = remarks.variant;
      schema["items"] = Of<typename Value::value_type>(of_item);
      return schema;
    } else if constexpr (HasFacts<Value>) {
      JsonValue schema = Typed({"object"}, remarks);
      MembersOf<Value>(remarks.variant).AddTo(&schema);
      return schema;
    } else if constexpr (!kItemsByName<Value>.empty()) {
      JsonValue schema = Typed({"object"}, remarks);
      schema["additionalProperties"] = JsonValue::Object({{"type", kItemsByName<Value>}});
      return schema;
    } else {
      return Typed(remarks.is_hex ? std::vector<std::string>{"string"} : PlainTypes<Value>::Names(),
                   remarks);
    }
  }

 private:
  template <HasFacts Struct>
  static void AddStruct(std::string_view variant, Members* members) {
    ForEachEntry<Struct>([&](const auto& entry) { Add<Struct>(entry, variant, members); });
  }

  template <typename Struct, typename Member>
  static void Add(const Fact<Struct, Member>& fact, std::string_view variant, Members* members) {
    if (!fact.only_in.empty() && fact.only_in != variant) return;
    Remarks remarks(fact.meaning, /*may_be_null=*/fact.known != nullptr);
    remarks.is_hex = fact.hex;
    remarks.variant = fact.variant;
    members->Add(fact.name.empty() ? variant : fact.name, fact.written == nullptr,
                 Of<Member>(remarks));
  }
  template <typename Struct, typename Function>
  static void Add(const Derived<Function>& derived, std::string_view variant, Members* members) {
    if (!derived.only_in.empty() && derived.only_in != variant) return;
    using Value = std::remove_cvref_t<decltype(derived.value(std::declval<const Facts&>(),
                                                             std::declval<const Struct&>()))>;
    members->Add(derived.name, derived.written == nullptr, Of<Value>(Remarks(derived.meaning)));
  }
  template <typename Struct, typename Member>
  static void Add(const TwoNumbers<Struct, Member>& numbers, std::string_view /*variant*/,
                  Members* members) {
    members->Add(numbers.bytes_name, true, Of<uint64_t>(Remarks(numbers.meaning)));
    members->Add(numbers.blocks_name, true, Of<uint64_t>(Remarks("number of blocks")));
  }
  template <typename Struct, typename Member>
  static void Add(const Spread<Struct, Member>& /*spread*/, std::string_view variant,
                  Members* members) {
    AddStruct<Member>(variant, members);
  }
  template <typename Struct, typename Member>
  static void Add(const AsColumns<Struct, Member>& /*columns*/, std::string_view /*variant*/,
                  Members* members) {
    const Members cells = MembersOf<typename Member::value_type>("");
    for (const auto& [name, cell] : cells.properties.members()) {
      // A column is null as a whole, so its cells never are.
      const JsonValue* type = cell.Find("type");
      const bool is_nullable = !type->items().empty();
      const std::string meaning = cell.Text("description");
      JsonValue schema = Typed({"array"}, Remarks(meaning, is_nullable));
      schema["items"] = JsonValue::Object({{"type", is_nullable ? type->items().front() : *type}});
      members->Add(name, std::ranges::count(cells.required, name) != 0, std::move(schema));
    }
  }
  template <typename Struct, typename Condition, typename... Entries>
  static void Add(const Group<Condition, Entries...>& group, std::string_view variant,
                  Members* members) {
    Members inner;
    std::apply([&](const auto&... entry) { (Add<Struct>(entry, variant, &inner), ...); },
               group.entries);
    JsonValue schema =
        Typed({"object"}, Remarks(group.meaning, group.mode == GroupMode::kNullUnless));
    inner.AddTo(&schema);
    members->Add(group.name, group.mode != GroupMode::kLeftOutUnless, std::move(schema));
  }
  template <typename Struct, typename Member>
  static void Add(const Inner<Struct, Member>& /*inner*/, std::string_view /*variant*/,
                  Members* /*members*/) {}
};

// Appends the value. Objects that contain objects have a line for each member, others have one line
// in all.
void AppendIndented(const JsonValue& value, size_t depth, std::string* text) {
  const bool is_flat = std::ranges::none_of(
      value.members(), [](const JsonValue::Member& member) { return member.second.is_object(); });
  if (is_flat) {
    *text += value.Dump();
    return;
  }
  const char* separator = "{\n";
  for (const auto& [name, inner] : value.members()) {
    absl::StrAppend(text, separator, std::string(depth + 1, ' '), JsonText(name), ": ");
    AppendIndented(inner, depth + 1, text);
    separator = ",\n";
  }
  absl::StrAppend(text, "\n", std::string(depth, ' '), "}");
}

JsonValue SchemaOfName() {
  JsonValue schema = Typed({"object"}, Remarks("the name and the version of the output"));
  Members members;
  members.Add("name", true, JsonValue::Object({{"const", kSchemaName}}));
  members.Add("version", true, JsonValue::Object({{"const", kSchemaVersion}}));
  members.AddTo(&schema);
  return schema;
}

}  // namespace

std::string AnalysisSchema() {
  Members top;
  top.Add("schema", true, SchemaOfName());
  top.Add("rank_comparison", true,
          SchemaMaker::Of<std::optional<RankComparison>>(
              Remarks("comparison of the ranks of a job; null for fewer than two ranks")));
  JsonValue ranks = Typed({"array"}, Remarks("the facts of each trace, in order of rank"));
  ranks["items"] = JsonValue::Object({{"$ref", "#/$defs/facts"}});
  top.Add("ranks", true, std::move(ranks));
  top.Add("left_out", true,
          SchemaMaker::Of<std::vector<std::string>>(
              Remarks("files of folders that belong to another run, or that could not be "
                      "used, one sentence each")));
  JsonValue schema = JsonValue::Object(
      {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
       {"$id", absl::StrCat("urn:vramstow:schema:", kSchemaName, ":", kSchemaVersion)},
       {"title", "vramstow analyze --json"},
       {"$comment", "Made by `vramstow docs analysis-schema` from the tables of facts."}});
  schema["type"] = "object";
  schema["$ref"] = "#/$defs/facts";
  top.AddTo(&schema);
  JsonValue facts = Typed({"object"}, Remarks("the facts of one trace, or of all together"));
  SchemaMaker::MembersOf<Facts>("").AddTo(&facts);
  schema["$defs"]["facts"] = std::move(facts);
  std::string text;
  AppendIndented(schema, 0, &text);
  return text + "\n";
}

}  // namespace vramstow
