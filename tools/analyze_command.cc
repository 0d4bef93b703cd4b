// vramstow analyze: the facts of one or several traces, as text or JSON.
#include <string>
#include <vector>

#include "tools/analysis/analyzer.h"
#include "tools/analysis/merge.h"
#include "tools/analysis/trace_source.h"
#include "tools/arguments.h"
#include "tools/command.h"
#include "tools/output.h"
#include "tools/report/json.h"
#include "tools/report/text.h"

namespace vramstow {

int AnalyzeCommand(const std::vector<std::string>& arguments) {
  CLI::App app(
      "Says where the memory went: what was allocated when and by whom, at the peak and over "
      "time.");
  app.footer(
      "Several files are several ranks or processes of one job.\n"
      "A truncated or damaged trace gives what is readable; the report says what is missing.\n\n"
      "Examples:\n"
      "  vramstow analyze python-4711.stow\n"
      "  vramstow analyze --json *.stow | jq .peak.allocated_bytes\n\n"
      "Exit status: 0; 1 if the report could not be written; 2 if a file is not there or is no "
      "trace.");
  std::vector<std::string> files;
  bool json = false;
  app.add_option("FILE", files, "Traces (.stow)")->required();
  app.add_flag("--json", json, "JSON on one line in place of text; docs/analyze.md has the keys");
  if (const auto status = ReadArguments(&app, "analyze", arguments)) return *status;

  std::vector<Facts> traces;
  traces.reserve(files.size());
  for (const std::string& file : files) {
    auto source = TraceSource::Open(file);
    if (!source.ok()) {
      Complain("analyze", std::string(source.status().message()));
      return kExitUsage;
    }
    traces.push_back(Analyze(source->get(), file));
  }
  const FactSet set = MergeTraces(std::move(traces));
  return PrintResult("analyze", json ? JsonReport(set) : TextReport(set, StyleOfStdout()));
}

}  // namespace vramstow
