// TorchLines: in which lines of PyTorch's own files a program's functions called on, and whether
// two programs ran the same release.
//
// Idea: no recording says which release of PyTorch made it, but its call stacks name PyTorch's own
// Python files. A function that calls on in one line in one release stands some lines lower in
// the next, and nobody edits an installed file.
//
// Ownership: copies. Threads: one at a time. Errors: none; nothing follows from recordings without
// Python frames. Units: lines.
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

// A function that stands in another line on each side.
struct MovedFunction {
  std::string file;      // "torch/nn/modules/module.py"
  std::string function;  // "_call_impl"
  uint32_t card_line = 0;
  uint32_t rehearsed_line = 0;
};

class TorchLines {
 public:
  void Add(const std::vector<CallFrame>& frames);

  // How a card's differ from a rehearsal's, by the function that occurs most; none: most functions
  // that both have stand where they stood, or there are none.
  static std::optional<MovedFunction> FirstMoved(const TorchLines& card,
                                                 const TorchLines& rehearsed);

 private:
  struct Function {
    std::set<uint32_t> lines;
    uint64_t times = 0;
  };

  // By file and function, without the classes around it: not every release of Python tells these.
  std::map<std::pair<std::string, std::string>, Function> functions_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_FIDELITY_TORCH_LINES_H_
