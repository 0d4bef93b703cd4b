// Precondition: a condition that must hold before a rule is evaluated, because the sentences of the
// rule presuppose it.
//
// Idea: a rule looks for a pattern, and a pattern may have another reason. "Leave retain_graph out"
// presupposes a backward pass that has run; without one, the pattern proves nothing. Preconditions
// are data beside the detection (Rule::needs), `vramstow help ID` prints them, and a scenario for
// each rule shows a case in which the rule must not be reported.
//
// Ownership: constants. Threads: pure functions, callable from any thread. Errors: none. Units:
// none.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ADVICE_PRECONDITION_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ADVICE_PRECONDITION_H_

#include "tools/analysis/advice/evidence.h"
#include "tools/analysis/explain/failure_moment.h"

namespace vramstow {

struct Precondition {
  const char* words = "";  // a clause: "a backward pass has run"
  // Exactly one of the two functions is set: in_failure for a cause, in_job for other advice.
  bool (*in_failure)(const FailureMoment& moment) = nullptr;
  bool (*in_job)(const Evidence& evidence) = nullptr;
};

// These are the preconditions that several causes share. A precondition of a single rule is in the
// file of that rule.
bool HasCensus(const FailureMoment& moment);
bool HasTensors(const FailureMoment& moment);
bool HasCallStacks(const FailureMoment& moment);
bool HasParameters(const FailureMoment& moment);
bool MayRecordGraphs(const FailureMoment& moment);
bool HasBackwardPass(const FailureMoment& moment);
bool HasEarlierIteration(const FailureMoment& moment);
bool HasOptimizerWork(const FailureMoment& moment);
bool IsAskedByOptimizer(const FailureMoment& moment);
bool IsAskedByProgram(const FailureMoment& moment);
bool IsAskedOfPyTorch(const FailureMoment& moment);

inline constexpr Precondition kNeedsCensus = {
    .words = "a census has found which objects referenced memory when the request failed",
    .in_failure = HasCensus,
};
inline constexpr Precondition kNeedsTensors = {
    .words = "tensors of PyTorch were live",
    .in_failure = HasTensors,
};
inline constexpr Precondition kNeedsCallStacks = {
    .words = "the trace has call stacks for the live memory or for the request",
    .in_failure = HasCallStacks,
};
inline constexpr Precondition kNeedsParameters = {
    .words = "the census has found parameters of a model",
    .in_failure = HasParameters,
};
inline constexpr Precondition kNeedsGraph = {
    .words =
        "a tensor requires a gradient, autograd has saved a tensor, or a backward pass has run (if "
        "there was no census for this failure: a census for another failure has seen an autograd "
        "graph, or there was no census at all and the model that made the request was not called "
        "without gradients)",
    .in_failure = MayRecordGraphs,
};
inline constexpr Precondition kNeedsBackwardPass = {
    .words = "a backward pass has run, or the request comes from one",
    .in_failure = HasBackwardPass,
};
inline constexpr Precondition kNeedsEarlierIteration = {
    .words = "an iteration had ended before the one that failed",
    .in_failure = HasEarlierIteration,
};
inline constexpr Precondition kNeedsOptimizerWork = {
    .words = "an optimizer has allocated state, or the request comes from its step",
    .in_failure = HasOptimizerWork,
};
inline constexpr Precondition kNeedsRequestOfOptimizer = {
    .words = "the request comes from an optimizer's step",
    .in_failure = IsAskedByOptimizer,
};
inline constexpr Precondition kNeedsRequestOfProgram = {
    .words = "the request does not come from an optimizer's step",
    .in_failure = IsAskedByProgram,
};
inline constexpr Precondition kNeedsRequestOfPyTorch = {
    .words = "PyTorch made the request, not another library",
    .in_failure = IsAskedOfPyTorch,
};

// These are the preconditions that several pieces of advice other than causes share.
bool HasFailed(const Evidence& evidence);
bool HasKnownCache(const Evidence& evidence);
bool HasIterations(const Evidence& evidence);
bool HasTrained(const Evidence& evidence);

inline constexpr Precondition kNeedsFailure = {
    .words = "a request failed because there was not enough memory",
    .in_job = HasFailed,
};
inline constexpr Precondition kNeedsCache = {
    .words = "the trace shows how much the allocator reserved in addition to the allocated memory",
    .in_job = HasKnownCache,
};
inline constexpr Precondition kNeedsIterations = {
    .words = "iterations of the program are known",
    .in_job = HasIterations,
};
inline constexpr Precondition kNeedsTraining = {
    .words = "a backward pass or an optimizer has run",
    .in_job = HasTrained,
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ADVICE_PRECONDITION_H_
