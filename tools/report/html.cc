#include "tools/report/html.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tools/analysis/accounts/call_stack.h"
#include "tools/json/json_writer.h"
#include "tools/report/json.h"
#include "tools/report/page_assets.h"

namespace vramstow {
namespace {

// For all processes of a page together. A life takes about 45 bytes, a step of the levels 25.
constexpr size_t kMostLives = 150000;
constexpr size_t kMostSegments = 30000;
constexpr size_t kMostSteps = 80000;
constexpr size_t kMostSitesOfPage = 60000;

// A column of numbers, each as the difference to the one before.
class Differences {
 public:
  void Add(uint64_t value, std::string* text) {
    absl::StrAppend(text, text->empty() ? "" : ",",
                    static_cast<int64_t>(value - std::exchange(last_, value)));
  }

 private:
  uint64_t last_ = 0;
};

void AddNumber(int64_t value, std::string* text) {
  absl::StrAppend(text, text->empty() ? "" : ",", value);
}

double AreaOf(const Life& life, uint64_t end) {
  const uint64_t death = std::min(life.death, end + 1);
  return static_cast<double>(life.size) * static_cast<double>(death - life.birth);
}

// The lives that matter most, in order of birth.
std::vector<const Life*> MostOf(const std::vector<Life>& lives, size_t most, uint64_t end) {
  std::vector<const Life*> chosen;
  chosen.reserve(lives.size());
  for (const Life& life : lives) chosen.push_back(&life);
  if (chosen.size() <= most) return chosen;
  const auto rest = chosen.begin() + static_cast<ptrdiff_t>(most);
  std::nth_element(chosen.begin(), rest, chosen.end(), [end](const Life* a, const Life* b) {
    const double area_a = AreaOf(*a, end);
    const double area_b = AreaOf(*b, end);
    return area_a != area_b ? area_a > area_b : a->birth < b->birth;
  });
  chosen.resize(most);
  std::sort(chosen.begin(), chosen.end());  // they lie in one vector, by birth
  return chosen;
}

std::string LivesText(const std::vector<const Life*>& lives, size_t sites) {
  Differences address;
  Differences birth;
  Differences birth_ns;
  std::string columns[8];
  for (const Life* life : lives) {
    const bool lives_on = life->death == kStillLive;
    address.Add(life->address, &columns[0]);
    AddNumber(static_cast<int64_t>(life->size), &columns[1]);
    birth.Add(life->birth, &columns[2]);
    AddNumber(lives_on ? -1 : static_cast<int64_t>(life->death - life->birth), &columns[3]);
    birth_ns.Add(life->birth_ns, &columns[4]);
    AddNumber(lives_on ? -1 : static_cast<int64_t>(life->death_ns - life->birth_ns), &columns[5]);
    AddNumber(life->site < sites ? life->site : 0, &columns[6]);
    AddNumber(life->pending ? 1 : 0, &columns[7]);
  }
  return absl::StrCat("{\"address\":[", columns[0], "],\"size\":[", columns[1], "],\"birth\":[",
                      columns[2], "],\"life\":[", columns[3], "],\"birth_ns\":[", columns[4],
                      "],\"life_ns\":[", columns[5], "],\"site\":[", columns[6], "],\"pending\":[",
                      columns[7], "]}");
}

// Steps joined, with the highest of each, so that there are at most `most`.
std::string LevelsText(const Detail& detail, size_t most, bool with_reserved) {
  // Memory that was there before the first event comes as one step.
  const size_t before =
      std::min<size_t>((detail.first_event - 1) / detail.events_per_step, detail.levels.size());
  const size_t first = before == 0 ? 0 : before - 1;
  const size_t joined = (detail.levels.size() - first + most - 1) / std::max<size_t>(1, most);
  Differences event;
  Differences time;
  std::string columns[5];
  for (size_t i = first; i < detail.levels.size(); i += joined) {
    LevelStep step;
    const size_t end = std::min(i + joined, detail.levels.size());
    for (size_t k = i; k < end; ++k) {
      step.allocated = std::max(step.allocated, detail.levels[k].allocated);
      step.reserved = std::max(step.reserved, detail.levels[k].reserved);
    }
    step.time_ns = detail.levels[end - 1].time_ns;
    step.requested = detail.levels[end - 1].requested;
    event.Add(std::min(end * detail.events_per_step, detail.events), &columns[0]);
    time.Add(step.time_ns, &columns[1]);
    AddNumber(static_cast<int64_t>(step.allocated), &columns[2]);
    AddNumber(static_cast<int64_t>(step.reserved), &columns[3]);
    AddNumber(static_cast<int64_t>(step.requested), &columns[4]);
  }
  if (detail.levels.empty()) {
    for (std::string& column : columns) column = "0";
  }
  return absl::StrCat(
      "{\"event\":[", columns[0], "],\"time\":[", columns[1], "],\"allocated\":[", columns[2],
      "],\"reserved\":", with_reserved ? absl::StrCat("[", columns[3], "]") : "null",
      ",\"requested\":[", columns[4], "]}");
}

void WriteSite(const SiteDetail& site, JsonWriter* json) {
  json->BeginObject();
  json->Key("site");
  json->Value(site.site);
  json->Key("operation");
  json->Value(site.operation);
  json->Key("phase");
  json->Value(PhaseName(site.phase));
  json->Key("peak");
  json->Value(site.at_peak.bytes);
  json->Key("frames");
  json->BeginArray();
  for (const uint32_t frame : site.frames) json->Value(frame);
  json->EndArray();
  json->EndObject();
}

std::string SitesText(const Detail& detail, size_t most) {
  JsonWriter sites;
  sites.BeginArray();
  for (size_t i = 0; i < std::min(detail.sites.size(), most); ++i) {
    WriteSite(detail.sites[i], &sites);
  }
  if (detail.sites.empty() || most == 0) {
    SiteDetail unknown;
    unknown.site = "unknown";
    WriteSite(unknown, &sites);
  }
  sites.EndArray();
  JsonWriter frames;
  frames.BeginArray();
  for (const std::string& frame : detail.frames) frames.Value(frame);
  frames.EndArray();
  return absl::StrCat("\"sites\":", sites.Take(), ",\"frames\":", frames.Take());
}

std::string DetailText(const Facts& facts, const Detail& detail, size_t shares) {
  const size_t sites = kMostSitesOfPage / shares;
  const std::vector<const Life*> lives = MostOf(detail.lives, kMostLives / shares, detail.events);
  const std::vector<const Life*> segments =
      MostOf(detail.segments, kMostSegments / shares, detail.events);
  const std::vector<const Life*> away = MostOf(detail.away, kMostSegments / shares, detail.events);
  const uint64_t left_out = detail.lives_left_out + (detail.lives.size() - lives.size());
  return absl::StrCat("{\"events\":", detail.events, ",\"first_event\":", detail.first_event,
                      ",\"peak_event\":", detail.peak_event, ",\"left_out\":", left_out,
                      ",\"levels\":", LevelsText(detail, kMostSteps / shares, facts.reserved_known),
                      ",", SitesText(detail, sites), ",\"blocks\":", LivesText(lives, sites),
                      ",\"segments\":", LivesText(segments, sites),
                      ",\"away\":", LivesText(away, 1), "}");
}

// Inside a script element nothing may look like its end.
std::string ForScript(const std::string& json) {
  return absl::StrReplaceAll(json, {{"<", "\\u003c"}});
}

}  // namespace

std::string HtmlReport(const FactSet& set, const std::vector<const Detail*>& details) {
  std::string texts;
  for (size_t i = 0; i < details.size(); ++i) {
    absl::StrAppend(&texts, i == 0 ? "" : ",",
                    DetailText(set.traces[i], *details[i], details.size()));
  }
  // Text of a trace may look like a place to fill: each is found before anything is filled in.
  const std::string page = kPageTemplate;
  const std::pair<const char*, std::string> places[] = {
      {"@STYLE@", kPageStyle},
      {"@FACTS@", ForScript(JsonReport(set))},
      {"@DETAILS@", absl::StrCat("[", ForScript(texts), "]")},
      {"@SCRIPT@", absl::StrCat("'use strict';\n", kPageScript)}};
  std::string result;
  size_t from = 0;
  for (const auto& [name, text] : places) {
    const size_t place = page.find(name, from);
    absl::StrAppend(&result, page.substr(from, place - from), text);
    from = place + std::string_view(name).size();
  }
  return result + page.substr(from);
}

}  // namespace vramstow
