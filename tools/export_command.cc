// vramstow export: a trace, or what another program recorded, in another format.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tools/arguments.h"
#include "tools/command.h"
#include "tools/csv.h"
#include "tools/export_formats.h"
#include "tools/inputs/analyze_input.h"
#include "tools/output.h"
#include "tools/report/text.h"
#include "tools/report/words.h"

namespace vramstow {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 18;

// Whether both name the same file.
bool IsSameFile(const std::string& a, const std::string& b) {
  struct stat status_a;
  struct stat status_b;
  return stat(a.c_str(), &status_a) == 0 && stat(b.c_str(), &status_b) == 0 &&
         status_a.st_dev == status_b.st_dev && status_a.st_ino == status_b.st_ino;
}

// Writes all events with `append`. False: errno says why not.
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

// What is made of events one by one.
bool IsStream(const std::string& format) { return format == "csv" || format == "rmm"; }

bool WriteStream(const std::string& format, EventSource* source, int descriptor) {
  if (format == "rmm") {
    RmmWriter rmm;
    return WriteEvents(source, RmmWriter::kHeader, descriptor,
                       [&rmm](const Event& event, std::string* text) { rmm.Append(event, text); });
  }
  CsvWriter csv(*source);
  return WriteEvents(source, CsvWriter::kHeader, descriptor,
                     [&csv](const Event& event, std::string* text) { csv.Append(event, text); });
}

// What is made of the analysis.
std::string Made(const std::string& format, const Analysis& analysis) {
  if (format == "folded") return FoldedStacks(analysis.detail);
  if (format == "chrome") return ChromeTrace(analysis.facts, analysis.detail);
  const std::string& file = analysis.facts.file;
  return Speedscope(analysis.detail, file.substr(file.rfind('/') + 1));
}

int CannotWrite(const std::string& output) {
  Complain("export", absl::StrCat("cannot write ", output.empty() ? "to standard output" : output,
                                  ": ", strerror(errno), "."));
  return kExitCannotWrite;
}

}  // namespace

int ExportCommand(const std::vector<std::string>& arguments) {
  CLI::App app("Writes a trace, or what another program recorded, in another format.");
  app.footer(
      "csv         every event, one line each: sequence, time_ns, thread, kind, memory, call,\n"
      "            library, device, stream, address, size, requested, object, offset, result\n"
      "rmm         the log of RMM's logging adaptor: blocks only, sizes as requested\n"
      "chrome      levels over time as counters, and marks (chrome://tracing, Perfetto)\n"
      "folded      who held the peak, by call stack (flamegraph.pl and its kin)\n"
      "speedscope  the same for speedscope\n\n"
      "Examples:\n"
      "  vramstow export python-4711.stow --to csv | head\n"
      "  vramstow export snapshot.pickle --to speedscope -o peak.speedscope.json\n\n"
      "Exit status: 0; 1 if the result could not be written; 2 if the input cannot be read.");
  std::string file;
  std::string format;
  std::string output;
  app.add_option("INPUT", file, "A file, as for vramstow analyze")->required();
  app.add_option("--to", format, "The format: csv, rmm, chrome, folded or speedscope")->required();
  app.add_option("-o,--output", output, "The file to write; standard output if not given");
  if (const auto status = ReadArguments(&app, "export", arguments)) return *status;
  const auto wrong = [](const std::string& sentence) {
    Complain("export", sentence);
    return kExitUsage;
  };
  if (!IsStream(format) && format != "chrome" && format != "folded" && format != "speedscope") {
    return wrong(absl::StrCat("there is no format '", Printable(format),
                              "': csv, rmm, chrome, folded and speedscope are there."));
  }
  std::unique_ptr<EventSource> source;
  std::string made;
  if (IsStream(format)) {
    auto opened = OpenEvents(file);
    if (!opened.ok()) return wrong(std::string(opened.status().message()));
    source = *std::move(opened);
  } else {
    auto analysis = AnalyzeFile(file);
    if (!analysis.ok()) return wrong(std::string(analysis.status().message()));
    made = Made(format, *analysis);
  }
  int descriptor = STDOUT_FILENO;
  if (!output.empty()) {
    if (IsSameFile(file, output)) {
      return wrong(absl::StrCat(output, " is the trace itself: name another file with -o."));
    }
    descriptor = open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (descriptor < 0) return CannotWrite(output);
  }
  const bool written = source != nullptr ? WriteStream(format, source.get(), descriptor)
                                         : WriteAll(descriptor, made);
  if (!written || (!output.empty() && close(descriptor) != 0)) return CannotWrite(output);
  if (source == nullptr) return kExitOk;
  Facts facts;
  facts.kind = source->Kind();
  facts.report = source->report();
  facts.missing = source->missing();
  if (const std::string missing = MissingText(facts); !missing.empty()) {
    Complain("export", absl::StrCat(file, ": ", missing.substr(0, missing.size() - 1)));
  }
  return kExitOk;
}

}  // namespace vramstow
