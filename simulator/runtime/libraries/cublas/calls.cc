// Implements BLAS levels 1 to 3 without GEMM: the arguments of each function are recorded in the
// order of its declaration. simulator/generate makes these functions from CUDA's headers and
// calls.txt.
//
// In host pointer mode, the functions with a single result (dot, nrm2, asum, iamax, iamin) wait
// until the result has been computed, as in cuBLAS.
#include "simulator/runtime/libraries/cublas/cublas_call.h"

using vramstow::simulator::BytesOf;
using vramstow::simulator::Call;
using vramstow::simulator::kDataType;

#include <cublas_calls.inc>
