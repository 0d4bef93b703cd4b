#include "tools/analysis/facts/fact_names.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <type_traits>

#include "tools/analysis/facts/fact_tables.h"

namespace vramstow {
namespace {

struct Names {
  std::map<std::string, std::string, std::less<>> path_of;  // by short name
  std::map<int, std::string> compared;                      // by place

  void Add(const std::string& path, std::string_view short_name, int place) {
    if (!short_name.empty()) path_of.emplace(short_name, path);
    if (place != 0) compared.emplace(place, path);
  }
};

template <HasFacts Struct>
void AddStruct(const std::string& prefix, Names* names);

template <typename Struct, typename Entry>
void NameEntry(const Entry& entry, const std::string& prefix, Names* names) {
  if constexpr (requires { entry.entries; }) {
    const std::string inside = prefix + std::string(entry.name) + ".";
    std::apply([&](const auto&... inner) { (NameEntry<Struct>(inner, inside, names), ...); },
               entry.entries);
  } else if constexpr (requires { entry.bytes_name; }) {
    names->Add(prefix + std::string(entry.bytes_name), entry.short_name, entry.compared);
  } else if constexpr (requires { entry.member; }) {
    using Member = std::remove_cvref_t<decltype(std::declval<Struct>().*entry.member)>;
    if constexpr (!requires { entry.merge; }) {  // a Spread
      if constexpr (HasFacts<Member>) AddStruct<Member>(prefix, names);
    } else if constexpr (requires { entry.name; }) {
      const std::string path = prefix + std::string(entry.name);
      names->Add(path, entry.short_name, entry.compared);
      if constexpr (HasFacts<Member>) AddStruct<Member>(path + ".", names);
    }
  } else if constexpr (requires { entry.value; }) {
    names->Add(prefix + std::string(entry.name), entry.short_name, entry.compared);
  }
}

template <HasFacts Struct>
void AddStruct(const std::string& prefix, Names* names) {
  ForEachEntry<Struct>([&](const auto& entry) { NameEntry<Struct>(entry, prefix, names); });
}

const Names& AllNames() {
  static const Names* const names = [] {
    auto* all = new Names;
    AddStruct<Facts>("", all);
    AddStruct<SteadyFacts>("steady.", all);
    return all;
  }();
  return *names;
}

}  // namespace

std::string PathOfFact(const std::string& name) {
  const auto known = AllNames().path_of.find(name);
  return known == AllNames().path_of.end() ? name : known->second;
}

std::vector<std::string> ShortNamesOfFacts() {
  std::vector<std::string> names;
  for (const auto& [name, path] : AllNames().path_of) names.push_back(name);
  return names;
}

const std::vector<std::string>& ComparedFacts() {
  static const auto* const paths = [] {
    auto* all = new std::vector<std::string>;
    for (const auto& [place, path] : AllNames().compared) all->push_back(path);
    return all;
  }();
  return *paths;
}

std::vector<std::pair<std::string_view, uint64_t>> ListedPeaks(const Peak& peak) {
  std::vector<std::pair<std::string_view, uint64_t>> listed;
  ForEachEntry<Peak>([&](const auto& fact) {
    if (!fact.label.empty()) listed.emplace_back(fact.label, peak.*fact.member);
  });
  return listed;
}

}  // namespace vramstow
