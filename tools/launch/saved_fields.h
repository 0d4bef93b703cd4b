// SavedFields: lists the tensors that the functions of PyTorch's backward pass save.
//
// Idea: PyTorch has a class for each of these functions, in a generated header with one member on
// each line. A running process does not show these members, so the header is parsed.
//
// Ownership: the results are copies. Threads: pure functions, callable from any thread. Errors:
// lines in another form are ignored. Units: none.
#ifndef VRAMSTOW_TOOLS_LAUNCH_SAVED_FIELDS_H_
#define VRAMSTOW_TOOLS_LAUNCH_SAVED_FIELDS_H_

#include <string>
#include <string_view>

namespace vramstow {

// `header` is the text of torch/csrc/autograd/generated/Functions.h. Returns a line of C++ for each
// member: VRAMSTOW_SAVED(MmBackward0, self_), or VRAMSTOW_SAVED_LIST for a vector of them.
std::string SavedFields(std::string_view header);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_LAUNCH_SAVED_FIELDS_H_
