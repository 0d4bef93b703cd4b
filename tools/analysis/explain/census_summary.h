// CensusSummary: what a census tells of blocks together, beside who holds them.
//
// Idea: a census knows the type and the shape of what holds a block, and whether autograd holds it.
// A call stack knows none of it.
//
// Ownership: values. Threads: pure functions. Errors: none; of what no census knows nothing is
// told. Units: bytes.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_EXPLAIN_CENSUS_SUMMARY_H_
#define VRAMSTOW_TOOLS_ANALYSIS_EXPLAIN_CENSUS_SUMMARY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/analysis/explain/holders.h"

namespace vramstow {

// "float32 [64, 1024], requires grad".
struct TensorWords {
  std::string_view type;
  std::vector<uint64_t> shape;
  uint64_t bytes = 0;  // that its numbers need; more may be allocated
};
std::optional<TensorWords> ParseTensor(std::string_view about);

struct CensusSummary {
  uint64_t all = 0;
  uint64_t known = 0;     // of them
  uint64_t in_graph = 0;  // saved for a backward pass
  uint64_t viewed = 0;    // held by a tensor that is less than half as large
  uint64_t wide = 0;      // float64 and complex128

  // Whether the census knows enough of them to decide.
  bool decides() const { return known * 2 >= all && known > 0; }
};
CensusSummary SummarizeCensus(const Holders& holders, const std::vector<const Life*>& lives);

// Whether a graph of autograd's holds it.
bool IsInGraph(const HeldBlock& block);
// Bytes that a graph holds, or that are results of operations that autograd recorded.
uint64_t RecordedBytes(const Holders& holders, const std::vector<const Life*>& lives);
// A parameter that only an optimizer still holds is told as a part of its state.
bool IsParameter(const HeldBlock& block);
// Whether only objects that hold one another hold it.
bool IsGarbage(const HeldBlock& block);
// A chain that begins so ends when the handler is left.
inline constexpr std::string_view kHandledNow = "exception being handled";
// Whether an exception holds it, by the frames of its traceback.
bool IsHeldByError(const HeldBlock& block);

// The kind of work that the parameters tell of. Bytes.
struct ParameterWords {
  uint64_t all = 0;         // that record a graph
  uint64_t evaluating = 0;  // of modules in eval()
  uint64_t untrained = 0;   // in no optimizer
  std::vector<const Life*> of_untrained;
};
ParameterWords ParametersOf(const Holders& holders, const std::vector<const Life*>& lives);
// Those that graphs saved which end in parameters that no optimizer has.
std::vector<const Life*> SavedForUntrained(const Holders& holders,
                                           const std::vector<const Life*>& lives);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_EXPLAIN_CENSUS_SUMMARY_H_
