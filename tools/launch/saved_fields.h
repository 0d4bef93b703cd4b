// SavedFields: lists the tensors that the functions of PyTorch's backward pass save.
//
// Idea: PyTorch has a class for each such function, in a generated header with one member on each
// line. A running process does not show the members of a class, so the header is parsed.
//
// Ownership: the results are copies. Threads: pure functions, callable from any thread. Errors:
// lines in another form are ignored. Units: none.
#ifndef VRAMSTOW_TOOLS_LAUNCH_SAVED_FIELDS_H_
#define VRAMSTOW_TOOLS_LAUNCH_SAVED_FIELDS_H_

#include <string>
#include <string_view>

namespace vramstow {

// Returns a line of C++ for each member: VRAMSTOW_SAVED(MmBackward0, self_), or VRAMSTOW_SAVED_LIST
// for a vector of tensors. `header` is the text of torch/csrc/autograd/generated/Functions.h.
std::string SavedFields(std::string_view header);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_LAUNCH_SAVED_FIELDS_H_
