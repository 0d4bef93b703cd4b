// Rule: one cause of an out-of-memory, or one other advice, whole: what it is found by, what it
// changes of the requests that are replayed, its rank, its sentences, and its documentation.
//
// Idea: a file has one rule, and a row of facts/advice.def names it. A cause looks at the moment at
// which a request failed (FailureMoment), other advice at the whole job (Evidence). A rule says
// nothing of its id, of its place among the others, or of who prints it.
//
// Ownership: constants; a rule refers to nothing. Threads: pure functions. Errors: none; a rule
// that finds nothing gives nothing. Units: bytes.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ADVICE_RULE_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ADVICE_RULE_H_

#include <array>
#include <cstdint>
#include <optional>

#include "tools/analysis/advice/cause.h"
#include "tools/analysis/advice/evidence.h"
#include "tools/analysis/advice/precondition.h"
#include "tools/analysis/facts/advice_facts.h"

namespace vramstow {

// The order of rules; order.h says when it decides.
enum class Rank : uint8_t {
  kMistake,  // a cause that costs little to mend
  kTrade,    // a cause that costs time, precision or work
  kUrgent,   // advice that explains a failure, or on what is wrong in any case
  kUsual,    // advice by what it brings
  kLast,     // a cause that is told where no other explains the failure; advice that brings
             // nothing at the job's own peak
};

// Nothing: it is not worth a sentence. Without an id, which the table knows.
using Hint = std::optional<AdviceFacts>;

struct Rule {
  Rank rank = Rank::kUsual;
  const char* meaning = "";  // for a list: a phrase without a capital and a full stop
  const char* help = "";     // a few sentences: how it is found, what it means, what to do

  // Each rule has at least one: its sentences take them for granted.
  std::array<Precondition, 4> needs = {};

  // One of the two: of a cause, of other advice.
  Found (*cause)(const FailureMoment& moment) = nullptr;
  Hint (*advice)(const Evidence& evidence) = nullptr;

  // For a cause: it is looked for at the peak of a job that lived, too.
  bool at_peak = false;

  // For other advice: its change of the requests up to the last one that failed, or, where none
  // failed, up to the peak. Null: no change of requests shows it.
  Change (*change)(const Evidence& evidence, const AdviceFacts& advice) = nullptr;
  // It only helps to save memory: nothing for a job that has plenty of it.
  bool saves = true;
  // For other advice: something is wrong with the job, also where it has room.
  bool is_fault = false;
  // Causes that say the same better.
  std::array<AdviceId, 8> said_by = {};
};

// These ask a rule only where all that it needs holds.
Found AskForCause(const Rule& rule, const FailureMoment& moment);
Hint AskForAdvice(const Rule& rule, const Evidence& evidence);

// The rules of the table, each defined in a file of its own.
#define VRAMSTOW_CAUSE(name, id) extern const Rule k##name;
#define VRAMSTOW_CAUSE_TOO(name, other) extern const Rule k##name;
#define VRAMSTOW_ADVICE(name, id) extern const Rule k##name;
#define VRAMSTOW_ADVICE_TOO(name, other) extern const Rule k##name;
#include "tools/analysis/facts/advice.def"

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ADVICE_RULE_H_
