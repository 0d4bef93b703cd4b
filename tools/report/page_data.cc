#include "tools/report/page_data.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "tools/analysis/accounts/call_stack.h"
#include "tools/analysis/explain/category_of.h"
#include "tools/json/json_writer.h"
#include "tools/report/page_clock.h"
#include "tools/report/sections.h"

namespace vramstow {
namespace {

// Limits for all processes of a page together. In the page, a life takes about 45 bytes, and a step
// of the levels about 25.
constexpr size_t kMaxLives = 150000;
constexpr size_t kMaxSegments = 30000;
constexpr size_t kMaxSteps = 80000;
constexpr size_t kMaxSitesOfPage = 60000;

// A column of numbers. Each number is written as the difference to the number before it.
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

// Texts to which many entries refer. Each text is stored once.
class Names {
 public:
  int64_t NumberOf(const std::string& name) {
    const auto [known, inserted] = numbers_.try_emplace(name, all_.size());
    if (inserted) all_.push_back(name);
    return static_cast<int64_t>(known->second);
  }
  std::string Text() const {
    JsonWriter json;
    json.BeginArray();
    for (const std::string& name : all_) json.Value(name);
    json.EndArray();
    return json.Take();
  }

 private:
  absl::flat_hash_map<std::string, size_t> numbers_;
  std::vector<std::string> all_;
};

double AreaOf(const Life& life, uint64_t end) {
  const uint64_t death = std::min(life.death, end + 1);
  return static_cast<double>(life.size) * static_cast<double>(death - life.birth);
}

// Returns the most important lives, in order of birth.
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

// Returns the purpose of each block, and the call site that freed it.
std::string UsesText(const Detail& detail, const std::vector<const Life*>& lives, size_t sites) {
  const CategoryFinder finder(detail);
  Names names;
  std::string uses;
  std::string freed;
  for (const Life* life : lives) {
    AddNumber(names.NumberOf(finder.NameOf(*life)), &uses);
    AddNumber(life->free_site < sites ? life->free_site : 0, &freed);
  }
  return absl::StrCat("{\"names\":", names.Text(), ",\"of\":[", uses, "],\"freed_at\":[", freed,
                      "]}");
}

// Returns the owner of each block according to the censuses (reference scans) of the process. If
// several censuses found a block, the last one counts.
std::string HoldersText(const Detail& detail, const std::vector<const Life*>& lives) {
  absl::flat_hash_map<uint64_t, std::vector<size_t>> at;  // by address
  for (size_t i = 0; i < lives.size() && !detail.censuses.empty(); ++i) {
    if (lives[i]->tensor) at[lives[i]->address].push_back(i);
  }
  absl::flat_hash_map<size_t, const HeldBlock*> held;
  for (const CensusDetail& census : detail.censuses) {
    for (const HeldBlock& block : census.blocks) {
      const auto found = at.find(block.address);
      if (found == at.end()) continue;
      for (const size_t i : found->second) {
        if (lives[i]->device == block.device && lives[i]->LivesAt(census.event)) held[i] = &block;
      }
    }
  }
  Names names;
  std::string columns[4];
  for (size_t i = 0; i < lives.size(); ++i) {
    const auto found = held.find(i);
    if (found == held.end()) continue;
    AddNumber(static_cast<int64_t>(i), &columns[0]);
    AddNumber(names.NumberOf(found->second->holder), &columns[1]);
    AddNumber(names.NumberOf(found->second->role), &columns[2]);
    AddNumber(names.NumberOf(found->second->about), &columns[3]);
  }
  return absl::StrCat("{\"names\":", names.Text(), ",\"block\":[", columns[0], "],\"holder\":[",
                      columns[1], "],\"role\":[", columns[2], "],\"about\":[", columns[3], "]}");
}

// Returns the levels in at most `most` steps. If there are more steps in the detail, several are
// joined to one, which has their highest values.
std::string LevelsText(const Detail& detail, size_t most, bool with_reserved) {
  // The state before the first event of the recording becomes one step.
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
  json->Key("module");
  json->Value(site.module);
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
  const absl::flat_hash_set<std::string_view> lines(detail.lines.begin(), detail.lines.end());
  std::string own;
  JsonWriter frames;
  frames.BeginArray();
  for (size_t i = 0; i < detail.frames.size(); ++i) {
    frames.Value(detail.frames[i]);
    if (lines.contains(detail.frames[i])) AddNumber(static_cast<int64_t>(i), &own);
  }
  frames.EndArray();
  return absl::StrCat("\"sites\":", sites.Take(), ",\"frames\":", frames.Take(),
                      ",\"own_frames\":[", own, "]");
}

// Returns the sentences of the text reports that the page also shows.
std::string WordsText(const Facts& facts) {
  JsonWriter json;
  json.BeginObject();
  const std::pair<const char*, std::string> words[] = {
      {"need", NeedInWords(facts.offload)},
      {"carried", CarriedInWords(facts.offload)},
      {"moved", facts.offload.carries_job ? MostMovedInWords(facts.offload) : ""},
      {"costs", MovesCostInWords(facts)},
      {"instead", HandChangeInWords(facts, 0)},
      {"or", HandChangeInWords(facts, 1)},
      {"step", StepInWords(facts.model_clock)}};
  for (const auto& [key, sentence] : words) {
    json.Key(key);
    json.Value(sentence);
  }
  json.EndObject();
  return json.Take();
}

// Returns the changes of state of a process that shares its GPU, as three columns.
std::string TurnsText(const std::vector<TurnChange>& turns) {
  const auto column = [&](auto value) {
    return absl::StrJoin(turns, ",", [&](std::string* text, const TurnChange& change) {
      absl::StrAppend(text, value(change));
    });
  };
  return absl::StrCat("{\"event\":[", column([](const TurnChange& change) { return change.event; }),
                      "],\"device\":[",
                      column([](const TurnChange& change) { return change.device; }),
                      "],\"state\":[", column([](const TurnChange& change) {
                        return absl::StrCat("\"", NameOf(change.state), "\"");
                      }),
                      "]}");
}

std::string SourcesText(const std::vector<SourceLines>& sources) {
  JsonWriter json;
  json.BeginArray();
  for (const SourceLines& source : sources) {
    json.BeginObject();
    json.Key("frame");
    json.Value(source.frame);
    json.Key("first");
    json.Value(source.first);
    json.Key("is_newer");
    json.Value(source.is_newer);
    json.Key("lines");
    json.BeginArray();
    for (const std::string& line : source.lines) json.Value(line);
    json.EndArray();
    json.EndObject();
  }
  json.EndArray();
  return json.Take();
}

}  // namespace

std::string PageData(const Facts& facts, const PageSource& source, size_t shares) {
  const Detail& detail = *source.detail;
  const size_t sites = kMaxSitesOfPage / shares;
  const std::vector<const Life*> lives = MostOf(detail.lives, kMaxLives / shares, detail.events);
  const std::vector<const Life*> segments =
      MostOf(detail.segments, kMaxSegments / shares, detail.events);
  const std::vector<const Life*> away = MostOf(detail.away, kMaxSegments / shares, detail.events);
  const uint64_t left_out = detail.lives_left_out + (detail.lives.size() - lives.size());
  return absl::StrCat(
      "{\"events\":", detail.events, ",\"first_event\":", detail.first_event,
      ",\"peak_event\":", detail.peak_event, ",\"left_out\":", left_out,
      ",\"levels\":", LevelsText(detail, kMaxSteps / shares, facts.reserved_known), ",",
      SitesText(detail, sites), ",\"sources\":", SourcesText(source.lines),
      ",\"blocks\":", LivesText(lives, sites), ",\"uses\":", UsesText(detail, lives, sites),
      ",\"holders\":", HoldersText(detail, lives), ",\"segments\":", LivesText(segments, sites),
      ",\"away\":", LivesText(away, 1), ",\"clock\":", ClockText(detail, facts.model_clock),
      ",\"turns\":", TurnsText(detail.turns), ",\"words\":", WordsText(facts), "}");
}

}  // namespace vramstow
