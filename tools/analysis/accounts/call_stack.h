// CallStack: describes a call stack of PyTorch by the line of the application that made the
// request, the operation that ran, and the phase of the work.
//
// Idea: a stack has dozens of frames, but few of them are informative. The call site is the
// innermost line of Python that belongs to neither Python nor an installed package; in autograd's
// own threads, which have no Python frames, it is the backward function. The operation is the
// operator that Python or autograd calls, by the name that users call it ("linear"), and within it
// the operator of ATen that allocates ("aten::addmm"); without such an operator it is the innermost
// Python function. If PyTorch reported which operator, backward function and module is running
// (frames of the files "<operator>", "<backward>" and "<module>"), these names take precedence.
//
// Ownership: the results are copies. Threads: pure functions, callable from any thread. Errors:
// none; a stack without an informative frame gives "unknown". Units: none.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_CALL_STACK_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_CALL_STACK_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tools/analysis/accounts/event_source.h"
#include "tools/analysis/facts/detail.h"

namespace vramstow {

// A source line of the program itself, not of Python's library or of an installed package.
struct OwnLine {
  std::string text;   // "train.py:45 Trainer.step"
  uint64_t function;  // a number of the function in its file, the same for all its lines
  uint32_t line = 0;
};

struct StackWords {
  std::string site;
  // The innermost line of a package other than PyTorch; empty if there is none.
  std::string library_site;
  std::string operation;  // as users call it
  std::string made_by;    // the innermost operator
  std::string module;     // "Decoder.blocks.0"; empty if unknown
  std::string classes;    // of the modules of libraries that the line runs: "Sequential.Linear"
  Phase phase = Phase::kUnknown;
  bool empties_cache = false;  // torch.cuda.empty_cache() is in it
  // The program's line that calls empty_cache(); empty if a library does.
  std::string empty_cache_line;
  bool in_backward = false;         // true if any frame is autograd's
  bool in_optimizer = false;        // true if any frame is of an optimizer's step
  bool is_own_call = false;         // the innermost line of Python is the program's own
  bool is_float64 = false;          // a frame names the type of its numbers
  std::vector<OwnLine> own;         // the outermost first
  std::vector<std::string> frames;  // the informative ones, the outermost first
  std::vector<std::string> files;   // the file of each frame; empty if it has none
};

// Describes `frames`, which are in the order of EventSource: the innermost first.
StackWords WordsOf(const std::vector<CallFrame>& frames);

// Turns "Decoder.blocks.3.up" into "Decoder.blocks.*.up". A number at the end of the name is not
// replaced, because Sequential.0 and Sequential.1 may be modules of different kinds.
std::string WithoutNumbers(const std::string& module);

// Returns "parameters", "forward" and so on; never null.
const char* PhaseName(Phase phase);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_CALL_STACK_H_
