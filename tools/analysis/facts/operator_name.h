// OperatorName: the name of an operator of ATen as users call it.
//
// Ownership: a view of the name that is given. Threads: pure functions. Errors: none; a name of
// another form stays as it is. Units: none. Source: how PyTorch's code generator names functions.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_FACTS_OPERATOR_NAME_H_
#define VRAMSTOW_TOOLS_ANALYSIS_FACTS_OPERATOR_NAME_H_

#include <string_view>

namespace vramstow {

// "mm" of "structured_mm_out_cuda", and "pow" of "pow_Tensor_Scalar".
std::string_view PlainOperator(std::string_view name);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_FACTS_OPERATOR_NAME_H_
