// Cause: one reason why there was too little memory. And the detectors, each of which knows one.
//
// Ownership: values; detectors read a Scene. Threads: pure functions. Errors: none; a detector that
// finds nothing gives nothing. Units: bytes.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ADVICE_CAUSE_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ADVICE_CAUSE_H_

#include <optional>
#include <string>
#include <vector>

#include "tools/analysis/explain/scene.h"
#include "tools/analysis/facts/change.h"

namespace vramstow {

struct Cause {
  std::string id;
  std::string title;
  uint64_t bytes = 0;        // that would be free without it
  bool is_estimate = false;  // false: the trace shows these bytes
  bool fits = false;         // the request would fit without it; FindCauses tells
  bool grows = false;        // with each pass: it ends the job sooner or later
  std::string place;         // the program's line, or who else
  std::string evidence;
  std::string cost;
  std::string action;
  std::vector<const Life*> held;  // the blocks that it is about, where there are any
  std::string holder;             // of most of those; FindCauses tells
  Change change;                  // of the requests, when it is mended
};

using Found = std::optional<Cause>;

// References that stay longer than what they are for (kept.cc).
Found HeldByHandler(const Scene& scene);
Found HeldGraphs(const Scene& scene);
Found KeptOutputs(const Scene& scene);
Found SummedGraphs(const Scene& scene);
Found KeptReference(const Scene& scene);

// Graphs that no backward pass will use (needless_graph.cc).
Found NeedlessGraph(const Scene& scene);

// What modules keep besides parameters (modules.cc).
Found KeptInModules(const Scene& scene);
Found LargeBuffers(const Scene& scene);

// What only garbage holds (garbage.cc).
Found DeadCycles(const Scene& scene);

// The same thing more than once (copies.cc).
Found Concatenation(const Scene& scene);
Found SecondCopy(const Scene& scene);
Found DataOnCard(const Scene& scene);

// One operation that wants too much (requests.cc).
Found AttentionScores(const Scene& scene);
Found LargeRequest(const Scene& scene);
Found TableGradient(const Scene& scene);

// One operation whose result is far larger than what goes into it (pairs.cc).
Found Broadcast(const Scene& scene);
Found CopiesOfOne(const Scene& scene);

// What training needs (training.cc).
Found KeptGradients(const Scene& scene);
Found OptimizerTemporaries(const Scene& scene);
Found OptimizerState(const Scene& scene);
Found SecondOptimizer(const Scene& scene);
Found Activations(const Scene& scene);
Found ModelTooLarge(const Scene& scene);

// Memory that no tensor can have (outside.cc).
Found PastPyTorch(const Scene& scene);
Found GraphPools(const Scene& scene);
Found WideNumbers(const Scene& scene);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ADVICE_CAUSE_H_
