// vramstow export: writes a trace, or the recording of another program, in another format.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tools/base/words.h"
#include "tools/commands/command.h"
#include "tools/commands/command_line.h"
#include "tools/commands/output_check.h"
#include "tools/exports/csv_writer.h"
#include "tools/exports/merged_trace.h"
#include "tools/exports/parquet.h"
#include "tools/exports/perfetto.h"
#include "tools/exports/pprof.h"
#include "tools/exports/snapshot_export.h"
#include "tools/exports/text_formats.h"
#include "tools/formats/input.h"
#include "tools/formats/profiler_timeline.h"
#include "tools/formats/snapshot_reader.h"
#include "tools/formats/snapshot_writer.h"
#include "tools/inputs/open_input.h"
#include "tools/inputs/redacted_source.h"
#include "tools/inputs/stacked_source.h"
#include "tools/launch/installation.h"
#include "tools/pipeline/analyze.h"
#include "tools/report/json.h"
#include "tools/report/text_report.h"
#include "tools/terminal/output.h"
#include "tools/terminal/output_file.h"

namespace vramstow {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 18;

// The options other than the input and its format.
struct ExportRequest {
  std::string output;
  std::string merge;  // the profiler's trace; empty if there is none
  bool json = false;
  bool redact = false;
};

// Opens the events of a file, as requested.
absl::StatusOr<std::unique_ptr<EventSource>> OpenAsRequested(const std::string& file,
                                                             const ExportRequest& request) {
  auto source = OpenEvents(file, LookupFor(request.redact));
  if (!source.ok() || !request.redact) return source;
  return std::make_unique<RedactedSource>(*std::move(source), RedactorFor({file}));
}

// Writes all events with `append`. On failure returns false, and errno says why.
template <typename Append>
bool WriteEvents(EventSource* source, const char* header, int descriptor, Append append) {
  std::string buffer(header);
  Event event;
  while (source->Next(&event)) {
    append(event, &buffer);
    if (buffer.size() < kBufferBytes) continue;
    if (!WriteAll(descriptor, buffer)) return false;
    buffer.clear();
  }
  return WriteAll(descriptor, buffer);
}

// The ways to write a format: from single events, from the whole analysis, from the events as a
// snapshot, or as a folder.
enum class Way { kStream, kAnalysis, kSnapshot, kFolder };

struct Format {
  const char* name;
  Way way;
  const char* meaning;
};

constexpr Format kFormats[] = {
    {"csv", Way::kStream,
     "every event, one line each: sequence, time_ns, thread, kind, memory, call,\n"
     "            library, device, stream, address, size, requested, object, offset, result"},
    {"rmm", Way::kStream,
     "the log of RMM's logging adaptor: only blocks, with the requested sizes"},
    {"snapshot", Way::kSnapshot, "a memory snapshot for PyTorch's viewer and its _memory_viz.py"},
    {"chrome", Way::kAnalysis,
     "levels over time as counters, and marks (chrome://tracing, Perfetto)"},
    {"perfetto", Way::kAnalysis,
     "levels over time and marks, as a Perfetto trace (ui.perfetto.dev)"},
    {"pprof", Way::kAnalysis,
     "allocations, and owners of the memory at the peak, by call stack (go tool pprof)"},
    {"folded", Way::kAnalysis,
     "memory at the peak, by call stack (flamegraph.pl and similar tools)"},
    {"speedscope", Way::kAnalysis, "memory at the peak, by call stack (speedscope.app)"},
    {"parquet", Way::kFolder,
     "every event, with the levels after it: a folder with one file for each rank\n"
     "            (needs Python with pyarrow; lib/vramstow/export/facts.sql has queries)"},
};

const Format* FormatOf(std::string_view name) {
  for (const Format& format : kFormats) {
    if (name == format.name) return &format;
  }
  return nullptr;
}

bool IsBinary(const Format& format) {
  const std::string_view name = format.name;
  return name == "snapshot" || name == "perfetto" || name == "pprof";
}

// Returns "csv, rmm, … and parquet".
std::string NamesOfFormats(const char* last) {
  std::string names;
  for (const Format& format : kFormats) {
    const bool is_last = &format == std::end(kFormats) - 1;
    absl::StrAppend(&names, names.empty() ? "" : is_last ? last : ", ", format.name);
  }
  return names;
}

std::vector<std::string> FormatNames() {
  std::vector<std::string> names;
  for (const Format& format : kFormats) names.emplace_back(format.name);
  return names;
}

std::string ExportFooter() {
  std::string text;
  for (const Format& format : kFormats) {
    absl::StrAppendFormat(&text, "%-11s %s\n", format.name, format.meaning);
  }
  return text +
         "\nExamples:\n"
         "  vramstow export train-1125-2303-4711.stow --to csv | head\n"
         "  vramstow export snapshot.pickle --to speedscope -o peak.speedscope.json\n"
         "  vramstow export train-1125-2303-4711.stow --to snapshot -o snapshot.pickle\n"
         "  vramstow export runs/ --to parquet -o job/\n"
         "  vramstow export train-1125-2303-4711.stow --merge profile.json -o both.json\n\n"
         "Exit status: 0; 1 if the result could not be written; 2 if the input cannot be read.";
}

bool WriteStream(std::string_view format, EventSource* source, int descriptor) {
  if (format == "rmm") {
    RmmWriter rmm;
    return WriteEvents(source, RmmWriter::kHeader, descriptor,
                       [&rmm](const Event& event, std::string* text) { rmm.Append(event, text); });
  }
  CsvWriter csv(*source);
  return WriteEvents(source, CsvWriter::kHeader, descriptor,
                     [&csv](const Event& event, std::string* text) { csv.Append(event, text); });
}

std::string Made(std::string_view format, const Analysis& analysis) {
  if (format == "folded") return FoldedStacks(analysis.detail);
  if (format == "chrome") return ChromeTrace(analysis.facts, analysis.detail);
  if (format == "perfetto") return PerfettoTrace(analysis.facts, analysis.detail);
  if (format == "pprof") return PprofProfile(analysis.facts, analysis.detail);
  const std::string& file = analysis.facts.file;
  return Speedscope(analysis.detail, file.substr(file.rfind('/') + 1));
}

// Prints what the input lacks, if anything.
void PrintMissing(const std::string& file, const Facts& facts) {
  if (const std::string missing = MissingText(facts); !missing.empty()) {
    Complain("export", absl::StrCat(file, ": ", missing.substr(0, missing.size() - 1)));
  }
}

// Returns what an input lacks that was read to its end.
Facts LackOf(const EventSource& source) {
  Facts facts;
  facts.kind = source.Kind();
  facts.report = source.report();
  facts.missing = source.missing();
  return facts;
}

// If the file is already a snapshot, it is written unchanged. Otherwise the snapshot is made from
// its events. *lack then says what the input lacks.
absl::StatusOr<std::string> MadeSnapshot(const std::string& file, const ExportRequest& request,
                                         Facts* lack) {
  std::ostringstream out;
  absl::StatusOr<Input> input = Input::Open(file);
  if (!request.redact && input.ok() && input->sniffed().format == FileFormat::kPickle) {
    absl::StatusOr<Snapshot> snapshot = ReadSnapshot(*input);
    if (!snapshot.ok()) return snapshot.status();
    lack->kind = "pytorch_snapshot";
    for (const std::string& missing : snapshot->missing) lack->missing.push_back(missing + ".");
    if (const absl::Status status = WriteSnapshot(*snapshot, &out); !status.ok()) return status;
    return std::move(out).str();
  }
  auto source = OpenAsRequested(file, request);
  if (!source.ok()) return source.status();
  const Snapshot snapshot = SnapshotOf(source->get());
  *lack = LackOf(**source);
  for (const std::string& missing : snapshot.missing) lack->missing.push_back(missing + ".");
  if (const absl::Status status = WriteSnapshot(snapshot, &out); !status.ok()) {
    return absl::Status(status.code(), absl::StrCat(file, ": ", status.message(), "."));
  }
  return std::move(out).str();
}

int CannotWrite(const std::string& output) {
  if (errno == EPIPE) return kExitBrokenPipe;
  Complain("export", absl::StrCat("cannot write ", output.empty() ? "to standard output" : output,
                                  ": ", strerror(errno), "."));
  return kExitCannotWrite;
}

int ExportIsWrong(std::string_view sentence) {
  Complain("export", sentence);
  return kExitUsage;
}
int ExportIsWrong(const absl::Status& status) {
  return ExportIsWrong(std::string(status.message()));
}

// Prints a sentence on the file that was written, if requested.
int PrintOutputFile(const Format& format, const ExportRequest& request) {
  const std::string& output = request.output;
  if (!request.json) return kExitOk;
  uint64_t bytes = 0;
  uint64_t files = 0;
  std::error_code error;
  if (!std::filesystem::is_directory(output, error)) {
    bytes = std::filesystem::file_size(output, error);
    files = 1;
  } else {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(output, error)) {
      if (!entry.is_regular_file(error)) continue;
      bytes += entry.file_size(error);
      ++files;
    }
  }
  return PrintResult("export",
                     absl::StrCat("{\"output\":", JsonText(output), ",\"format\":\"", format.name,
                                  "\",\"files\":", files, ",\"bytes\":", bytes, "}\n"));
}

int ExportFolder(const std::vector<std::string>& inputs, const Format& format,
                 const ExportRequest& request) {
  const std::string& output = request.output;
  if (output.empty()) return ExportIsWrong("parquet is a folder of files: name one with -o.");
  const auto installation = FindInstallation();
  if (!installation.ok()) return ExportIsWrong(installation.status());
  ParquetJob job;
  for (const std::string& input : inputs) {
    std::vector<std::string> files = FilesOf(input);
    job.files.insert(job.files.end(), files.begin(), files.end());
  }
  if (job.files.empty()) return ExportIsWrong(absl::StrCat(inputs.front(), " contains no file."));
  job.folder = output;
  job.helper = installation->export_parts + "/write_parquet.py";
  // A folder may contain unrelated files, but a file that was named must be readable.
  const bool is_named = job.files == inputs;
  if (!is_named) {
    std::erase_if(job.files, [](const std::string& file) {
      auto source = OpenEvents(file);
      if (!source.ok()) Complain("export", absl::StrCat("left out: ", source.status().message()));
      return !source.ok();
    });
    if (job.files.empty()) {
      return ExportIsWrong(
          absl::StrCat(inputs.front(), " contains no file that vramstow can read."));
    }
  }
  job.open = [&request](const std::string& file) { return OpenAsRequested(file, request); };
  job.finished = [](const std::string& file, const EventSource& source) {
    PrintMissing(file, LackOf(source));
  };
  const absl::Status status = WriteParquet(job);
  if (status.ok()) return PrintOutputFile(format, request);
  Complain("export", std::string(status.message()));
  return status.code() == absl::StatusCode::kUnavailable ? kExitCannotWrite : kExitUsage;
}

int ExportFile(const std::string& file, const Format& format, const ExportRequest& request) {
  const std::string& output = request.output;
  BeginReading(file);
  std::unique_ptr<EventSource> source;
  std::string made;
  Facts input;  // what is known of the input
  if (format.way == Way::kStream) {
    auto opened = OpenAsRequested(file, request);
    if (!opened.ok()) return ExportIsWrong(opened.status());
    source = *std::move(opened);
  } else if (format.way == Way::kSnapshot) {
    auto snapshot = MadeSnapshot(file, request, &input);
    if (!snapshot.ok()) return ExportIsWrong(snapshot.status());
    made = *std::move(snapshot);
  } else {
    auto analysis = AnalyzeFile(file, "", LookupFor(request.redact));
    if (!analysis.ok()) return ExportIsWrong(analysis.status());
    if (request.redact) {
      Redactor redactor = RedactorFor({file});
      redactor.Learn(analysis->facts);
      redactor.Redact(&analysis->facts);
      redactor.Redact(&analysis->detail);
    }
    made = Made(format.name, *analysis);
    input = std::move(analysis->facts);
  }
  OutputFile out;
  if (!output.empty() && !out.Open(output)) return CannotWrite(output);
  const int descriptor = output.empty() ? STDOUT_FILENO : out.descriptor();
  const bool written = source != nullptr ? WriteStream(format.name, source.get(), descriptor)
                                         : WriteAll(descriptor, made);
  if (!written || (!output.empty() && !out.Finish())) return CannotWrite(output);
  if (source != nullptr) input = LackOf(*source);
  PrintMissing(file, input);
  return PrintOutputFile(format, request);
}

// Prints notes about the merged traces and about results that may surprise a user.
void PrintMerged(const std::string& file, const ExportRequest& request, const MergedTrace& merged) {
  if (merged.events() == 0) {
    Complain("export",
             absl::StrCat(file, " and ", request.merge,
                          " have no time in common: the result contains only the profile."));
  } else if (merged.allocations() > 0) {
    Complain("export", absl::StrCat(merged.under_operators(), " of ",
                                    Counted(merged.allocations(), "allocation"),
                                    " are below an operator; open the file in ui.perfetto.dev."));
  }
}

// Writes memory events among the events of a profiler's trace, in that trace's format.
int ExportMerged(const std::string& file, const Format& format, const ExportRequest& request) {
  BeginReading(request.merge, 0, 2);
  const absl::StatusOr<Input> profile = Input::Open(request.merge);
  if (!profile.ok()) return ExportIsWrong(profile.status());
  const auto timeline = ReadProfilerTimeline(*profile);
  if (!timeline.ok()) return ExportIsWrong(timeline.status());
  BeginReading(file, 1, 2);
  const auto start = StartOfTrace(file);
  if (!start.ok()) return ExportIsWrong(start.status());
  auto source = OpenEvents(file);
  if (!source.ok()) return ExportIsWrong(source.status());
  if (start->process != timeline->process) {
    return ExportIsWrong(absl::StrCat(request.merge, " is of process ", timeline->process, ", ",
                                      file, " of process ", start->process,
                                      ": name the trace of the same process."));
  }
  OutputFile out;
  if (!request.output.empty() && !out.Open(request.output)) return CannotWrite(request.output);
  const int descriptor = request.output.empty() ? STDOUT_FILENO : out.descriptor();
  MergedTrace merged(source->get(), *start, *timeline);
  const absl::Status status = CopyWithEvents(
      *profile, [&merged](std::string* text) { return merged.AddSome(text); },
      [descriptor](std::string_view piece) { return WriteAll(descriptor, piece); });
  if (!status.ok() && status.code() != absl::StatusCode::kUnavailable) return ExportIsWrong(status);
  if (!status.ok() || (!request.output.empty() && !out.Finish()))
    return CannotWrite(request.output);
  PrintMerged(file, request, merged);
  PrintMissing(file, LackOf(**source));
  return PrintOutputFile(format, request);
}

}  // namespace

int ExportCommand(const std::vector<std::string>& arguments) {
  std::vector<std::string> inputs;
  std::string name;
  ExportRequest request;
  const CommandLine line{
      .command = "export",
      .summary = "Writes a trace, or another program's recording, in another format.",
      .footer = ExportFooter(),
      .options = {
          {"INPUT",
           &inputs,
           "A file, as for vramstow analyze; parquet takes several, and folders",
           {.required = true}},
          {"--to", &name, "The format: " + NamesOfFormats(" or "), {.suggests = FormatNames()}},
          {"-o,--output", &request.output,
           "The file to write (for parquet: the folder); standard output without it, and for -"},
          {"--merge",
           &request.merge,
           "A PyTorch profiler trace of the same process: its events are merged with the\nmemory "
           "events (chrome)",
           {.excludes = {"--redact"}}},
          {"--redact", &request.redact,
           "Remove hosts, users, folders and arguments, so that the result can be shared"},
          {"--json", &request.json, "Print what was written, as JSON (with -o)"}}};
  if (const auto status = ReadArguments(line, arguments)) return *status;
  if (name.empty()) {
    if (request.merge.empty()) {
      return ExportIsWrong("--to needs a format: " + NamesOfFormats(" or ") + ".");
    }
    name = "chrome";
  }
  const Format* format = FormatOf(name);
  if (format == nullptr) {
    return ExportIsWrong(absl::StrCat("there is no format '", Printable(name),
                                      "': ", NamesOfFormats(" and "), " are there."));
  }
  if (request.output == "-") request.output.clear();
  if (request.output.empty() && IsBinary(*format) && isatty(STDOUT_FILENO) == 1) {
    return ExportIsWrong(absl::StrCat(
        name,
        " is binary, and standard output is a terminal: name a file with -o, or use a pipe."));
  }
  if (request.json && request.output.empty()) {
    return ExportIsWrong("--json describes the written file: name a file with -o.");
  }
  if (!request.merge.empty() && name != "chrome") {
    return ExportIsWrong(absl::StrCat("--merge writes chrome, the profiler's own format, and not ",
                                      name, ": leave --to out."));
  }
  if (format->way == Way::kFolder) return ExportFolder(inputs, *format, request);
  if (inputs.size() > 1) {
    return ExportIsWrong(absl::StrCat(name, " accepts one input; only parquet accepts several."));
  }
  if (!request.merge.empty()) inputs.push_back(request.merge);
  if (const std::string wrong = WhyNotWrite(request.output, inputs, "-o"); !wrong.empty()) {
    return ExportIsWrong(wrong);
  }
  return request.merge.empty() ? ExportFile(inputs.front(), *format, request)
                               : ExportMerged(inputs.front(), *format, request);
}

}  // namespace vramstow
