// Includes PyTorch's tensors, and the operators that the rules call.
//
// Idea: <ATen/ATen.h> declares all operators, some 3,000, and compiling them takes a long time
// while the user waits. This header includes only the operators that are called; a rule that calls
// another operator adds the header of that operator here. Methods of a tensor come with the tensor.
//
// Ownership, threads, errors, units: as in PyTorch.
#ifndef VRAMSTOW_ADAPTERS_VALUES_OPERATORS_H_
#define VRAMSTOW_ADAPTERS_VALUES_OPERATORS_H_

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/_embedding_bag.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/full.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/native_batch_norm.h>
#include <ATen/ops/native_batch_norm_backward.h>
#include <ATen/ops/native_layer_norm.h>
#include <ATen/ops/native_layer_norm_backward.h>
#include <ATen/ops/neg.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/searchsorted.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/zeros_like.h>

#endif  // VRAMSTOW_ADAPTERS_VALUES_OPERATORS_H_
