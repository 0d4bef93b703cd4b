// The line that keeps: where the program puts tensors into the list, the dictionary or the queue in
// which a census found them.
//
// Idea: call stacks tell who made a tensor. The line that keeps it may be another one
// ("outputs.append(out)"). A census names the variable, and the program's text has the line, where
// the file is there and is not newer than the trace.
//
// Ownership: copies. Threads: pure functions. Errors: none; where no line or no single one is found
// the text is empty. Units: lines counted from 1.
#ifndef VRAMSTOW_TOOLS_PIPELINE_KEEPING_LINE_H_
#define VRAMSTOW_TOOLS_PIPELINE_KEEPING_LINE_H_

#include <string>

#include "tools/analysis/facts/detail.h"
#include "tools/analysis/facts/facts.h"

namespace vramstow {

// The variable into which a chain of a census leads, as it stands in the text before its index.
struct Container {
  std::string name;           // "logits" of "perplexity: logits[0..12]"; empty: it has no index
  std::string function;       // "perplexity"; empty: not a variable of a function
  bool is_attribute = false;  // "saved" of "global keeper.saved[3]"
};
Container ContainerOf(const std::string& holder);

// Whether this line of Python puts something into it.
bool PutsInto(const std::string& line, const Container& container);

// Fills AdviceFacts::kept_at, "train.py:33", of all advice that names a holder.
void FindRetentionLines(const Detail& detail, Facts* facts);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_PIPELINE_KEEPING_LINE_H_
