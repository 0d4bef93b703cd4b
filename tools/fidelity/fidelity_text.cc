#include "tools/fidelity/fidelity_text.h"

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "tools/base/words.h"

namespace vramstow {
namespace {

constexpr size_t kMaxItems = 6;  // the most items of one part in the text

std::string Percent(double share) { return absl::StrFormat("%.2f%%", 100 * share); }

std::string ItemsText(const std::vector<SequenceItem>& items) {
  if (items.empty()) return "nothing";
  std::vector<std::string> words;
  for (const SequenceItem& item : items) {
    if (words.size() == kMaxItems) {
      words.push_back(absl::StrCat("… ", items.size() - kMaxItems, " more"));
      break;
    }
    words.push_back(absl::StrCat(item.is_free ? "free " : "", item.bytes, " B"));
  }
  return absl::StrJoin(words, ", ");
}

std::string PartText(const SequencePart& part) {
  std::string text = absl::StrFormat("  %s, first before the real GPU's event %s\n",
                                     Counted(part.times, "time"), Count(part.first_event));
  const auto line = [&text](const char* who, const std::vector<SequenceItem>& items,
                            const std::string& site) {
    absl::StrAppendFormat(&text, "    %-10s %s%s\n", who, ItemsText(items),
                          site.empty() ? "" : "   " + Printable(site));
  };
  line("real GPU", part.on_card, part.card_site);
  line("simulated", part.rehearsed, part.rehearsed_site);
  return text;
}

std::string SizesText(const char* label, uint64_t card, uint64_t rehearsed) {
  const double off =
      card == 0 ? 0 : 100 * (static_cast<double>(rehearsed) / static_cast<double>(card) - 1);
  return absl::StrFormat("  %-10s %s on the real GPU, %s in the simulated run (%+.2f%%)\n", label,
                         Bytes(card), Bytes(rehearsed), off);
}

std::string SegmentSizesText(const std::map<uint64_t, uint64_t>& sizes) {
  std::vector<std::string> words;
  for (auto size = sizes.rbegin(); size != sizes.rend(); ++size) {
    if (words.size() == kMaxItems) {
      words.push_back(absl::StrCat("… ", sizes.size() - kMaxItems, " more sizes"));
      break;
    }
    words.push_back(absl::StrCat(size->second, " of ", Bytes(size->first)));
  }
  return words.empty() ? "none" : absl::StrJoin(words, ", ");
}

std::string HeldText(const HeldMemory& held) {
  if (!held.is_known) return "  reserved   not compared: the snapshot contains no segments\n";
  std::string text = SizesText("reserved", held.card_peak_bytes, held.rehearsed_peak_bytes);
  if (held.has_parts) return text;
  absl::StrAppendFormat(&text, "  %-10s %s on the real GPU, %s in the simulated run", "segments",
                        Count(held.card_segments), Count(held.rehearsed_segments));
  if (!held.only_on_card.empty() || !held.only_rehearsed.empty()) {
    absl::StrAppendFormat(&text, "; only on the real GPU: %s; only in the simulated run: %s",
                          SegmentSizesText(held.only_on_card),
                          SegmentSizesText(held.only_rehearsed));
  }
  return text + "\n";
}

std::string TryText(const Compared& compared, const Compared& other) {
  const bool is_better = other.facts.LeftOver() < compared.facts.LeftOver();
  return absl::StrFormat("tried %s: %s aligned%s\n", Printable(other.spec),
                         Percent(other.facts.AlignedShare()), is_better ? "" : ", no better");
}

JsonValue ItemsJson(const std::vector<SequenceItem>& items) {
  JsonValue array = JsonValue::Array();
  for (const SequenceItem& item : items) {
    array.Append(JsonValue::Object({{"is_free", item.is_free}, {"bytes", item.bytes}}));
  }
  return array;
}

JsonValue HeldJson(const HeldMemory& held) {
  if (!held.is_known) return nullptr;
  const auto sizes = [](const std::map<uint64_t, uint64_t>& of) {
    JsonValue array = JsonValue::Array();
    for (const auto& [size, count] : of) {
      array.Append(JsonValue::Object({{"bytes", size}, {"count", count}}));
    }
    return array;
  };
  return JsonValue::Object({{"card_peak_bytes", held.card_peak_bytes},
                            {"rehearsed_peak_bytes", held.rehearsed_peak_bytes},
                            {"card_segments", held.card_segments},
                            {"rehearsed_segments", held.rehearsed_segments},
                            {"only_on_card", sizes(held.only_on_card)},
                            {"only_rehearsed", sizes(held.only_rehearsed)}});
}

JsonValue OtherReleaseJson(const std::optional<MovedFunction>& moved) {
  if (!moved.has_value()) return nullptr;
  return JsonValue::Object({{"file", moved->file},
                            {"function", moved->function},
                            {"card_line", moved->card_line},
                            {"rehearsed_line", moved->rehearsed_line}});
}

JsonValue ComparedJson(const Compared& compared) {
  const FidelityFacts& facts = compared.facts;
  JsonValue json = JsonValue::Object({{"simulate", compared.spec},
                                      {"card_events", facts.card_events},
                                      {"rehearsed_events", facts.rehearsed_events},
                                      {"window_begin", facts.window_begin},
                                      {"window_end", facts.window_end},
                                      {"aligned", facts.aligned},
                                      {"aligned_share", facts.AlignedShare()},
                                      {"only_on_card", facts.only_on_card},
                                      {"only_rehearsed", facts.only_rehearsed},
                                      {"is_longest", facts.is_longest},
                                      {"card_peak_bytes", facts.card_peak_bytes},
                                      {"rehearsed_peak_bytes", facts.rehearsed_peak_bytes},
                                      {"reserved", HeldJson(facts.held)},
                                      {"other_release", OtherReleaseJson(facts.other_release)},
                                      {"parts_left_out", facts.parts_left_out},
                                      {"parts", JsonValue::Array()},
                                      {"causes", JsonValue::Array()}});
  for (const SequencePart& part : facts.parts) {
    json["parts"].Append(JsonValue::Object({{"times", part.times},
                                            {"first_event", part.first_event},
                                            {"card", ItemsJson(part.on_card)},
                                            {"rehearsed", ItemsJson(part.rehearsed)},
                                            {"card_site", part.card_site},
                                            {"rehearsed_site", part.rehearsed_site}}));
  }
  for (const SequenceCause& cause : facts.causes) {
    json["causes"].Append(
        JsonValue::Object({{"setting", cause.setting},
                           {"sentence", cause.sentence},
                           {"spec", cause.specs.empty() ? "" : cause.specs.front()},
                           {"events", cause.events}}));
  }
  return json;
}

}  // namespace

std::string FidelityText(const FidelityReport& report) {
  const auto& [compared, tried] = report;
  const FidelityFacts& facts = compared.facts;
  std::string text = absl::StrFormat(
      "%s\n  %-10s %s of %s events aligned by size and order (%s); %s only on the real GPU, %s "
      "only in the simulated run\n",
      Printable(compared.spec), "events", Count(facts.aligned), Count(facts.card_events),
      Percent(facts.AlignedShare()), Count(facts.only_on_card), Count(facts.only_rehearsed));
  text += SizesText("peak", facts.card_peak_bytes, facts.rehearsed_peak_bytes);
  text += HeldText(facts.held);
  if (facts.other_release.has_value()) {
    const MovedFunction& moved = *facts.other_release;
    absl::StrAppendFormat(
        &text, "  %-10s another release: %s:%d %s on the real GPU, line %d here\n", "PyTorch",
        Printable(moved.file), moved.card_line, Printable(moved.function), moved.rehearsed_line);
  }
  if (facts.window_begin > 0 || facts.window_end < facts.rehearsed_events) {
    absl::StrAppendFormat(
        &text, "  %-10s the recording corresponds to the simulated run's events %s to %s of %s\n",
        "part", Count(facts.window_begin), Count(facts.window_end), Count(facts.rehearsed_events));
  }
  if (!facts.is_longest)
    text += "  the two differ much: a part was aligned with a greedy algorithm\n";
  if (!facts.parts.empty()) text += "where they differ:\n";
  for (const SequencePart& part : facts.parts) text += PartText(part);
  if (facts.parts_left_out > 0) {
    absl::StrAppendFormat(&text, "  and in %s more ways\n", Count(facts.parts_left_out));
  }
  if (!facts.causes.empty()) text += "possible explanations:\n";
  for (const SequenceCause& cause : facts.causes) {
    absl::StrAppendFormat(&text, "  %-18s %s: %s\n", cause.setting, Counted(cause.events, "event"),
                          cause.sentence);
  }
  for (const Compared& other : tried) text += TryText(compared, other);
  return text;
}

JsonValue FidelityJson(const FidelityReport& report) {
  JsonValue json = ComparedJson(report.compared);
  json["schema"] = JsonValue::Object({{"name", "vramstow.fidelity"}, {"version", 1}});
  json["tried"] = JsonValue::Array();
  for (const Compared& other : report.tried) json["tried"].Append(ComparedJson(other));
  return json;
}

}  // namespace vramstow
