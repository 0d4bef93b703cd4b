// Implements BLAS levels 1 to 3 without GEMM: the arguments of each function are recorded in the
// order of its declaration. simulator/generate makes these functions from CUDA's headers and
// calls.txt.
//
// The functions with a single result (dot, nrm2, asum, iamax, iamin) wait for it in host pointer
// mode, as in cuBLAS.
#include "simulator/runtime/libraries/cublas/call.h"

using vramstow::simulator::BytesOf;
using vramstow::simulator::Call;
using vramstow::simulator::kDataType;

#include <cublas_calls.inc>
