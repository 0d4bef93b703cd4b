// TorchLines: the lines at which functions in PyTorch's own files call others, which show whether
// two programs ran the same release.
//
// Idea: no recording says which release of PyTorch made it, but its call stacks name PyTorch's own
// Python files. In the next release, a call is usually on another line, and nobody edits an
// installed file.
//
// Ownership: keeps its own copies. Threads: used by one thread at a time. Errors: none; recordings
// without Python frames give no result. Units: lines.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_FIDELITY_TORCH_LINES_H_
#define VRAMSTOW_TOOLS_ANALYSIS_FIDELITY_TORCH_LINES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tools/analysis/accounts/event_source.h"

namespace vramstow {

// A function whose calls are on different lines on the two sides.
struct MovedFunction {
  std::string file;      // "torch/nn/modules/module.py"
  std::string function;  // "_call_impl"
  uint32_t card_line = 0;
  uint32_t rehearsed_line = 0;
};

class TorchLines {
 public:
  void Add(const std::vector<CallFrame>& frames);

  // Returns the most frequent function whose calls are on different lines on the GPU and in the
  // simulated run. Returns nullopt if most of the functions that both sides have are unchanged, or
  // if there are none.
  static std::optional<MovedFunction> FirstMoved(const TorchLines& card,
                                                 const TorchLines& rehearsed);

 private:
  struct Function {
    std::set<uint32_t> lines;
    uint64_t times = 0;
  };

  // The functions by file and name. The name excludes the enclosing classes, which not every
  // release of Python records.
  std::map<std::pair<std::string, std::string>, Function> functions_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_FIDELITY_TORCH_LINES_H_
