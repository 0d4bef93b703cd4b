#include "tools/analysis/facts/program_end.h"

namespace vramstow {
namespace {

std::string FactOf(const Facts& facts, const char* key) {
  const auto fact = facts.trace_metadata.find(key);
  return fact == facts.trace_metadata.end() ? "" : fact->second;
}

}  // namespace

std::string UncaughtError(const Facts& facts) { return FactOf(facts, "program.uncaught"); }

ProgramEnd EndOf(const Facts& facts) {
  const std::string error = UncaughtError(facts);
  if (error == "OutOfMemoryError") return ProgramEnd::kOutOfMemory;
  if (!error.empty()) return ProgramEnd::kOtherError;
  return FactOf(facts, "process.exit_status") == "0" ? ProgramEnd::kWell : ProgramEnd::kUnknown;
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
