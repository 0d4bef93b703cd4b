// AdviceFacts: one cause, or one piece of advice.
//
// Ownership: plain values. Threads: plain values without synchronisation. Errors: none. Units:
// bytes.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_FACTS_ADVICE_FACTS_H_
#define VRAMSTOW_TOOLS_ANALYSIS_FACTS_ADVICE_FACTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/analysis/facts/advice_id.h"
#include "tools/analysis/facts/change.h"
#include "tools/analysis/facts/failure_facts.h"

namespace vramstow {

// The evidence that decides which advice comes first (advice/order.h), and how it is worded.
struct AdviceProof {
  bool is_cause = false;    // of the last failure
  bool is_fault = false;    // it names a fault, however much room the job has
  bool is_proved = false;   // a replay has confirmed it
  bool is_untried = false;  // nothing shows that the advice helps
  // True if the memory of this cause grows with each iteration, so that it ends the job sooner or
  // later.
  bool grows = false;
  uint64_t lowered_bytes = 0;  // the reduction of the need, with the allocator that ran
};

struct AdviceFacts {
  AdviceId id = AdviceId::kNone;
  std::string title;
  // The upper bound of the reduction at the peak; for a cause, the bytes that would have been free
  // at the failure.
  uint64_t bytes = 0;
  std::string evidence;
  std::string cost;
  std::string action;
  bool is_estimate = false;
  std::string place = {};   // the line that it is about; empty if none, or many
  std::string holder = {};  // the owner of most of it; empty if unknown
  // The source line that stores the blocks, if it differs from the line `place`, for example
  // "train.py:33"; empty if unknown.
  std::string kept_at = {};
  // True if, with this advice, the last request that failed would have been served, according to a
  // replay or to the bytes of a cause.
  std::optional<bool> fits = {};
  Change change = {};                           // to be replayed; empty after the replay
  std::vector<ReplayFacts> replays = {};        // by the allocator that ran, and by the pool
  std::optional<uint64_t> replayed_bytes = {};  // the reduction when that request came
  // The other piece of advice that serves the request together with this one, if neither does so
  // alone.
  AdviceId together_with = AdviceId::kNone;
  AdviceProof proof = {};
};

// Advice with the results of its replay (tools/replay/proof.h).
struct ProvedAdvice {
  std::vector<AdviceFacts> advice;
  std::vector<ReplayFacts> replays;  // of the unchanged requests up to the last failure
  uint64_t not_replayed = 0;         // pieces of advice; for lack of time
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_FACTS_ADVICE_FACTS_H_
