#include "tools/report/json.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "tools/analysis/facts/fact_tables.h"
#include "tools/json/json_writer.h"

namespace vramstow {
namespace {

// Writes facts according to their tables.
class FactWriter {
 public:
  explicit FactWriter(JsonWriter* json) : json_(*json) {}

  // Writes all facts of one trace, or of the total. The out-of-memory events that it lists are
  // those of `failures_of`.
  void Members(const Facts& trace, const std::vector<const Facts*>& failures_of) {
    failures_of_ = &failures_of;
    Entries(trace, trace, "");
  }
  template <HasFacts Struct>
  void Object(const Facts& trace, const Struct& self, std::string_view variant = "") {
    json_.BeginObject();
    Entries(trace, self, variant);
    json_.EndObject();
  }

 private:
  template <HasFacts Struct>
  void Entries(const Facts& trace, const Struct& self, std::string_view variant) {
    ForEachEntry<Struct>([&](const auto& entry) { Entry(entry, trace, self, variant); });
  }

  template <typename Struct, typename Member>
  void Entry(const Fact<Struct, Member>& fact, const Facts& trace, const Struct& self,
             std::string_view variant) {
    if (!IsWritten(fact, trace, variant)) return;
    json_.Key(fact.name.empty() ? variant : fact.name);
    if (fact.known != nullptr && !fact.known(trace, self)) return json_.Null();
    if constexpr (std::is_same_v<Member, uint64_t>) {
      if (fact.hex) return json_.Hex(self.*fact.member);
    }
    if constexpr (std::is_same_v<Member, std::vector<OutOfMemoryFacts>>) {
      OutOfMemory();
    } else {
      Value(trace, self.*fact.member, fact.variant);
    }
  }
  template <typename Function, typename Struct>
  void Entry(const Derived<Function>& derived, const Facts& trace, const Struct& self,
             std::string_view variant) {
    if (!IsWritten(derived, trace, variant)) return;
    json_.Key(derived.name);
    Value(trace, derived.value(trace, self), "");
  }
  template <typename Struct, typename Member>
  void Entry(const TwoNumbers<Struct, Member>& numbers, const Facts& /*trace*/, const Struct& self,
             std::string_view /*variant*/) {
    json_.Key(numbers.bytes_name);
    json_.Value((self.*numbers.member).bytes);
    json_.Key(numbers.blocks_name);
    json_.Value((self.*numbers.member).blocks);
  }
  template <typename Struct, typename Member>
  void Entry(const Spread<Struct, Member>& spread, const Facts& trace, const Struct& self,
             std::string_view variant) {
    Entries(trace, self.*spread.member, variant);
  }
  template <typename Struct, typename Member>
  void Entry(const AsColumns<Struct, Member>& columns, const Facts& trace, const Struct& self,
             std::string_view /*variant*/) {
    using Row = typename Member::value_type;
    ForEachEntry<Row>([&](const auto& entry) { Column(entry, trace, self.*columns.member); });
  }
  template <typename Condition, typename... Inner, typename Struct>
  void Entry(const Group<Condition, Inner...>& group, const Facts& trace, const Struct& self,
             std::string_view variant) {
    const bool holds = group.condition(trace, self);
    if (!holds && group.mode == GroupMode::kLeftOutUnless) return;
    json_.Key(group.name);
    if (!holds && group.mode == GroupMode::kNullUnless) return json_.Null();
    json_.BeginObject();
    std::apply([&](const auto&... entry) { (Entry(entry, trace, self, variant), ...); },
               group.entries);
    json_.EndObject();
  }
  template <typename Struct, typename Member>
  void Entry(const Inner<Struct, Member>& /*inner*/, const Facts& /*trace*/, const Struct& /*self*/,
             std::string_view /*variant*/) {}

  template <typename Entry>
  static bool IsWritten(const Entry& entry, const Facts& trace, std::string_view variant) {
    if (!entry.only_in.empty() && entry.only_in != variant) return false;
    return entry.written == nullptr || entry.written(trace);
  }

  // Writes one array that has the same fact of each row.
  template <typename Entry, typename Row>
  void Column(const Entry& entry, const Facts& trace, const std::vector<Row>& rows) {
    if constexpr (requires { entry.name; }) {
      if (!IsWritten(entry, trace, "")) return;
      json_.Key(entry.name);
      if constexpr (requires { entry.known; }) {
        if (entry.known != nullptr && !entry.known(trace, Row())) return json_.Null();
      }
      json_.BeginArray();
      for (const Row& row : rows) {
        if constexpr (requires { entry.member; }) {
          json_.Value(row.*entry.member);
        } else {
          json_.Value(entry.value(trace, row));
        }
      }
      json_.EndArray();
    }
  }

  // --- These functions write a value. The type of the value selects the function.
  template <typename Plain>
  requires(std::is_arithmetic_v<Plain> || std::is_same_v<Plain, std::string>) void Value(
      const Facts& /*trace*/, const Plain& value, std::string_view /*variant*/) {
    json_.Value(value);
  }
  template <HasFacts Struct>
  void Value(const Facts& trace, const Struct& value, std::string_view variant) {
    Object(trace, value, variant);
  }
  template <typename Item>
  void Value(const Facts& trace, const std::vector<Item>& list, std::string_view variant) {
    json_.BeginArray();
    for (const Item& item : list) Value(trace, item, variant);
    json_.EndArray();
  }
  template <typename Item>
  void Value(const Facts& trace, const std::optional<Item>& value, std::string_view variant) {
    if (!value.has_value()) return json_.Null();
    Value(trace, *value, variant);
  }
  template <typename... Items>
  void Value(const Facts& trace, const std::variant<std::monostate, Items...>& value,
             std::string_view variant) {
    std::visit(
        [&](const auto& item) {
          if constexpr (std::is_same_v<std::decay_t<decltype(item)>, std::monostate>) {
            json_.Null();
          } else {
            Value(trace, item, variant);
          }
        },
        value);
  }
  void Value(const Facts& /*trace*/, MemoryKind kind, std::string_view /*variant*/) {
    json_.Value(MemoryKindName(kind));
  }
  void Value(const Facts& /*trace*/, AdviceId advice, std::string_view /*variant*/) {
    json_.Value(AdviceName(advice));
  }
  void Value(const Facts& /*trace*/, FreeKnownFrom from, std::string_view /*variant*/) {
    json_.Value(from == FreeKnownFrom::kStart        ? "start"
                : from == FreeKnownFrom::kMemoryInfo ? "memory_info"
                                                     : "unknown");
  }
  void Value(const Facts& /*trace*/, const std::map<std::string, std::string>& texts,
             std::string_view /*variant*/) {
    json_.BeginObject();
    for (const auto& [key, text] : texts) {
      json_.Key(key);
      json_.Value(text);
    }
    json_.EndObject();
  }
  void Value(const Facts& /*trace*/, const std::array<uint64_t, 256>& by_kind,
             std::string_view /*variant*/);
  void Value(const Facts& /*trace*/, const std::array<uint64_t, kOffloadReasons>& by_reason,
             std::string_view /*variant*/);
  void Value(const Facts& trace, const std::vector<RankFigure>& figures, std::string_view variant);
  void OutOfMemory();

  JsonWriter& json_;
  const std::vector<const Facts*>* failures_of_ = nullptr;
};

// Writes the counts by kind of event. The counts of kinds that this version does not know are added
// up under one name.
void FactWriter::Value(const Facts& /*trace*/, const std::array<uint64_t, 256>& by_kind,
                       std::string_view /*variant*/) {
  std::vector<std::pair<std::string_view, uint64_t>> counts;
  for (size_t i = 0; i < by_kind.size(); ++i) {
    if (by_kind[i] == 0) continue;
    const std::string_view name = EventKindName(static_cast<EventKind>(i));
    const auto known = std::ranges::find(counts, name, &decltype(counts)::value_type::first);
    if (known == counts.end()) {
      counts.emplace_back(name, by_kind[i]);
    } else {
      known->second += by_kind[i];
    }
  }
  json_.BeginObject();
  for (const auto& [name, count] : counts) {
    json_.Key(name);
    json_.Value(count);
  }
  json_.EndObject();
}

void FactWriter::Value(const Facts& /*trace*/,
                       const std::array<uint64_t, kOffloadReasons>& by_reason,
                       std::string_view /*variant*/) {
  json_.BeginObject();
  for (size_t i = 0; i < by_reason.size(); ++i) {
    const auto reason = static_cast<OffloadReason>(i);
    if (reason == OffloadReason::kTouched) continue;  // this reason applies only to the way back
    if (reason == OffloadReason::kUnknown && by_reason[i] == 0) continue;
    json_.Key(OffloadReasonName(reason));
    json_.Value(by_reason[i]);
  }
  json_.EndObject();
}

void FactWriter::Value(const Facts& trace, const std::vector<RankFigure>& figures,
                       std::string_view variant) {
  json_.BeginObject();
  for (const RankFigure& figure : figures) {
    json_.Key(figure.name);
    Object(trace, figure, variant);
  }
  json_.EndObject();
}

void FactWriter::OutOfMemory() {
  json_.BeginArray();
  for (const Facts* trace : *failures_of_) {
    for (const OutOfMemoryFacts& failure : trace->out_of_memory) Object(*trace, failure);
  }
  json_.EndArray();
}

}  // namespace

std::string JsonText(const std::string& text) {
  JsonWriter json;
  json.Value(text);
  return json.Take();
}

std::string JsonReport(const FactSet& set) {
  JsonWriter json;
  FactWriter facts(&json);
  json.BeginObject();
  json.Key("schema");
  json.BeginObject();
  json.Key("name");
  json.Value(kSchemaName);
  json.Key("version");
  json.Value(kSchemaVersion);
  json.EndObject();
  std::vector<const Facts*> all;
  all.reserve(set.traces.size());
  for (const Facts& trace : set.traces) all.push_back(&trace);
  facts.Members(set.total, all);
  json.Key("rank_comparison");
  if (set.comparison.has_value()) {
    facts.Object(set.total, *set.comparison);
  } else {
    json.Null();
  }
  json.Key("ranks");
  json.BeginArray();
  for (const Facts& trace : set.traces) {
    json.BeginObject();
    facts.Members(trace, {&trace});
    json.EndObject();
  }
  json.EndArray();
  json.Key("left_out");
  json.BeginArray();
  for (const std::string& sentence : set.left_out) json.Value(sentence);
  json.EndArray();
  json.EndObject();
  return json.Take() + "\n";
}

}  // namespace vramstow
