// CensusSummary: facts of a census (a reference scan) about several blocks together, in addition to
// their owners.
// Idea: a census has the type and the shape of the tensor in a block, and whether autograd holds
// the tensor. A call stack contains none of these.
// Ownership: plain values. Threads: pure functions, callable from any thread. Errors: none; blocks
// that are not in a census are ignored. Units: bytes.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_EXPLAIN_CENSUS_SUMMARY_H_
#define VRAMSTOW_TOOLS_ANALYSIS_EXPLAIN_CENSUS_SUMMARY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/analysis/explain/holders.h"

namespace vramstow {

// The parts of a text like "float32 [64, 1024], requires grad".
struct TensorWords {
  std::string_view type;
  std::vector<uint64_t> shape;
  uint64_t bytes = 0;  // the bytes of its numbers; more may be allocated
};
std::optional<TensorWords> ParseTensor(std::string_view about);

struct CensusSummary {
  uint64_t all = 0;
  uint64_t known = 0;     // the part that the census has
  uint64_t in_graph = 0;  // saved for a backward pass
  uint64_t viewed = 0;    // held by a tensor that is less than half as large
  uint64_t wide = 0;      // float64 and complex128

  // True if the census has found at least half of the bytes, so that its result can be used.
  bool decides() const { return known * 2 >= all && known > 0; }
};
CensusSummary SummarizeCensus(const Holders& holders, const std::vector<const Life*>& lives);

// True if a graph of autograd holds the block.
bool IsInGraph(const HeldBlock& block);
// True if a graph holds the block, or if it is a result of an operation that autograd recorded.
bool IsRecorded(const HeldBlock& block);
// Returns the bytes of the recorded blocks.
uint64_t RecordedBytes(const Holders& holders, const std::vector<const Life*>& lives);
// True for parameters. A parameter that only an optimizer still references counts as a part of the
// optimizer's state.
bool IsParameter(const HeldBlock& block);
// True for a tensor that records gradients and that no operation made, like a weight of a program
// without modules.
bool IsLeafWeight(const HeldBlock& block);
// True if only objects in a reference cycle hold the block.
bool IsGarbage(const HeldBlock& block);
// If an owner's chain begins with this text, the owner is released when the exception handler ends.
inline constexpr std::string_view kHandledNow = "exception being handled";
// True if the frames of an exception's traceback reference the block.
bool IsHeldByError(const HeldBlock& block);

// The bytes of parameters: all, and those that are trained or not trained.
struct ParameterWords {
  uint64_t all = 0;         // of parameters that record a graph
  uint64_t evaluating = 0;  // of modules in eval()
  uint64_t untrained = 0;   // in no optimizer
  std::vector<const Life*> of_untrained;
};
ParameterWords ParametersOf(const Holders& holders, const std::vector<const Life*>& lives);
// Returns the blocks that are saved by graphs which end in parameters that no optimizer has.
std::vector<const Life*> SavedForUntrained(const Holders& holders,
                                           const std::vector<const Life*>& lives);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_EXPLAIN_CENSUS_SUMMARY_H_
