#include "tools/plan/plan_text.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tools/base/words.h"
#include "tools/plan/plan_rehearser.h"
#include "tools/report/text_table.h"

namespace vramstow {
namespace {

// The text shows at most this many rows that fit. Of the rows that do not fit, it shows the first
// of each group, up to the second limit. JSON has all rows.
constexpr size_t kMaxFitting = 20;
constexpr size_t kMaxOthers = 20;
constexpr size_t kTextColumns = 100;
constexpr double kSecondsPerHour = 3600;

bool Fits(const PlanRow& row) { return row.fits; }
bool IsTight(const PlanRow& row) { return row.tight; }
bool IsNotReached(const PlanRow& row) { return row.not_reached; }
bool DoesNotFit(const PlanRow& row) { return !row.fits && !row.tight && !row.not_reached; }
bool IsFitted(const PlanRow& row) { return row.source == PlanRow::Source::kFitted; }

std::string About(const PlanRow& row, const std::string& text) {
  return IsFitted(row) ? "~" + text : text;
}

std::string PeakText(const PlanRow& row) {
  return row.peak_bytes.has_value() ? About(row, Bytes(*row.peak_bytes)) : "-";
}

uint64_t SpareBytes(const PlanRow& row) {
  return row.total_bytes - std::min(row.total_bytes, row.peak_bytes.value_or(row.total_bytes));
}

std::string StepText(const PlanRow& row) {
  if (!row.step.has_value()) return "-";
  return About(row, Time(static_cast<uint64_t>(row.step->seconds * 1e9)));
}

std::string RateText(const PlanRow& row) {
  if (row.Rate() == 0 || row.step->tokens == 0) return "-";
  return About(row, Count(static_cast<uint64_t>(std::llround(row.Rate()))));
}

std::string HoursText(const PlanReport& report, const PlanRow& row) {
  const auto hours = CardHours(report, row);
  return hours.has_value() ? About(row, absl::StrFormat(*hours < 10 ? "%.2f" : "%.0f", *hours))
                           : "-";
}

bool HasSteps(const PlanReport& report) {
  return std::ranges::any_of(report.result.rows, [](const PlanRow& row) {
    return (row.fits || row.tight) && row.step.has_value();
  });
}

std::vector<std::string> WithSettings(const PlanRow& row) {
  std::vector<std::string> cells = {Printable(row.card)};
  for (const Setting& setting : row.choice) cells.push_back(Printable(setting.value));
  return cells;
}

std::vector<std::string> HeadOf(const PlanReport& report) {
  std::vector<std::string> head = {"card"};
  for (const std::string& name : report.names) head.push_back(name);
  return head;
}

void AddAll(std::vector<std::string>* cells, std::vector<std::string> more) {
  std::ranges::move(more, std::back_inserter(*cells));
}

// Returns a table of the rows that `is_selected` selects: those that fit, or those that are tight.
std::string FittingTable(const PlanReport& report, bool (*is_selected)(const PlanRow&)) {
  const bool has_steps = HasSteps(report);
  std::vector<Table::Align> columns = {Table::Align::kLeft};
  columns.resize(1 + report.names.size() + (has_steps ? 5 : 2), Table::Align::kRight);
  Table table(columns);
  std::vector<std::string> head = HeadOf(report);
  AddAll(&head, {"peak", "head room"});
  if (has_steps) AddAll(&head, {"step", "tokens/s"});
  if (has_steps && report.tokens.has_value()) head.emplace_back("card hours");
  table.AddRow(head);
  size_t shown = 0;
  size_t fitting = 0;
  for (const PlanRow& row : report.result.rows) {
    if (!is_selected(row) || ++fitting > kMaxFitting) continue;
    ++shown;
    std::vector<std::string> cells = WithSettings(row);
    AddAll(&cells, {PeakText(row), About(row, Bytes(SpareBytes(row)))});
    if (has_steps) AddAll(&cells, {StepText(row), RateText(row)});
    if (has_steps && report.tokens.has_value()) cells.push_back(HoursText(report, row));
    table.AddRow(std::move(cells));
  }
  std::string text = table.Text(2);
  if (fitting > shown) absl::StrAppend(&text, "  and ", fitting - shown, " more (--json)\n");
  return text;
}

// True if two rows have the same card, differ in one value at most, and fail for the same kind of
// reason. The text then shows only the first of them.
bool IsOfSameGroup(const PlanRow& a, const PlanRow& b) {
  if (a.card != b.card || a.failed != b.failed) return false;
  size_t differing = 0;
  for (size_t i = 0; i < a.choice.size(); ++i) {
    differing += a.choice[i].value != b.choice[i].value ? 1 : 0;
  }
  return differing <= 1;
}

// Returns a table of the rows that `is_selected` selects, with the reasons.
std::string OthersTable(const PlanReport& report, bool (*is_selected)(const PlanRow&)) {
  Table table(std::vector<Table::Align>(2 + report.names.size(), Table::Align::kLeft));
  size_t shown = 0;
  size_t others = 0;
  const PlanRow* last = nullptr;
  for (const PlanRow& row : report.result.rows) {
    if (!is_selected(row)) continue;
    ++others;
    if ((last != nullptr && IsOfSameGroup(*last, row)) || shown == kMaxOthers) continue;
    last = &row;
    if (shown++ == 0) table.AddRow(HeadOf(report));
    std::vector<std::string> cells = WithSettings(row);
    cells.push_back(Printable(row.why_not));
    table.AddRow(std::move(cells));
  }
  std::string text = table.Text(2);
  if (others > shown) {
    absl::StrAppend(&text, "  and ", others - shown, " more, larger or alike (--json)\n");
  }
  return text;
}

const char* NameOf(PlanRow::Source source) {
  switch (source) {
    case PlanRow::Source::kRehearsed:
      return "rehearsed";
    case PlanRow::Source::kFitted:
      return "fitted";
    case PlanRow::Source::kUnknown:
      return "unknown";
  }
  return "unknown";
}

JsonValue JsonOfRow(const PlanReport& report, const PlanRow& row) {
  JsonValue settings = JsonValue::Object();
  for (const Setting& setting : row.choice) settings[setting.name] = setting.value;
  JsonValue json = JsonValue::Object({{"card", row.card},
                                      {"settings", std::move(settings)},
                                      {"fits", row.fits},
                                      {"tight", row.tight},
                                      {"source", NameOf(row.source)},
                                      {"peak_bytes", nullptr},
                                      {"total_bytes", nullptr},
                                      {"spare_bytes", nullptr},
                                      {"step_seconds", nullptr},
                                      {"step_parts", nullptr},
                                      {"step_kernels", nullptr},
                                      {"step_kernels_not_estimated", nullptr},
                                      {"tokens_per_step", nullptr},
                                      {"tokens_per_second", nullptr},
                                      {"card_hours", nullptr},
                                      {"why_not", nullptr},
                                      {"command", TypedCommand(report.command, row.choice)}});
  if (row.peak_bytes.has_value()) {
    json["peak_bytes"] = *row.peak_bytes;
    json["spare_bytes"] =
        static_cast<int64_t>(row.total_bytes) - static_cast<int64_t>(*row.peak_bytes);
  }
  if (row.total_bytes > 0) json["total_bytes"] = row.total_bytes;
  if (row.step.has_value()) {
    json["step_seconds"] = row.step->seconds;
    for (const auto& [name, seconds] : row.step->parts) json["step_parts"][name] = seconds;
  }
  if (row.step.has_value() && row.step->launched > 0) {
    json["step_kernels"] = row.step->launched;
    json["step_kernels_not_estimated"] = row.step->unknown_kernels;
  }
  if (row.step.has_value() && row.step->tokens > 0) {
    json["tokens_per_step"] = row.step->tokens;
    json["tokens_per_second"] = row.Rate();
  }
  if (const auto hours = CardHours(report, row)) json["card_hours"] = *hours;
  if (!row.why_not.empty()) json["why_not"] = row.why_not;
  return json;
}

}  // namespace

std::optional<double> CardHours(const PlanReport& report, const PlanRow& row) {
  if (!report.tokens.has_value() || !row.step.has_value() || row.step->tokens == 0 ||
      row.Rate() == 0) {
    return std::nullopt;
  }
  const auto card = std::ranges::find(report.cards, row.card, &PlanCard::text);
  const double count = card == report.cards.end() ? 1.0 : static_cast<double>(card->count);
  return *report.tokens / row.Rate() / kSecondsPerHour * count;
}

std::string TextOf(const PlanReport& report) {
  const std::vector<PlanRow>& rows = report.result.rows;
  const bool any_fits = !rows.empty() && rows.front().fits;
  const bool any_tight = std::ranges::any_of(rows, IsTight);
  const std::string margin = MarginText(report.margin);
  std::string text;
  if (report.result.interrupted) {
    absl::StrAppend(&text, "Interrupted; these are the results so far.\n\n");
  }
  if (any_fits) {
    absl::StrAppend(&text, "Fits, with ", margin, " of the GPU's memory free",
                    HasSteps(report) ? "; the fastest first" : "", ":\n");
    text += FittingTable(report, Fits);
  } else if (any_tight) {
    absl::StrAppend(&text, "Nothing fits with ", margin, " of the GPU's memory free.\n");
  } else if (report.result.interrupted) {
    text += "Nothing fits so far.\n";
  } else {
    text += "Nothing fits.\n";
  }
  if (any_tight) {
    absl::StrAppend(&text, any_fits ? "\n" : "", "Tight: fits and leaves less than ", margin,
                    " of the GPU's memory:\n");
    text += FittingTable(report, IsTight);
  }
  if (std::ranges::any_of(rows, IsFitted)) {
    text += "  ~ is fitted between simulated runs; the first row was always run itself.\n";
  }
  if (std::ranges::any_of(rows, DoesNotFit)) {
    absl::StrAppend(&text, "\nDoes not fit:\n", OthersTable(report, DoesNotFit));
  }
  if (std::ranges::any_of(rows, IsNotReached)) {
    absl::StrAppend(&text, "\nNot tried:\n", OthersTable(report, IsNotReached));
  }
  for (const std::string& hint : report.hints) {
    absl::StrAppend(&text, "\n", Wrapped(hint, kTextColumns), "\n");
  }
  for (const std::string& note : report.notes)
    absl::StrAppend(&text, "\n", Wrapped(note, kTextColumns), "\n");
  if (any_fits) {
    absl::StrAppend(&text, "\nTo run the first, on ", Printable(rows.front().card), ":\n  ",
                    TypedCommand(report.command, rows.front().choice), "\n");
  }
  return text;
}

JsonValue JsonOf(const PlanReport& report) {
  JsonValue json =
      JsonValue::Object({{"schema", JsonValue::Object({{"name", "vramstow.plan"}, {"version", 1}})},
                         {"interrupted", report.result.interrupted},
                         {"rehearsals", report.result.rehearsals},
                         {"margin", report.margin},
                         {"tokens", nullptr},
                         {"hints", JsonValue(report.hints)},
                         {"notes", JsonValue(report.notes)},
                         {"rows", JsonValue::Array()}});
  if (report.tokens.has_value()) json["tokens"] = *report.tokens;
  for (const PlanRow& row : report.result.rows) json["rows"].Append(JsonOfRow(report, row));
  return json;
}

}  // namespace vramstow
