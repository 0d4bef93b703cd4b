// CallStack: what a call stack of PyTorch tells: which line of the application asked, what ran, and
// in which phase of the work.
//
// Idea: a stack has dozens of frames, of which few tell anything. The site is the innermost line of
// Python that belongs to neither Python nor an installed package; in autograd's own threads, which
// have no Python frames, it is the backward function. The operation is the operator that Python or
// autograd calls, by the name that users call it ("linear"), and within it the operator of ATen
// that allocates ("aten::addmm"); or else it is the innermost Python function. Where PyTorch said
// which operator, which backward function and which module is at work (frames of the files
// "<operator>", "<backward>",
// "<module>"), that counts.
//
// Ownership: results are copies. Threads: pure functions. Errors: none; a stack that tells nothing
// gives "unknown". Units: none.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_CALL_STACK_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_CALL_STACK_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tools/analysis/accounts/event_source.h"
#include "tools/analysis/facts/detail.h"

namespace vramstow {

// A line of the program itself, not of Python's library or of a package.
struct OwnLine {
  std::string text;   // "train.py:45 Trainer.step"
  uint64_t function;  // a number of the file and the function, the same for all its lines
  uint32_t line = 0;
};

struct StackWords {
  std::string site;
  std::string library_site;  // the innermost line of a package that is not PyTorch; empty: none
  std::string operation;     // as users call it
  std::string made_by;       // the innermost one
  std::string module;        // "Decoder.blocks.0"; empty: not known
  std::string classes;       // of the modules of libraries that the line runs: "Sequential.Linear"
  Phase phase = Phase::kUnknown;
  bool empties_cache = false;       // torch.cuda.empty_cache() is in it
  std::string empty_cache_line;     // the program's line that calls that; empty: a library does
  bool in_backward = false;         // some frame of it is autograd's, whatever the innermost says
  bool in_optimizer = false;        // the same of an optimizer's step
  bool is_own_call = false;         // the innermost line of Python is the program's own
  bool is_float64 = false;          // a frame names the type of its numbers
  std::vector<OwnLine> own;         // the outermost first
  std::vector<std::string> frames;  // the telling ones, the outermost first
  std::vector<std::string> files;   // the path of the file of each; empty: in none
};

// `frames`: the innermost first, as EventSource gives them.
StackWords WordsOf(const std::vector<CallFrame>& frames);

// "Decoder.blocks.3.up" → "Decoder.blocks.*.up". The last part stays: Sequential.0 and Sequential.1
// may be of two kinds.
std::string WithoutNumbers(const std::string& module);

// "parameters", "forward", … Never null.
const char* PhaseName(Phase phase);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_CALL_STACK_H_
