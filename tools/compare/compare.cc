#include "tools/compare/compare.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "base/units.h"
#include "tools/analysis/facts/fact_names.h"
#include "tools/base/likely_name.h"
#include "tools/base/words.h"
#include "tools/json/json_value.h"

namespace vramstow {
namespace {

constexpr size_t kLeastIterations = 4;  // fewer iterations have no steady second half

// Returns the processes of the facts that used memory. Of a rank that ran several times, one
// attempt after the other, returns the attempt with the highest peak. If the facts are those of one
// process, returns them.
std::vector<const JsonValue*> HighestOfRanks(const JsonValue& facts) {
  if (facts.Items("ranks").size() < 2) return {&facts};
  const auto peak_of = [](const JsonValue& process) {
    return FigureOf(process, "peak.allocated_bytes").value_or(0);
  };
  std::map<double, const JsonValue*> of_rank;
  double number = 0;
  for (const JsonValue& process : facts.Items("ranks")) {
    if (peak_of(process) <= 0) continue;
    // A process without a rank counts like a rank of its own.
    const double rank = FigureOf(process, "process.rank").value_or(--number);
    const JsonValue*& highest = of_rank[rank];
    if (highest == nullptr || peak_of(process) > peak_of(*highest)) highest = &process;
  }
  std::vector<const JsonValue*> processes;
  for (const auto& [rank, process] : of_rank) processes.push_back(process);
  return processes;
}

// A trace without call stacks has no call sites, only libraries.
bool HasSites(const JsonValue& facts) {
  const std::vector<const JsonValue*> processes = HighestOfRanks(facts);
  return !processes.empty() && std::ranges::none_of(processes, [](const JsonValue* process) {
    return process->Items("by_site").empty();
  });
}

const JsonValue* SteadySitesOf(const JsonValue& facts) {
  const JsonValue* steady = facts.Find("steady");
  return steady == nullptr ? nullptr : steady->Find("sites");
}

// `key` names the list of the facts: "by_site" or "by_library".
void AddSites(const JsonValue& facts, const char* key, bool is_after,
              std::map<std::string, SiteChange>* changes) {
  for (const JsonValue& row : facts.Items(key)) {
    const std::string library = row.Text("library");
    const std::string site = library.empty() ? row.Text("site") : library;
    SiteChange& change = (*changes)[site];
    const int64_t at_peak = row.Integer("bytes_at_peak");
    if (change.site.empty() || at_peak > change.peak_before) {
      change.operation = row.Text("operation");
    }
    change.site = site;
    (is_after ? change.peak_after : change.peak_before) += at_peak;
    (is_after ? change.end_after : change.end_before) += row.Integer("bytes_at_end");
  }
}

void AddSteadySites(const JsonValue& facts, bool is_after,
                    std::map<std::string, SiteChange>* changes) {
  const JsonValue* steady = SteadySitesOf(facts);
  if (steady == nullptr) return;
  for (const JsonValue& row : steady->items()) {
    const std::string site = row.Text("site");
    SiteChange& change = (*changes)[site];
    change.site = site;
    (is_after ? change.steady_after : change.steady_before) += row.Integer("bytes");
  }
}

// Evaluates "2GiB", "1.5", "1.1 * peak_allocated" or "peak_allocated * 1.1".
std::optional<double> ValueOf(const JsonValue& facts, std::string_view text) {
  double product = 1;
  for (const absl::string_view part :
       absl::StrSplit(absl::string_view(text.data(), text.size()), '*')) {
    const std::string word(absl::StripAsciiWhitespace(part));
    double number = 0;
    uint64_t bytes = 0;
    if (absl::SimpleAtod(word, &number)) {
      product *= number;
    } else if (ParseBytes(word, &bytes)) {
      product *= static_cast<double>(bytes);
    } else if (const auto figure = FigureOf(facts, word)) {
      product *= *figure;
    } else {
      return std::nullopt;
    }
  }
  return product;
}

std::string NameOfProcess(const JsonValue& facts) {
  if (const auto rank = FigureOf(facts, "process.rank")) return absl::StrFormat("rank %.0f", *rank);
  if (const auto pid = FigureOf(facts, "process.pid")) return absl::StrFormat("process %.0f", *pid);
  const JsonValue* input = facts.Find("input");
  return input == nullptr ? "" : Printable(input->Text("file"));
}

// Returns one sentence if the figure is the sum of those of several processes. Otherwise returns an
// empty text. Of a rank that ran several times, one attempt after the other, a level counts once.
std::string SumInWords(const JsonValue& facts, const std::string& name) {
  const auto total = FigureOf(facts, name);
  if (!total.has_value()) return "";
  double sum = 0;
  double most = 0;
  size_t parts = 0;
  std::map<double, double> of_rank;
  const JsonValue* highest = nullptr;
  for (const JsonValue& process : facts.Items("ranks")) {
    const double value = FigureOf(process, name).value_or(0);
    if (value <= 0) continue;
    ++parts;
    sum += value;
    // A process without a rank counts like a rank of its own.
    const double rank = FigureOf(process, "process.rank").value_or(-static_cast<double>(parts));
    of_rank[rank] = std::max(of_rank[rank], value);
    if (value <= most) continue;
    most = value;
    highest = &process;
  }
  if (parts < 2) return "";
  double of_attempts = 0;
  for (const auto& [rank, value] : of_rank) of_attempts += value;
  std::string of;
  if (sum == *total) {
    of = absl::StrCat(" is the sum of ", parts, " processes");
  } else if (of_attempts == *total) {
    of = absl::StrCat(" is the sum of ", of_rank.size(), of_rank.size() == 1 ? " rank" : " ranks",
                      ", each in its highest attempt");
  } else {
    return "";
  }
  return absl::StrCat(name, of, "; the highest is ", FigureText(FullPath(name), most), ", ",
                      NameOfProcess(*highest), ".");
}

// Adds a sentence for each figure of the product that is a sum over processes.
void AddSums(const JsonValue& facts, const std::string& product, std::vector<std::string>* sums) {
  for (const absl::string_view word : absl::StrSplit(product, '*')) {
    std::string sum = SumInWords(facts, std::string(absl::StripAsciiWhitespace(word)));
    if (!sum.empty() && std::ranges::find(*sums, sum) == sums->end()) {
      sums->push_back(std::move(sum));
    }
  }
}

// Bytes and counts are shown as whole numbers of 64 bits.
bool IsShown(double size) { return std::isfinite(size) && std::abs(size) < 0x1p64; }

bool Compare(double left, const std::string& sign, double right) {
  if (sign == "<=") return left <= right;
  if (sign == ">=") return left >= right;
  if (sign == "==") return left == right;
  if (sign == "!=") return left != right;
  return sign == "<" ? left < right : left > right;
}

// Returns null if there is no fact at this path.
const JsonValue* Find(const JsonValue& facts, const std::string& path) {
  const JsonValue* at = &facts;
  for (const absl::string_view part : absl::StrSplit(FullPath(path), '.')) {
    const std::string key(part);
    size_t index = 0;
    if (const JsonValue* member = at->Find(key)) {
      at = member;
    } else if (absl::SimpleAtoi(key, &index) && index < at->items().size()) {
      at = &at->items()[index];
    } else {
      return nullptr;
    }
  }
  return at;
}

// Adds the paths of all numbers, except those in lists and those of single ranks.
void AddNumbers(const JsonValue& facts, const std::string& prefix,
                std::vector<std::string>* names) {
  for (const auto& [key, value] : facts.members()) {
    const std::string path = prefix.empty() ? key : absl::StrCat(prefix, ".", key);
    if (value.is_number() || value.is_array()) names->push_back(path);
    if (value.is_object()) AddNumbers(value, path, names);
  }
}

// Returns the similar name that the user probably meant; empty if there is none.
std::string LikelyNumber(const JsonValue& facts, const std::string& name) {
  std::vector<std::string> names = ShortNamesOfFacts();
  AddNumbers(facts, "", &names);
  const std::string likely = LikelyName(name, names);
  if (!likely.empty()) return likely;
  // The user may have given only the end of a path, for example "reserved_bytes".
  const auto ends = std::ranges::find_if(
      names, [&name](const std::string& path) { return path.ends_with("." + name); });
  return ends == names.end() ? "" : *ends;
}

// Some facts are left out of the JSON if the input has nothing that they could be made of.
bool IsNameOfFact(const std::string& name) {
  const std::vector<std::string>& paths = ComparedFacts();
  return FullPath(name) != name || std::ranges::find(paths, name) != paths.end();
}

// Returns a sentence that says why the facts have no number for a product with this text.
std::string NoNumber(const JsonValue& facts, const std::string& product) {
  std::string name = product;
  for (const absl::string_view part : absl::StrSplit(product, '*')) {
    name = std::string(absl::StripAsciiWhitespace(part));
    if (!ValueOf(facts, name).has_value()) break;
  }
  const JsonValue* at = Find(facts, name);
  if (at == nullptr ? IsNameOfFact(name) : at->is_null()) {
    const bool is_steady = FullPath(name).starts_with("steady.");
    return absl::StrCat(
        "'", name, "' is not known: the input does not contain it",
        is_steady ? absl::StrCat(", because it has fewer than ", kLeastIterations, " iterations.")
                  : ".");
  }
  const std::string likely = LikelyNumber(facts, name);
  return absl::StrCat("the facts contain no number '", name, "'",
                      likely.empty() ? ": see" : absl::StrCat(", did you mean ", likely, "? See"),
                      " vramstow analyze --json for those there are.");
}

}  // namespace

std::string FullPath(const std::string& name) { return PathOfFact(name); }

std::string UnequalText(const std::string& path, double value, double other) {
  const std::string text = FigureText(path, value);
  if (value == other || text != FigureText(path, other)) return text;
  const double size = std::abs(value);
  if (size != std::floor(size) || !IsShown(size)) return absl::StrFormat("%.17g", value);
  return absl::StrCat(value < 0 ? "-" : "", Count(static_cast<uint64_t>(size)),
                      path.find("_bytes") == std::string::npos ? "" : " B");
}

std::optional<double> FigureOf(const JsonValue& facts, const std::string& path) {
  const JsonValue* at = Find(facts, path);
  if (at == nullptr) return std::nullopt;
  if (at->is_array()) return static_cast<double>(at->items().size());
  return at->is_number() ? std::optional<double>(at->Double()) : std::nullopt;
}

std::vector<FigureChange> CompareFigures(const JsonValue& before, const JsonValue& after) {
  std::vector<FigureChange> changes;
  for (const std::string& path : ComparedFacts()) {
    const auto was = FigureOf(before, path);
    const auto is = FigureOf(after, path);
    if (was.has_value() && is.has_value()) changes.push_back({path, *was, *is});
  }
  return changes;
}

std::vector<std::string> FiguresOnlyIn(const JsonValue& some, const JsonValue& others) {
  std::vector<std::string> paths;
  for (const std::string& path : ComparedFacts()) {
    if (FigureOf(some, path).has_value() && !FigureOf(others, path).has_value()) {
      paths.push_back(path);
    }
  }
  return paths;
}

std::vector<SiteChange> CompareSites(const JsonValue& before, const JsonValue& after) {
  std::map<std::string, SiteChange> by_site;
  // Source lines cannot be compared with libraries.
  const bool are_alike = HasSites(before) == HasSites(after);
  const bool is_by_site = HasSites(before) && HasSites(after);
  const auto add = [&](const JsonValue& facts, bool is_after) {
    if (!is_by_site) return AddSites(facts, "by_library", is_after, &by_site);
    for (const JsonValue* process : HighestOfRanks(facts)) {
      AddSites(*process, "by_site", is_after, &by_site);
    }
  };
  add(before, false);
  add(after, true);
  if (are_alike && SteadySitesOf(before) != nullptr && SteadySitesOf(after) != nullptr) {
    AddSteadySites(before, false, &by_site);
    AddSteadySites(after, true, &by_site);
  }
  std::vector<SiteChange> changes;
  for (auto& [key, change] : by_site) {
    if (change.peak_before == change.peak_after && change.end_before == change.end_after &&
        change.steady_before == change.steady_after) {
      continue;
    }
    changes.push_back(std::move(change));
  }
  std::stable_sort(changes.begin(), changes.end(), [](const SiteChange& a, const SiteChange& b) {
    const auto size = [](const SiteChange& change) {
      return std::max({std::abs(change.peak_after - change.peak_before),
                       std::abs(change.steady_after - change.steady_before),
                       std::abs(change.end_after - change.end_before)});
    };
    return size(a) > size(b);
  });
  return changes;
}

void AddSteadyState(const std::vector<const Detail*>& details, JsonValue* facts) {
  const std::vector<JsonValue>& all = facts->Items("iterations");
  if (all.size() < kLeastIterations) return;
  std::vector<int64_t> peaks;
  std::vector<int64_t> between;
  for (size_t i = all.size() / 2; i < all.size(); ++i) {
    peaks.push_back(all[i].Integer("peak_bytes"));
    between.push_back(all[i].Integer("begin_bytes"));
  }
  const auto median = [](std::vector<int64_t> values) {
    std::ranges::sort(values);
    return values[values.size() / 2];
  };
  JsonValue steady =
      JsonValue::Object({{"peak_bytes", median(peaks)}, {"between_bytes", median(between)}});
  if (details.size() == 1) {
    const JsonValue& middle = all[all.size() * 3 / 4];
    const auto begin = static_cast<uint64_t>(middle.Integer("begin_event"));
    std::map<std::string, uint64_t> held;
    for (const Life& life : details.front()->lives) {
      // Uses the blocks that were live before the iteration's first event. The block of that event
      // itself does not count.
      if (life.pending || life.birth >= begin || life.death < begin) continue;
      held[details.front()->sites[life.site].site] += life.size;
    }
    JsonValue sites = JsonValue::Array();
    for (const auto& [site, bytes] : held) {
      sites.Append(JsonValue::Object({{"site", site}, {"bytes", bytes}}));
    }
    steady["sites"] = std::move(sites);
  }
  (*facts)["steady"] = std::move(steady);
}

std::string FigureText(const std::string& path, double value) {
  const bool is_bytes = path.find("_bytes") != std::string::npos;
  const std::string sign = value < 0 ? "-" : "";
  const double size = std::abs(value);
  if (!IsShown(size)) return absl::StrFormat("%g", value);
  if (is_bytes) return sign + Bytes(static_cast<uint64_t>(size));
  if (path.ends_with("_seconds")) return absl::StrFormat("%s%.4g s", sign, size);
  if (size == std::floor(size)) return sign + Count(static_cast<uint64_t>(size));
  return absl::StrFormat("%.3f", value);
}

absl::StatusOr<Assertion> Assert(const JsonValue& facts, const std::string& text) {
  Assertion result;
  for (const absl::string_view clause : absl::StrSplit(text, "&&")) {
    const std::string one(absl::StripAsciiWhitespace(clause));
    const size_t place = one.find_first_of("<>=!");
    if (place == std::string::npos) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", one, "' compares nothing: write for example 'peak_reserved <= 2GiB'."));
    }
    const bool two = place + 1 < one.size() && one[place + 1] == '=';
    const std::string sign = one.substr(place, two ? 2 : 1);
    if (sign == "=" || sign == "!") {
      return absl::InvalidArgumentError(
          absl::StrCat("'", sign, "' is not a comparison operator: use <, <=, ==, !=, >= or >."));
    }
    const std::string left(absl::StripAsciiWhitespace(one.substr(0, place)));
    const std::string right(absl::StripAsciiWhitespace(one.substr(place + sign.size())));
    const auto left_value = ValueOf(facts, left);
    const auto right_value = ValueOf(facts, right);
    if (!left_value.has_value() || !right_value.has_value()) {
      return absl::InvalidArgumentError(NoNumber(facts, left_value.has_value() ? right : left));
    }
    for (const std::string& side : {left, right}) {
      if (IsShown(*ValueOf(facts, side))) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("'", side, "' is not a number below 2^64, so it cannot be compared."));
    }
    for (const std::string& side : {left, right}) AddSums(facts, side, &result.sums);
    if (Compare(*left_value, sign, *right_value)) continue;
    result.holds = false;
    const std::string path = FullPath(left);
    absl::StrAppend(
        &result.why_not, result.why_not.empty() ? "" : " ",
        absl::StrFormat("%s is %s, not %s %s.", left, UnequalText(path, *left_value, *right_value),
                        sign, UnequalText(path, *right_value, *left_value)));
  }
  return result;
}

}  // namespace vramstow
