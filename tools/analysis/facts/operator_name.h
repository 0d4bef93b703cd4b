// OperatorName: returns the name of an ATen operator as users call it.
//
// Ownership: a view of the given name. Threads: pure functions, callable from any thread. Errors:
// none; a name of another form is unchanged. Units: none. Source: the naming rules of PyTorch's
// code generator.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_FACTS_OPERATOR_NAME_H_
#define VRAMSTOW_TOOLS_ANALYSIS_FACTS_OPERATOR_NAME_H_

#include <string_view>

namespace vramstow {

// Returns "mm" for "structured_mm_out_cuda", and "pow" for "pow_Tensor_Scalar".
std::string_view PlainOperator(std::string_view name);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_FACTS_OPERATOR_NAME_H_
