// Keepers: what to do about what keeps tensors, by its kind: a cache, a queue, a hook.
//
// Idea: a census told the chain from the program to the tensors. Where a step of it is one of
// Python's or PyTorch's own tools, that tool has a switch.
//
// Ownership: a copy. Threads: a pure function. Errors: none; empty where the chain tells no kind.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ADVICE_KEEPERS_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ADVICE_KEEPERS_H_

#include <string>
#include <string_view>

namespace vramstow {

// A sentence that ends with a point.
std::string WhatToDoAbout(std::string_view holder);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ADVICE_KEEPERS_H_
