// CallStack: what a call stack of PyTorch tells: which line of the application asked, what ran, and
// in which phase of the work.
//
// Idea: a stack has dozens of frames, of which few tell anything. The site is the innermost line of
// Python that belongs to neither Python nor an installed package; in autograd's own threads, which
// have no Python frames, it is the backward function. The operation is the innermost operator of
// ATen, or else the innermost Python function. Where PyTorch said which operator, which backward
// function and which module is at work (frames of the files "<operator>", "<backward>",
// "<module>"), that counts.
//
// Ownership: results are copies. Threads: pure functions. Errors: none; a stack that tells nothing
// gives "unknown". Units: none.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_CALL_STACK_H_
#define VRAMSTOW_TOOLS_ANALYSIS_CALL_STACK_H_

#include <string>
#include <string_view>
#include <vector>

#include "tools/analysis/detail.h"
#include "tools/analysis/event_source.h"

namespace vramstow {

struct StackWords {
  std::string site;
  std::string operation;
  std::string module;  // "Decoder.blocks.0"; empty: not known
  Phase phase = Phase::kUnknown;
  bool empties_cache = false;       // torch.cuda.empty_cache() is in it
  std::vector<std::string> frames;  // the telling ones, the outermost first
};

// `frames`: the innermost first, as EventSource gives them.
StackWords WordsOf(const std::vector<CallFrame>& frames);

// "parameters", "forward", … Never null.
const char* PhaseName(Phase phase);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_CALL_STACK_H_
