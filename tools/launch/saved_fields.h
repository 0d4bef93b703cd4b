// SavedFields: which tensors the functions of PyTorch's backward pass save.
//
// Idea: PyTorch has a class for each of these functions, in a generated header with one member a
// line. Nothing in a running process tells which members there are, so they are read here.
//
// Ownership: copies. Threads: pure. Errors: what is written in another way is left out. Units:
// none.
#ifndef VRAMSTOW_TOOLS_LAUNCH_SAVED_FIELDS_H_
#define VRAMSTOW_TOOLS_LAUNCH_SAVED_FIELDS_H_

#include <string>
#include <string_view>

namespace vramstow {

// `header`: the text of torch/csrc/autograd/generated/Functions.h. Gives a line of C++ for each
// member: VRAMSTOW_SAVED(MmBackward0, self_), or VRAMSTOW_SAVED_LIST for a vector of them.
std::string SavedFields(std::string_view header);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_LAUNCH_SAVED_FIELDS_H_
