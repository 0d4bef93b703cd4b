// vramstow convert: converts the recording of another program to a trace of vramstow's.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tools/base/words.h"
#include "tools/commands/command.h"
#include "tools/commands/command_line.h"
#include "tools/exports/merged_trace.h"
#include "tools/exports/stow_writer.h"
#include "tools/inputs/open_input.h"
#include "tools/json/json_value.h"
#include "tools/terminal/output.h"
#include "tools/terminal/output_file.h"

namespace vramstow {
namespace {

constexpr char kConvertFooter[] =
    "The trace has the same facts as the input. If the input is a PyTorch snapshot,\n"
    "the trace has its events and blocks, but not the state of the segments at the end.\n"
    "\n"
    "Examples:\n"
    "  vramstow convert snapshot.pickle -o snapshot.stow\n"
    "  vramstow convert rmm_log.csv --json\n"
    "\n"
    "Exit status: 0; 1 if the trace could not be written; 2 if the input cannot be read.";

std::string WithEnding(const std::string& path) {
  const size_t slash = path.rfind('/');
  const size_t dot = path.rfind('.');
  const bool has_ending = dot != std::string::npos && (slash == std::string::npos || dot > slash);
  return (has_ending ? path.substr(0, dot) : path) + ".stow";
}

}  // namespace

int ConvertCommand(const std::vector<std::string>& arguments) {
  std::string file;
  std::string output;
  bool json = false;
  const CommandLine line{
      .command = "convert",
      .summary =
          "Writes a trace (.stow) from another program's recording, or from a trace. The result is "
          "compressed,\nand contains the function names of its call stacks, so that it can be read "
          "without the job's libraries.",
      .footer = kConvertFooter,
      .options = {
          {"INPUT", &file, "A file, as for vramstow analyze", {.required = true}},
          {"-o,--output", &output,
           "The trace to write; by default INPUT with the extension .stow, unless this is INPUT"},
          {"--json", &json, "Print what was written, as JSON"}}};
  if (const auto status = ReadArguments(line, arguments)) return *status;
  if (output == "-") {
    Complain("convert", "a trace must be a file, not a stream: name one with -o.");
    return kExitUsage;
  }
  if (output.empty()) {
    output = WithEnding(file);
    std::error_code error;
    if (std::filesystem::equivalent(output, file, error)) {
      Complain("convert",
               absl::StrCat(file, " is a trace, and is not replaced: name another file with -o."));
      return kExitUsage;
    }
  }
  BeginReading(file);
  auto source = OpenEvents(file);
  if (!source.ok()) {
    Complain("convert", std::string(source.status().message()));
    return kExitUsage;
  }
  const auto start = StartOfTrace(file);
  // The file is written under another name first, so that -o may name the input and an unfinished
  // trace is never left.
  OutputFile out;
  const bool opened = out.Open(output);
  StowWriter writer(out.descriptor());
  if (!opened || !writer.Write(source->get(), start.value_or(TraceStart{})) || !out.Finish()) {
    const int error = errno;
    Complain("convert", absl::StrCat("cannot write ", output, ": ", strerror(error), "."));
    return kExitCannotWrite;
  }
  for (const std::string& missing : (*source)->missing()) {
    Complain("convert", absl::StrCat(file, ": ", missing));
  }
  if (writer.stacks_left_out() > 0) {
    Complain(
        "convert",
        absl::StrCat(
            file, ": only the outer frames of ", writer.stacks_left_out(),
            " call stacks were stored, because a trace has a limited number of different frames."));
  }
  struct stat status = {};
  stat(output.c_str(), &status);
  if (json) {
    const JsonValue result = JsonValue::Object(
        {{"output", output}, {"events", writer.events()}, {"bytes", status.st_size}});
    return PrintResult("convert", result.Dump() + "\n");
  }
  return PrintResult("convert", absl::StrCat(Printable(output), ": ", writer.events(), " events, ",
                                             status.st_size, " bytes\n"));
}

}  // namespace vramstow
