#include "tools/analysis/advice/places.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "tools/analysis/advice/advice_words.h"

namespace vramstow {
namespace {

constexpr double kMax = 0.5;
constexpr size_t kMaxPlaces = 3;

// True if the line is in this function or class: "train.py:12 Trainer.step" is in a method of the
// class Trainer, "train.py:9 main" in the function main.
bool StandsIn(const std::string& line, std::string_view name, bool is_class) {
  const size_t space = line.find(' ');
  if (space == std::string::npos) return false;
  std::string_view function = std::string_view(line).substr(space + 1);
  if (is_class) {
    const size_t at = function.rfind(std::string(name) + ".");
    return at != std::string_view::npos && (at == 0 || function[at - 1] == '.');
  }
  return function == name || function.ends_with("." + std::string(name));
}

// Returns "volume" for "main: set.scans[*]._volume": a property of that name may store its result
// in this attribute.
std::string_view AttributeOf(std::string_view holder) {
  const size_t point = holder.rfind('.');
  if (point == std::string_view::npos || holder.find('[', point) != std::string_view::npos) {
    return "";
  }
  std::string_view name = holder.substr(point + 1);
  while (name.starts_with('_')) name.remove_prefix(1);
  return name;
}

// Returns the source line of the program at the time of its last allocation before the request: the
// deepest one outside of the model. The outermost line may be the one call at module level, which
// tells nothing.
std::string LineBefore(const FailureMoment& moment) {
  const Detail& detail = moment.detail();
  auto next = std::ranges::lower_bound(detail.lives, moment.event(), {}, &Life::birth);
  while (next != detail.lives.begin()) {
    const std::vector<CodeLine>& own = moment.site_of(*--next).own;
    if (own.empty()) continue;
    size_t depth = 0;
    while (depth + 1 < own.size() && !detail.lines[own[depth + 1].text].ends_with("forward")) {
      ++depth;
    }
    return detail.lines[own[depth].text];
  }
  return PlaceOf(detail, moment.failure().site_number);
}

// True if `place` is a call at module level, as of main(), and these blocks were allocated on
// several lines of the one function that it calls. Such a call tells nothing. A call that makes or
// runs a model does tell something.
bool IsCallOfProgram(const Detail& detail, const std::string& place,
                     const std::vector<const Life*>& lives, size_t depth) {
  if (!place.ends_with(" <module>")) return false;
  const CodeLine* first = nullptr;
  for (const Life* life : lives) {
    const std::vector<CodeLine>& own = detail.sites[life->site].own;
    if (depth >= own.size()) return false;
    if (first == nullptr) first = &own[depth];
    if (own[depth].function != first->function) return false;
  }
  const std::string& line = detail.lines[first->text];
  return !line.ends_with("forward") && !line.ends_with("__init__");
}

}  // namespace

std::string CommonPlace(const Detail& detail, const std::vector<const Life*>& lives,
                        bool stops_at_model) {
  uint64_t all = 0;
  std::vector<const Life*> here;
  for (const Life* life : lives) {
    if (detail.sites[life->site].own.empty()) continue;
    here.push_back(life);
    all += life->size;
  }
  std::string place;
  for (size_t depth = 0; !here.empty(); ++depth) {
    std::map<uint32_t, uint64_t> by_line;
    for (const Life* life : here) {
      const std::vector<CodeLine>& own = detail.sites[life->site].own;
      if (depth < own.size()) by_line[own[depth].text] += life->size;
    }
    const auto most = std::ranges::max_element(
        by_line, [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most == by_line.end()) break;
    const bool is_most = static_cast<double>(most->second) >= kMax * static_cast<double>(all);
    if (!is_most && !IsCallOfProgram(detail, place, here, depth)) break;
    const uint32_t text = most->first;
    if (stops_at_model && detail.lines[text].ends_with("forward")) break;
    place = detail.lines[text];
    std::erase_if(here, [&](const Life* life) {
      const std::vector<CodeLine>& own = detail.sites[life->site].own;
      return depth >= own.size() || own[depth].text != text;
    });
  }
  return place;
}

std::string PlaceInProgram(const FailureMoment& moment, const std::vector<const Life*>& lives) {
  const std::string place = CommonPlace(moment.detail(), lives);
  if (!place.empty()) return place;
  const SiteDetail& first = moment.site_of(*lives.front());
  if (first.own.empty() && first.in_backward) {
    const std::string call = moment.passes().BackwardCall(moment.detail(), lives.back()->birth);
    if (!call.empty()) return call;
  }
  return PlaceOf(moment.detail(), lives.front()->site);
}

std::string PlaceOfRequest(const FailureMoment& moment) {
  const SiteDetail& site = moment.request_site();
  if (site.own.empty() && site.in_backward) {
    const std::string call = moment.passes().BackwardCall(moment.detail(), moment.event());
    return call.empty() ? LineBefore(moment) : call;
  }
  return PlaceOf(moment.detail(), moment.failure().site_number);
}

std::string PlaceOfHolder(const Detail& detail, const std::vector<const Life*>& lives,
                          const std::string& holder) {
  // In "main: kept[3]" the owner is a variable of the function main; in "Trainer.kept[3]" it
  // belongs to the class Trainer.
  const size_t colon = holder.find(": ");
  const size_t point = holder.find('.');
  const bool is_class = point < colon;
  const std::string_view name = std::string_view(holder).substr(0, std::min(colon, point));
  if (name.empty() || name.find(' ') != std::string_view::npos) return "";
  const std::string_view attribute = AttributeOf(holder);
  std::map<std::string, uint64_t> by_line;
  uint64_t all = 0;
  for (const Life* life : lives) {
    all += life->size;
    const std::vector<CodeLine>& own = detail.sites[life->site].own;
    for (auto line = own.rbegin(); line != own.rend(); ++line) {
      const std::string& text = detail.lines[line->text];
      const bool is_property = !attribute.empty() && StandsIn(text, attribute, false);
      if (!is_property && !StandsIn(text, name, is_class)) continue;
      by_line[detail.lines[line->text]] += life->size;
      break;
    }
  }
  const auto most = std::ranges::max_element(
      by_line, [](const auto& a, const auto& b) { return a.second < b.second; });
  // If an object receives its tensors from other code, none of its own lines is in the call stacks
  // of the tensors.
  const bool is_most = most != by_line.end() &&
                       static_cast<double>(most->second) >= kMax / 2 * static_cast<double>(all);
  return is_most ? most->first : "";
}

std::string PlaceOf(const Detail& detail, uint32_t site) {
  const SiteDetail& words = detail.sites[site];
  return words.own.empty() ? words.site : detail.lines[words.own.back().text];
}

std::string LargestPlaces(const Detail& detail, const std::vector<const Life*>& lives) {
  std::map<std::string, uint64_t> by_place;
  for (const Life* life : lives) by_place[PlaceOf(detail, life->site)] += life->size;
  std::vector<std::pair<std::string, uint64_t>> sorted(by_place.begin(), by_place.end());
  std::ranges::stable_sort(sorted,
                           [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  for (size_t i = 0; i < std::min(sorted.size(), kMaxPlaces); ++i) {
    text +=
        (text.empty() ? "" : ", ") + sorted[i].first + " (" + AdviceText(sorted[i].second) + ")";
  }
  return text;
}

}  // namespace vramstow
