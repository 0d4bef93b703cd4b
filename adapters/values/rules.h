// Rules compute operators that only GPUs have, by operators that the host has.
//
// Idea: cuDNN's and the fused operators have no CPU kernel, or one that saves other tensors between
// the forward and the backward pass. Each rule expresses the operator by plain operators. Dropout
// inside such an operator is omitted, because it is unknown which random numbers a GPU would draw
// there.
//
// Ownership: none. Threads: any; a rule runs without gradients and with all modes of the program
// off. Errors: PyTorch's exceptions. Sources: native_functions.yaml for arguments and results; for
// attention's backward pass Dao et al., "FlashAttention" (2022), appendix B; for recurrent layers
// the equations in the documentation of torch.nn.LSTM, GRU and RNN. Units: none.
#ifndef VRAMSTOW_ADAPTERS_VALUES_RULES_H_
#define VRAMSTOW_ADAPTERS_VALUES_RULES_H_

#include <string_view>

#include "adapters/values/operator_call.h"

namespace vramstow::values {

// Replaces the arguments by the results.
using Rule = void (*)(const OperatorCall& call);

// Finds the rule of an operator; `name` contains the namespace. Returns null if there is none.
Rule FindRule(std::string_view name);

// Find the rule of an operator of one family. Return null if there is none.
Rule FindAttentionRule(std::string_view name);
Rule FindNormRule(std::string_view name);
Rule FindRecurrentRule(std::string_view name);

}  // namespace vramstow::values

#endif  // VRAMSTOW_ADAPTERS_VALUES_RULES_H_
