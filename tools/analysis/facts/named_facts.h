// NamedFacts: returns a fact of a trace by its name ("device.0.total_bytes"), as a text
// (FactText), as a number (FactNumber), or as the bytes that --limit allows (LimitOfOption).
//
// Ownership: none. Threads: pure functions, callable from any thread. Errors: if there is no such
// fact, the text is empty, and the other functions return nullopt; so does FactNumber if the fact
// is no number. Units: those of the fact.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_FACTS_NAMED_FACTS_H_
#define VRAMSTOW_TOOLS_ANALYSIS_FACTS_NAMED_FACTS_H_

#include <charconv>
#include <map>
#include <optional>
#include <string>

#include "base/options.h"

namespace vramstow {

inline std::string FactText(const std::map<std::string, std::string>& facts,
                            const std::string& key) {
  const auto fact = facts.find(key);
  return fact == facts.end() ? "" : fact->second;
}

template <typename Number>
std::optional<Number> FactNumber(const std::map<std::string, std::string>& facts,
                                 const std::string& key) {
  const auto fact = facts.find(key);
  if (fact == facts.end()) return std::nullopt;
  Number number = 0;
  const char* end = fact->second.data() + fact->second.size();
  const auto [stop, error] = std::from_chars(fact->second.data(), end, number);
  if (error != std::errc() || stop != end) return std::nullopt;
  return number;
}

// True if the last limit of the device is one of vramstow's pool (vramstow_set_limit, vramstow ctl)
// and not PyTorch's fraction. `key` is that of the fact "limited_by".
inline bool IsLimitOfPool(const std::map<std::string, std::string>& facts, const std::string& key) {
  return FactText(facts, key).starts_with("vramstow");
}

// Returns how many bytes --limit allows on a device of this size; nullopt if there is no limit.
inline std::optional<uint64_t> LimitOfOption(const std::map<std::string, std::string>& facts,
                                             uint64_t total_bytes) {
  const auto option = facts.find("option.limit");
  uint64_t bytes = 0;
  if (option == facts.end() || !ParseLimit(option->second, total_bytes, &bytes)) {
    return std::nullopt;
  }
  return bytes == 0 ? std::nullopt : std::optional(bytes);
}

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_FACTS_NAMED_FACTS_H_
