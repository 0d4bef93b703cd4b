// WithRetentionLines: finds the source line that stores tensors in the list, dictionary or queue in
// which a census (a reference scan) found them.
//
// Idea: call stacks show which line made a tensor. Another line may store it
// ("outputs.append(out)"). A census names the variable, and the program's source has the line, if
// the file exists and is not newer than the trace.
//
// Ownership: the results are copies. Threads: pure functions, callable from any thread. Errors:
// none; the text is empty if no line, or more than one, is found. Units: lines, counted from 1.
#ifndef VRAMSTOW_TOOLS_PIPELINE_KEEPING_LINE_H_
#define VRAMSTOW_TOOLS_PIPELINE_KEEPING_LINE_H_

#include <string>
#include <vector>

#include "tools/analysis/facts/advice_facts.h"
#include "tools/analysis/facts/detail.h"

namespace vramstow {

// The variable in which an owner's chain of references begins, as the source writes it before the
// index.
struct Container {
  std::string name;           // "logits" of "perplexity: logits[0..12]"; empty if it has no index
  std::string function;       // "perplexity"; empty if it is no variable of a function
  bool is_attribute = false;  // "saved" of "global keeper.saved[3]"
};
Container ContainerOf(const std::string& holder);

// True if this line of Python stores an element in the container.
bool PutsInto(const std::string& line, const Container& container);

// Returns the advice with AdviceFacts::kept_at, for example "train.py:33", for each piece that
// names an owner. `trace` is the file that was read: a source that is newer is not used.
std::vector<AdviceFacts> WithRetentionLines(const Detail& detail, const std::string& trace,
                                            std::vector<AdviceFacts> advice);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_PIPELINE_KEEPING_LINE_H_
