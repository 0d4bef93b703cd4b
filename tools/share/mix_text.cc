#include "tools/share/mix_text.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/share_turns.h"
#include "tools/base/words.h"
#include "tools/report/text_table.h"
#include "tools/share/job_words.h"

namespace vramstow {
namespace {

constexpr size_t kTextColumns = 100;
constexpr size_t kJobColumns = 30;

double Seconds(uint64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e9; }

bool IsComplete(const std::optional<MixRun>& run) { return run.has_value() && run->is_complete(); }

std::string TimeOf(const std::optional<MixRun>& run) {
  if (!run.has_value()) return "-";
  return run->is_complete() ? Time(run->end_ns) : "failed";
}

std::string JobTable(const MixReport& report) {
  using enum Table::Align;
  Table table({kRight, kLeft, kRight, kRight, kRight, kRight, kRight, kRight, kRight});
  table.AddRow(
      {"", "job", "peak", "alone", "in the mix", "waited", "turns", "moved out", "moved back"});
  for (size_t i = 0; i < report.jobs.size(); ++i) {
    const MixJob& job = report.jobs[i];
    std::vector<std::string> cells = {absl::StrCat(i + 1),
                                      Shortened(Printable(job.text), kJobColumns, false),
                                      IsComplete(job.alone) ? Bytes(job.alone->peak_bytes) : "-",
                                      TimeOf(job.alone), TimeOf(job.mixed)};
    if (IsComplete(job.mixed)) {
      for (std::string cell : {Time(job.mixed->waited_ns), Count(job.mixed->turns),
                               Bytes(job.mixed->out_bytes), Bytes(job.mixed->in_bytes)}) {
        cells.push_back(std::move(cell));
      }
    }
    table.AddRow(std::move(cells));
  }
  return table.Text(2);
}

// Returns the makespan beside the sum of the times alone.
std::string Comparison(const MixReport& report) {
  const auto makespan = report.makespan_ns();
  const auto alone = report.alone_ns();
  Table table({Table::Align::kLeft, Table::Align::kRight, Table::Align::kLeft});
  if (alone.has_value()) table.AddRow({"one after the other", Time(*alone)});
  if (makespan.has_value()) {
    table.AddRow({"all at once (makespan)", Time(*makespan),
                  absl::StrCat(Ratio(*makespan, alone.value_or(0)), " of that")});
  }
  return makespan.has_value() || alone.has_value() ? "\n" + table.Text(2) : "";
}

bool HasTurns(const MixReport& report) {
  return std::ranges::any_of(report.jobs, [](const MixJob& job) {
    return job.mixed.has_value() && (job.mixed->turns > 0 || job.mixed->out_bytes > 0);
  });
}

// Returns the command of a job as a user types it into a shell.
std::string TypedCommandOf(const std::string& text) {
  return absl::StrJoin(WordsOfJob(text), " ", [](std::string* typed, const std::string& word) {
    absl::StrAppend(typed, ShellWord(word));
  });
}

std::string Paragraph(const std::string& text) {
  return absl::StrCat("\n", Wrapped(text, kTextColumns), "\n");
}

// Says of each run that failed why, with the end of what the job wrote.
std::string Failures(const MixReport& report) {
  std::string text;
  const auto add = [&](size_t number, const char* where, const std::optional<MixRun>& run) {
    if (!run.has_value() || run->is_complete()) return;
    absl::StrAppend(
        &text, Paragraph(absl::StrCat("Job ", number, " ", where, ": ", Printable(run->problem))));
    if (!run->last_lines.empty()) text += "The end of its output:\n";
    for (const std::string& line : run->last_lines) {
      absl::StrAppend(&text, "  ", Printable(line), "\n");
    }
  };
  for (size_t i = 0; i < report.jobs.size(); ++i) {
    const MixJob& job = report.jobs[i];
    add(i + 1, "alone", job.alone);
    if (job.alone.has_value() && job.alone->is_too_large) {
      text += Paragraph(
          absl::StrCat("Job ", i + 1, " does not fit: alone it needs more than ",
                       report.total_bytes == 0 ? "the GPU has" : Bytes(report.total_bytes),
                       ", so no turn can serve it. This command shows how much it lacks:"));
      // The command stands on one line, so that it can be copied.
      absl::StrAppend(&text, "  vramstow fit --once --simulate=", ShellWord(report.spec), " -- ",
                      TypedCommandOf(job.text), "\n");
    }
    add(i + 1, "in the mix", job.mixed);
    const auto room = report.room_bytes();
    if (room.has_value() && job.mixed.has_value() && job.mixed->is_too_large) {
      text += Paragraph(absl::StrCat(
          "Job ", i + 1, " had ", Bytes(job.alone->peak_bytes), " at the peak alone. In the mix ",
          "one job can have ", Bytes(*room), ": the contexts of all jobs stay on the GPU, and 1/",
          kShareReservedPart, " of it stays free for the driver."));
    }
  }
  return text;
}

std::string Notes(const MixReport& report) {
  const bool has_mix = report.jobs.front().mixed.has_value();
  if (!has_mix) {
    return report.is_interrupted
               ? ""
               : Paragraph("The mix did not run, because not every job ran alone.");
  }
  if (!report.makespan_ns().has_value()) return "";  // the failures say why
  if (!HasTurns(report)) {
    return Paragraph(
        "All memory fits together: no job waits, and nothing moves. On a real GPU jobs that run at "
        "the same time slow one another down; these times leave that out.");
  }
  return Paragraph(
      "Times are those of the simulated GPU (clock=model). On a real GPU jobs that run at the same "
      "time slow one another down; these times leave that out. Turns end by the time of this "
      "machine, so jobs of a few seconds exchange memory more often than on a real GPU.");
}

JsonValue JsonOfRun(const std::optional<MixRun>& run, bool with_turns) {
  if (!run.has_value()) return nullptr;
  JsonValue json = JsonValue::Object({{"status", run->status},
                                      {"seconds", nullptr},
                                      {"peak_bytes", run->peak_bytes},
                                      {"fits", !run->is_too_large},
                                      {"problem", nullptr},
                                      {"last_lines", JsonValue(run->last_lines)}});
  if (with_turns) {
    for (const char* key : {"waited_seconds", "turns", "out_bytes", "in_bytes"})
      json[key] = nullptr;
  }
  if (!run->is_complete()) {
    json["problem"] = run->problem;
    return json;
  }
  json["seconds"] = Seconds(run->end_ns);
  if (!with_turns) return json;
  json["waited_seconds"] = Seconds(run->waited_ns);
  json["turns"] = run->turns;
  json["out_bytes"] = run->out_bytes;
  json["in_bytes"] = run->in_bytes;
  return json;
}

JsonValue NumberOrNull(const std::optional<uint64_t>& number) {
  if (!number.has_value()) return nullptr;
  return *number;
}

JsonValue SecondsOrNull(const std::optional<uint64_t>& nanoseconds) {
  if (!nanoseconds.has_value()) return nullptr;
  return Seconds(*nanoseconds);
}

}  // namespace

std::string TextOf(const MixReport& report) {
  std::string text;
  if (report.is_interrupted) text += "Interrupted; these are the results so far.\n\n";
  absl::StrAppend(&text, Printable(report.spec));
  if (report.total_bytes != 0) absl::StrAppend(&text, ", ", Bytes(report.total_bytes));
  absl::StrAppend(&text, "\n", JobTable(report), Comparison(report), Failures(report),
                  Notes(report));
  return text;
}

JsonValue JsonOf(const MixReport& report) {
  JsonValue json = JsonValue::Object(
      {{"schema", JsonValue::Object({{"name", "vramstow.share"}, {"version", 1}})},
       {"card", report.spec},
       {"total_bytes", report.total_bytes},
       {"room_bytes", NumberOrNull(report.room_bytes())},
       {"interrupted", report.is_interrupted},
       {"makespan_seconds", SecondsOrNull(report.makespan_ns())},
       {"alone_seconds", SecondsOrNull(report.alone_ns())},
       {"longest_seconds", SecondsOrNull(report.longest_ns())},
       {"jobs", JsonValue::Array()}});
  for (const MixJob& job : report.jobs) {
    json["jobs"].Append(JsonValue::Object({{"command", job.text},
                                           {"alone", JsonOfRun(job.alone, false)},
                                           {"mix", JsonOfRun(job.mixed, true)}}));
  }
  return json;
}

}  // namespace vramstow
