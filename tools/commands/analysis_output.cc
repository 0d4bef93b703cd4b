#include "tools/commands/analysis_output.h"

#include <utility>

#include "tools/base/words.h"
#include "tools/inputs/redacted_source.h"
#include "tools/inputs/stacked_source.h"
#include "tools/pipeline/analyze.h"
#include "tools/report/json.h"
#include "tools/report/screen.h"
#include "tools/report/text_report.h"
#include "tools/terminal/exit_status.h"
#include "tools/terminal/output.h"

namespace vramstow {
namespace {

// Returns the files as a user types them in a command. If they are redacted, their folders are left
// out.
std::string InputWords(const std::vector<std::string>& files, bool redact) {
  constexpr size_t kMaxNamed = 4;
  if (redact) return "--redact INPUT";
  std::string words;
  for (const std::string& file : files) {
    if (&file - files.data() == kMaxNamed) return words + " ...";
    words += (words.empty() ? "" : " ") + ShellWord(file);
  }
  return words;
}

}  // namespace

int PrintAnalysis(const std::string& command, const std::vector<std::string>& files,
                  const AnalysisOutput& output) {
  auto inputs = AnalyzePaths(files, output.within, LookupFor(output.redact));
  if (!inputs.ok()) {
    Complain(command, std::string(inputs.status().message()));
    return kExitUsage;
  }
  FactSet set = Together(*std::move(inputs));
  if (output.redact) {
    Redactor redactor = RedactorFor(files);
    redactor.Learn(set);
    redactor.Redact(&set);
  }
  if (output.json) return PrintResult(command, JsonReport(set));
  const TextStyle style = StyleOfStdout();
  return PrintResult(command, output.full
                                  ? TextReport(set, style)
                                  : ScreenReport(set, InputWords(files, output.redact), style));
}

}  // namespace vramstow
