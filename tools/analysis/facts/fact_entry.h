// FactEntry: the entries of which the tables of facts consist.
//
// Idea: a struct of facts has a table, Described<Struct>::kFacts: a tuple of entries, one for each
// member, in the order of the JSON. An entry has the name, the rule by which several traces are
// merged, and the meaning of the fact. Code that treats all facts alike (JSON, sums over ranks, the
// page docs/metrics.md, the names that `vramstow check` knows) is a function over entries.
//
// Ownership: constants. Threads: plain values without synchronisation. Errors: none. Units: given
// by the ending of the name (_bytes, _ns).
#ifndef VRAMSTOW_TOOLS_ANALYSIS_FACTS_FACT_ENTRY_H_
#define VRAMSTOW_TOOLS_ANALYSIS_FACTS_FACT_ENTRY_H_

#include <cstdint>
#include <string_view>
#include <tuple>

namespace vramstow {

struct Facts;

// The table of a struct of facts; fact_table.h defines all of them.
template <typename Struct>
struct Described;

// A struct that has a table.
template <typename Struct>
concept HasFacts = requires {
  Described<Struct>::kFacts;
};

// The rule by which the facts of several traces are merged to one.
enum class Merge : uint8_t {
  kSum,     // the sum
  kLevel,   // the sum, in which attempts of a rank that ran one after the other count once
  kMax,     // the highest
  kLeast,   // the lowest
  kAll,     // true if it is for all
  kAny,     // true if it is for one
  kSame,    // the value if it is the same for all, otherwise the value for "several"
  kCommon,  // what all have in common
  kParts,   // of a struct: each fact by its own rule
  kJoin,    // of a list: rows with the same keys become one, each fact by its own rule
  kFirst,   // the value of the first trace; rows with the same keys usually agree
  kOwn,     // for one trace only; empty for several
};

// A member.
template <typename Struct, typename Member>
struct Fact {
  // If the name is empty, the entry has the name that RowsAs sets for the rows of its list.
  constexpr Fact(std::string_view called, Member Struct::*pointer, Merge rule,
                 std::string_view words)
      : name(called), member(pointer), merge(rule), meaning(words) {}

  using Condition = bool (*)(const Facts& trace, const Struct& self);

  // Writes the fact as null in the JSON if the condition does not hold.
  constexpr Fact KnownIf(Condition condition) const {
    Fact fact = *this;
    fact.known = condition;
    return fact;
  }
  // Leaves the fact out of the JSON if the condition does not hold.
  constexpr Fact WrittenIf(bool (*condition)(const Facts& trace)) const {
    Fact fact = *this;
    fact.written = condition;
    return fact;
  }
  // Names the variant of the rows in this list (or of the struct). OnlyIn compares its argument
  // with it, and a fact without a name gets it as its name.
  constexpr Fact RowsAs(std::string_view row_variant) const {
    Fact fact = *this;
    fact.variant = row_variant;
    return fact;
  }
  // Writes the fact only in rows of this variant.
  constexpr Fact OnlyIn(std::string_view row_variant) const {
    Fact fact = *this;
    fact.only_in = row_variant;
    return fact;
  }
  // Writes the fact with 0x, because it is an address or a handle.
  constexpr Fact Hex() const {
    Fact fact = *this;
    fact.hex = true;
    return fact;
  }
  // Marks the fact as a key. Rows that agree in all their keys are joined.
  constexpr Fact Key() const {
    Fact fact = *this;
    fact.key = true;
    return fact;
  }
  // Sets the short name that `vramstow check` also accepts.
  constexpr Fact Short(std::string_view other) const {
    Fact fact = *this;
    fact.short_name = other;
    return fact;
  }
  // Lets `vramstow diff` compare the fact by default. `place` is its position in the list of
  // compared facts, from 1. A larger value counts as worse.
  constexpr Fact Compared(int place) const {
    Fact fact = *this;
    fact.compared = place;
    return fact;
  }
  // Lets the report list the fact under this name in its section on the peak.
  constexpr Fact Label(std::string_view words) const {
    Fact fact = *this;
    fact.label = words;
    return fact;
  }

  std::string_view name;
  Member Struct::*member;
  Merge merge;
  std::string_view meaning;
  Condition known = nullptr;
  bool (*written)(const Facts&) = nullptr;
  std::string_view variant;
  std::string_view only_in;
  std::string_view short_name;
  std::string_view label;
  int compared = 0;
  bool hex = false;
  bool key = false;
};

// A member that is not written to the JSON. Other facts may be derived from it.
template <typename Struct, typename Member>
struct Inner {
  constexpr Inner(Member Struct::*pointer, Merge rule) : member(pointer), merge(rule) {}
  constexpr Inner Key() const {
    Inner inner = *this;
    inner.key = true;
    return inner;
  }

  Member Struct::*member;
  Merge merge;
  bool key = false;
};

// A fact that is computed from other facts: `value` is called with the trace and the struct. It
// returns a number, a text, a struct with a table, or an optional or variant of these.
template <typename Value>
struct Derived {
  constexpr Derived(std::string_view called, Value function, std::string_view words)
      : name(called), value(function), meaning(words) {}
  constexpr Derived WrittenIf(bool (*condition)(const Facts& trace)) const {
    Derived derived = *this;
    derived.written = condition;
    return derived;
  }
  constexpr Derived OnlyIn(std::string_view row_variant) const {
    Derived derived = *this;
    derived.only_in = row_variant;
    return derived;
  }
  constexpr Derived Short(std::string_view other) const {
    Derived derived = *this;
    derived.short_name = other;
    return derived;
  }
  constexpr Derived Compared(int place) const {
    Derived derived = *this;
    derived.compared = place;
    return derived;
  }

  std::string_view name;
  Value value;
  std::string_view meaning;
  bool (*written)(const Facts&) = nullptr;
  std::string_view only_in;
  std::string_view short_name;
  int compared = 0;
};

// A member that is a struct, whose facts are written beside those of the enclosing struct.
template <typename Struct, typename Member>
struct Spread {
  constexpr explicit Spread(Member Struct::*pointer) : member(pointer) {}

  Member Struct::*member;
};

// An Amount whose two numbers are written as separate facts.
template <typename Struct, typename Member>
struct TwoNumbers {
  constexpr TwoNumbers(std::string_view bytes, std::string_view blocks, Member Struct::*pointer,
                       Merge rule, std::string_view words)
      : bytes_name(bytes), blocks_name(blocks), member(pointer), merge(rule), meaning(words) {}
  constexpr TwoNumbers Compared(std::string_view short_of_bytes, int place) const {
    TwoNumbers numbers = *this;
    numbers.short_name = short_of_bytes;
    numbers.compared = place;
    return numbers;
  }

  std::string_view bytes_name;
  std::string_view blocks_name;
  Member Struct::*member;
  Merge merge;
  std::string_view meaning;
  std::string_view short_name;  // of the bytes
  int compared = 0;             // of the bytes
};

// A list that is written as one array for each fact of its rows.
template <typename Struct, typename Member>
struct AsColumns {
  constexpr explicit AsColumns(Member Struct::*pointer) : member(pointer) {}

  Member Struct::*member;
};

// Entries that are written as a JSON object of their own.
enum class GroupMode : uint8_t { kAlways, kNullUnless, kLeftOutUnless };
template <typename Condition, typename... Entries>
struct Group {
  constexpr Group(std::string_view called, GroupMode how, Condition when, std::string_view words,
                  Entries... all)
      : name(called), mode(how), condition(when), meaning(words), entries(all...) {}

  std::string_view name;
  GroupMode mode;
  Condition condition;
  std::string_view meaning;
  std::tuple<Entries...> entries;
};
struct Always {
  template <typename Struct>
  constexpr bool operator()(const Facts& /*trace*/, const Struct& /*self*/) const {
    return true;
  }
};

// Calls visit(entry) for each entry of a struct, in order. For a group it calls visit once, and the
// visitor itself visits the entries of the group.
template <typename Struct, typename Visit>
constexpr void ForEachEntry(Visit visit) {
  std::apply([&visit](const auto&... entries) { (visit(entries), ...); },
             Described<Struct>::kFacts);
}

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_FACTS_FACT_ENTRY_H_
