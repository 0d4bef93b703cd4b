#include "tools/analysis/facts/program_end.h"

#include "absl/strings/str_cat.h"
#include "tools/analysis/facts/named_facts.h"
#include "tools/base/words.h"

namespace vramstow {

std::string UncaughtError(const Facts& facts) {
  return FactText(facts.trace_metadata, "program.uncaught");
}

std::string ExitStatusOf(const Facts& facts) {
  return FactText(facts.trace_metadata, "process.exit_status");
}

std::string FailureInWords(const Facts& facts) {
  const std::string error = Printable(UncaughtError(facts));
  const std::string status = Printable(ExitStatusOf(facts));
  const bool has_bad_status = !status.empty() && status != "0";
  if (error.empty() && !has_bad_status) return "";
  if (error.empty()) return absl::StrCat("the program ended with exit status ", status);
  return absl::StrCat(error, " ended the program",
                      has_bad_status ? absl::StrCat(", with exit status ", status) : "");
}

std::string EndedThreadsInWords(const Facts& facts) {
  const std::string count = FactText(facts.trace_metadata, "program.threads_ended");
  if (count.empty()) return "";
  return absl::StrCat("OutOfMemoryError ended ", Printable(count), " of its threads");
}

ProgramEnd EndOf(const Facts& facts) {
  const std::string error = UncaughtError(facts);
  if (error == "OutOfMemoryError") return ProgramEnd::kOutOfMemory;
  if (!error.empty()) return ProgramEnd::kOtherError;
  return ExitStatusOf(facts) == "0" ? ProgramEnd::kWell : ProgramEnd::kUnknown;
}

bool EndedUnseen(const Facts& facts) {
  return facts.counts.out_of_memory == 0 && EndOf(facts) == ProgramEnd::kOutOfMemory;
}

bool WentOnAfterOutOfMemory(const Facts& facts) {
  const ProgramEnd end = EndOf(facts);
  return facts.counts.out_of_memory > 0 &&
         (end == ProgramEnd::kWell || end == ProgramEnd::kOtherError);
}

}  // namespace vramstow
