// Rule: one cause of an out-of-memory, or one other piece of advice: its detection, its change of
// the replayed requests, its rank, its sentences, and its documentation.
//
// Idea: a file has one rule, and a row of facts/advice.def names it. A cause is found at the moment
// when a request failed (FailureMoment), other advice in the whole job (Evidence). A rule does not
// know its id, its position in the table, or which code prints it.
//
// Ownership: constants; a rule refers to nothing. Threads: pure functions, callable from any
// thread. Errors: none; a rule that finds nothing returns nullopt. Units: bytes.
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

// The advice of a rule, or nullopt if the rule has nothing to report. Its id is not set yet,
// because only the table knows it.
using Hint = std::optional<AdviceFacts>;

struct Rule {
  Rank rank = Rank::kUsual;
  const char* meaning = "";  // for a list: a phrase without a capital and a full stop
  const char* help = "";     // a few sentences: how it is found, what it means, what to do

  // The conditions that the rule's sentences presuppose; each rule has at least one.
  std::array<Precondition, 4> needs = {};

  // Exactly one of the two functions is set: `cause` if the rule is a cause, `advice` otherwise.
  Found (*cause)(const FailureMoment& moment) = nullptr;
  Hint (*advice)(const Evidence& evidence) = nullptr;

  // Only set if the rule is a cause. True if the cause is also searched at the peak of a job that
  // did not fail.
  bool at_peak = false;

  // Only set if the rule is no cause. The function returns how the advice changes the replayed
  // requests. They are the requests up to the last one that failed or, if none failed, up to the
  // peak. The pointer is null if no change of requests can show the effect of the advice.
  Change (*change)(const Evidence& evidence, const AdviceFacts& advice) = nullptr;
  // True if the advice only saves memory, so that a job with plenty of free memory does not need
  // it.
  bool saves = true;
  // Only set if the rule is no cause. True if the advice names a fault of the job, which also
  // matters if there is plenty of free memory.
  bool is_fault = false;
  // Causes that explain the same problem in better words.
  std::array<AdviceId, 8> said_by = {};
};

// These functions evaluate a rule, provided that all its preconditions hold.
Found AskForCause(const Rule& rule, const FailureMoment& moment);
Hint AskForAdvice(const Rule& rule, const Evidence& evidence);

// The rules of the table; each is defined in a file of its own.
#define VRAMSTOW_CAUSE(name, id) extern const Rule k##name;
#define VRAMSTOW_CAUSE_TOO(name, other) extern const Rule k##name;
#define VRAMSTOW_ADVICE(name, id) extern const Rule k##name;
#define VRAMSTOW_ADVICE_TOO(name, other) extern const Rule k##name;
#include "tools/analysis/facts/advice.def"

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ADVICE_RULE_H_
