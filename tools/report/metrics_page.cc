#include "tools/report/metrics_page.h"

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <variant>
#include <vector>

#include "absl/strings/str_replace.h"
#include "tools/analysis/facts/fact_tables.h"
#include "tools/base/words.h"

namespace vramstow {
namespace {

constexpr size_t kColumns = 128;  // width of a line

constexpr std::string_view kIntroduction =
    "<!-- Made by `vramstow docs metrics` from tools/analysis/facts/fact_table*.h; do not edit "
    "below. -->\n\n## Every fact\n\nThese are all keys of `vramstow analyze --json`. `[]` stands "
    "for each row of a list. After each key follow its type, and how\nthe facts of several traces "
    "are combined: *sum*, *highest* or *lowest* of numbers, *level* for a sum in which a rank that "
    "ran\nseveral times, one attempt after the other, counts with its highest attempt, *all* or "
    "*any* of flags, *joined* if equal rows are\ncombined, *one trace* if there is no value for "
    "several.\n";

std::string_view WordOf(Merge merge) {
  switch (merge) {
    case Merge::kSum:
      return "sum";
    case Merge::kLevel:
      return "level";
    case Merge::kMax:
      return "highest";
    case Merge::kLeast:
      return "lowest";
    case Merge::kAll:
      return "all";
    case Merge::kAny:
      return "any";
    case Merge::kSame:
      return "if the same";
    case Merge::kCommon:
      return "in common";
    case Merge::kJoin:
      return "joined";
    case Merge::kParts:
    case Merge::kFirst:
      return "";
    case Merge::kOwn:
      return "one trace";
  }
  return "";
}

// The type of a fact, in words. Enums are written as texts, and numbers by kind or reason as
// objects.
template <typename Value>
struct TypeWord {
  static constexpr std::string_view kWord = std::is_same_v<Value, bool>   ? "flag"
                                            : std::is_arithmetic_v<Value> ? "number"
                                            : std::is_enum_v<Value>       ? "text"
                                                                          : "object";
};
template <>
struct TypeWord<std::string> {
  static constexpr std::string_view kWord = "text";
};
template <typename Item>
struct TypeWord<std::vector<Item>> {
  static constexpr std::string_view kWord = "list";
};
template <typename Item>
struct TypeWord<std::optional<Item>> : TypeWord<Item> {};
template <typename... Items>
struct TypeWord<std::variant<std::monostate, int64_t, Items...>> : TypeWord<int64_t> {};

// The struct inside of a type: the struct of the items of a list or of an optional, or the struct
// itself. It is void for any other type.
template <typename Value>
struct InnerStruct {
  using Type = std::conditional_t<HasFacts<Value>, Value, void>;
  static constexpr std::string_view kSuffix = "";
};
template <typename Item>
struct InnerStruct<std::vector<Item>> {
  using Type = std::conditional_t<HasFacts<Item>, Item, void>;
  static constexpr std::string_view kSuffix = "[]";
};
template <typename Item>
struct InnerStruct<std::optional<Item>> : InnerStruct<Item> {};

class Page {
 public:
  std::string Take() { return std::move(text_); }

  void Begin(std::string_view key, std::string_view meaning) {
    text_ += "\n### `" + std::string(key) + "`\n\n" + Wrapped(Sentence(meaning), kColumns) + "\n";
    is_first_ = true;
  }
  void Row(const std::string& path, std::string_view type, Merge merge, std::string_view meaning) {
    if (is_first_) text_ += "\n";
    is_first_ = false;
    std::string kind(type);
    if (!WordOf(merge).empty()) kind += ", " + std::string(WordOf(merge));
    const std::string row = "- `" + path + "` (" + kind + "): " + std::string(meaning) + ".";
    text_ += absl::StrReplaceAll(Wrapped(row, kColumns), {{"\n", "\n  "}}) + "\n";
  }

  template <HasFacts Struct>
  void Rows(const std::string& prefix, std::string_view variant) {
    ForEachEntry<Struct>([&](const auto& entry) { Entry<Struct>(entry, prefix, variant); });
  }
  // Adds the fields that a value of this type has inside; plain values have none.
  template <typename Value>
  void Inside(const std::string& path, std::string_view variant) {
    using Inner = InnerStruct<Value>;
    if constexpr (!std::is_void_v<typename Inner::Type>) {
      Rows<typename Inner::Type>(path + std::string(Inner::kSuffix) + ".", variant);
    }
  }

  template <typename Struct, typename OneEntry>
  void Entry(const OneEntry& entry, const std::string& prefix, std::string_view variant) {
    if constexpr (requires { entry.only_in; }) {
      if (!entry.only_in.empty() && entry.only_in != variant) return;
    }
    if constexpr (requires { entry.entries; }) {
      const std::string path = prefix + std::string(entry.name);
      Row(path, "object", Merge::kParts, entry.meaning);
      std::apply([&](const auto&... inner) { (Entry<Struct>(inner, path + ".", variant), ...); },
                 entry.entries);
    } else if constexpr (requires { entry.bytes_name; }) {
      Row(prefix + std::string(entry.bytes_name), "number", RuleOf(entry.merge), entry.meaning);
      Row(prefix + std::string(entry.blocks_name), "number", RuleOf(entry.merge),
          "number of blocks");
    } else if constexpr (requires { entry.value; }) {
      using Value = std::remove_cvref_t<decltype(entry.value(std::declval<const Facts&>(),
                                                             std::declval<const Struct&>()))>;
      const std::string path = prefix + std::string(entry.name);
      Row(path, TypeWord<Value>::kWord, Merge::kParts, entry.meaning);
      Inside<Value>(path, "");
    } else if constexpr (requires { entry.name; }) {
      using Value = std::remove_cvref_t<decltype(std::declval<Struct>().*entry.member)>;
      const std::string path = prefix + std::string(entry.name.empty() ? variant : entry.name);
      Row(path, entry.hex ? "text" : TypeWord<Value>::kWord, entry.merge, entry.meaning);
      Inside<Value>(path, entry.variant);
    } else if constexpr (!requires { entry.merge; }) {  // a Spread, or AsColumns
      using Value = std::remove_cvref_t<decltype(std::declval<Struct>().*entry.member)>;
      Rows<typename InnerStruct<Value>::Type>(prefix, variant);
    }
  }

 private:
  // Returns the rule by which a number of several traces is combined. A fact that consists of two
  // numbers (an Amount) has the rule kParts; each of the two numbers is a level.
  static Merge RuleOf(Merge merge) { return merge == Merge::kParts ? Merge::kLevel : merge; }
  static std::string Sentence(std::string_view words) {
    std::string sentence(words);
    if (sentence.front() >= 'a' && sentence.front() <= 'z') {
      sentence.front() = static_cast<char>(sentence.front() - 'a' + 'A');
    }
    return sentence + ".";
  }

  std::string text_ = std::string(kIntroduction);
  bool is_first_ = true;  // the next row is the first one of its section
};

// Adds a section for each key of the top-level object.
template <typename Struct, typename Entry>
void AddSection(const Entry& entry, Page* page) {
  if constexpr (requires { entry.name; }) {
    page->Begin(entry.name, entry.meaning);
    const std::string key(entry.name);
    if constexpr (requires { entry.entries; }) {
      std::apply([&](const auto&... inner) { (page->Entry<Struct>(inner, key + ".", ""), ...); },
                 entry.entries);
    } else if constexpr (requires { entry.value; }) {
      using Value = std::remove_cvref_t<decltype(entry.value(std::declval<const Facts&>(),
                                                             std::declval<const Struct&>()))>;
      page->Inside<Value>(key, "");
    } else {
      using Value = std::remove_cvref_t<decltype(std::declval<Struct>().*entry.member)>;
      page->Inside<Value>(key, entry.variant);
    }
  }
}

}  // namespace

std::string MetricsTables() {
  Page page;
  ForEachEntry<Facts>([&page](const auto& entry) { AddSection<Facts>(entry, &page); });
  page.Begin("rank_comparison", "comparison of the ranks of a job; null for fewer than two ranks");
  page.Rows<RankComparison>("rank_comparison.", "");
  page.Begin("steady",
             "only in `vramstow check` and `vramstow diff`: medians over the second half of the "
             "iterations, if there are at least four");
  page.Rows<SteadyFacts>("steady.", "");
  page.Begin("ranks",
             "the same object, without `schema` and `ranks`, for each trace, in order of rank");
  page.Begin(
      "left_out",
      "files of folders that belong to another run, or that could not be used, one sentence each");
  return page.Take();
}

}  // namespace vramstow
