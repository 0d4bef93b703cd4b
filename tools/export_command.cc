// vramstow export: the events of a trace in another format.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tools/analysis/trace_source.h"
#include "tools/arguments.h"
#include "tools/command.h"
#include "tools/csv.h"
#include "tools/output.h"
#include "tools/report/text.h"

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

// Writes all events. False: errno says why not.
bool WriteEvents(TraceSource* source, int descriptor) {
  CsvWriter csv(*source);
  std::string buffer(CsvWriter::kHeader);
  Event event;
  while (source->Next(&event)) {
    csv.Append(event, &buffer);
    if (buffer.size() < kBufferBytes) continue;
    if (!WriteAll(descriptor, buffer)) return false;
    buffer.clear();
  }
  return WriteAll(descriptor, buffer);
}

}  // namespace

int ExportCommand(const std::vector<std::string>& arguments) {
  CLI::App app("Writes the events of a trace in another format, one line each.");
  app.footer(
      "csv has the columns sequence, time_ns, thread, kind, memory, call, library, device, "
      "stream,\n"
      "address, size, requested, object, offset and result; docs/trace-format.md says what they "
      "mean.\n\n"
      "Examples:\n"
      "  vramstow export python-4711.stow --to csv | head\n"
      "  vramstow export python-4711.stow --to csv -o events.csv\n\n"
      "Exit status: 0; 1 if the result could not be written; 2 if the file is not there or is no "
      "trace.");
  std::string file;
  std::string format;
  std::string output;
  app.add_option("FILE", file, "A trace (.stow)")->required();
  app.add_option("--to", format, "The format: csv")->required();
  app.add_option("-o,--output", output, "The file to write; standard output if not given");
  if (const auto status = ReadArguments(&app, "export", arguments)) return *status;
  if (format != "csv") {
    Complain("export", absl::StrCat("there is no format '", format, "': csv is the one there is."));
    return kExitUsage;
  }
  auto source = TraceSource::Open(file);
  if (!source.ok()) {
    Complain("export", std::string(source.status().message()));
    return kExitUsage;
  }
  int descriptor = STDOUT_FILENO;
  if (!output.empty()) {
    if (IsSameFile(file, output)) {
      Complain("export", absl::StrCat(output, " is the trace itself: name another file with -o."));
      return kExitUsage;
    }
    descriptor = open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  }
  if (descriptor < 0 || !WriteEvents(source->get(), descriptor) ||
      (!output.empty() && close(descriptor) != 0)) {
    Complain("export", absl::StrCat("cannot write ", output.empty() ? "to standard output" : output,
                                    ": ", strerror(errno), "."));
    return kExitCannotWrite;
  }
  Facts facts;
  facts.report = (*source)->report();
  if (const std::string missing = MissingText(facts); !missing.empty()) {
    Complain("export", absl::StrCat(file, ": ", missing.substr(0, missing.size() - 1)));
  }
  return kExitOk;
}

}  // namespace vramstow
