#include "tools/doctor/finding.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "tools/base/words.h"
#include "tools/json/json_value.h"

namespace vramstow {
namespace {

constexpr size_t kIndent = 10;
constexpr size_t kNameWidth = 14;
constexpr size_t kLeastWidth = 40;

// Returns "Driver" for "driver.library", for example.
std::string TitleOf(const std::string& id) {
  std::string group = id.substr(0, id.find('.'));
  if (!group.empty() && group[0] >= 'a' && group[0] <= 'z') group[0] -= 'a' - 'A';
  return group;
}

// Wraps a text and indents all lines after the first.
std::string Hanging(std::string_view text, size_t width, size_t indent) {
  const std::string wrapped =
      Wrapped(Printable(text), std::max(kLeastWidth, width) - std::min(indent, width / 2));
  return absl::StrReplaceAll(wrapped, {{"\n", "\n" + std::string(indent, ' ')}});
}

std::string_view MarkOf(Verdict verdict) {
  return verdict == Verdict::kGood ? "ok" : verdict == Verdict::kLimited ? "limited" : "broken";
}

std::string_view YesOrNo(Verdict verdict) {
  return verdict == Verdict::kGood ? "yes" : verdict == Verdict::kLimited ? "limited" : "no";
}

}  // namespace

const Finding* FindFinding(const Findings& findings, std::string_view id) {
  const auto found = std::ranges::find(findings, id, &Finding::id);
  return found == findings.end() ? nullptr : &*found;
}

const Finding* WorstFinding(const Findings& findings, std::string_view prefix) {
  const Finding* worst = nullptr;
  for (const Finding& finding : findings) {
    if (!finding.id.starts_with(prefix)) continue;
    if (worst == nullptr || finding.verdict > worst->verdict) worst = &finding;
  }
  return worst;
}

std::string_view WordOf(Verdict verdict) {
  return verdict == Verdict::kGood ? "good" : MarkOf(verdict);
}

bool AllWorks(const Examination& examination) {
  const std::vector<std::string>& needed = examination.needed;
  const auto is_broken = [](const auto& thing) { return thing.verdict == Verdict::kBroken; };
  if (needed.empty() && std::ranges::any_of(examination.findings, is_broken)) return false;
  return std::ranges::none_of(examination.features, [&](const Feature& feature) {
    return is_broken(feature) &&
           (needed.empty() || std::ranges::find(needed, feature.name) != needed.end());
  });
}

std::string ExaminationText(const Examination& examination, size_t width) {
  std::string text = absl::StrCat("vramstow ", examination.version, ", ",
                                  examination.simulate.empty()
                                      ? "with the driver of this machine"
                                      : "with a simulated GPU: " + Printable(examination.simulate),
                                  "\n");
  std::string title;
  for (const Finding& finding : examination.findings) {
    if (title != TitleOf(finding.id)) {
      title = TitleOf(finding.id);
      absl::StrAppend(&text, "\n", title, "\n");
    }
    absl::StrAppendFormat(&text, "  %-7s %s\n", MarkOf(finding.verdict),
                          Hanging(finding.said, width, kIndent));
    if (finding.remedy.empty()) continue;
    absl::StrAppendFormat(&text, "%s-> %s\n", std::string(kIndent, ' '),
                          Hanging(finding.remedy, width, kIndent + 3));
  }
  absl::StrAppend(&text, "\nWhat will work\n");
  const size_t indent = kIndent + kNameWidth + 1;
  std::string why;
  for (const Feature& feature : examination.features) {
    absl::StrAppendFormat(&text, "  %-7s %-*s %s\n", YesOrNo(feature.verdict), kNameWidth,
                          feature.name, feature.command);
    // A reason that several features share is written once.
    if (feature.why == why) continue;
    why = feature.why;
    if (why.empty()) continue;
    absl::StrAppendFormat(&text, "%s%s\n", std::string(indent, ' '),
                          Hanging(feature.why, width, indent));
  }
  return text;
}

std::string ExaminationJson(const Examination& examination) {
  JsonValue json = JsonValue::Object(
      {{"schema", JsonValue::Object({{"name", "vramstow.doctor"}, {"version", 1}})},
       {"version", examination.version},
       {"simulate", examination.simulate},
       {"needed", examination.needed},
       {"all_works", AllWorks(examination)},
       {"findings", JsonValue::Array()},
       {"features", JsonValue::Array()}});
  for (const Finding& finding : examination.findings) {
    json["findings"].Append(JsonValue::Object({{"id", finding.id},
                                               {"verdict", WordOf(finding.verdict)},
                                               {"said", finding.said},
                                               {"remedy", finding.remedy}}));
  }
  for (const Feature& feature : examination.features) {
    json["features"].Append(JsonValue::Object({{"name", feature.name},
                                               {"command", feature.command},
                                               {"works", YesOrNo(feature.verdict)},
                                               {"why", feature.why},
                                               {"remedy", feature.remedy}}));
  }
  return json.Dump() + "\n";
}

}  // namespace vramstow
