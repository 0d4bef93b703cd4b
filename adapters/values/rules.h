// Rules: operators that only cards have, computed with operators that the host has.
//
// Idea: cuDNN's and the fused operators have no CPU kernel, or one that keeps other things between
// the forward and the backward pass. Each rule says in plain operators what they compute. Dropout
// within them is left out: which numbers a card would draw there is not known.
//
// Ownership: none. Threads: any; a rule runs without gradients and with all modes of the program
// off. Errors: exceptions of PyTorch's. Sources: native_functions.yaml for arguments and results;
// for attention's backward pass Dao et al., "FlashAttention" (2022), appendix B; for recurrent
// layers the equations in the documentation of torch.nn.LSTM, GRU and RNN.
#ifndef VRAMSTOW_ADAPTERS_VALUES_RULES_H_
#define VRAMSTOW_ADAPTERS_VALUES_RULES_H_

#include <string_view>

#include "adapters/values/operator_call.h"

namespace vramstow::values {

// Puts the results in the place of the arguments.
using Rule = void (*)(const OperatorCall& call);

// `name` with its namespace. Null: there is none.
Rule FindRule(std::string_view name);

// The rules by family.
Rule FindAttentionRule(std::string_view name);
Rule FindNormRule(std::string_view name);
Rule FindRecurrentRule(std::string_view name);

}  // namespace vramstow::values

#endif  // VRAMSTOW_ADAPTERS_VALUES_RULES_H_
