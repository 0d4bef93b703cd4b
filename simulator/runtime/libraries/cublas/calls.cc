// BLAS levels 1 to 3, but for GEMM: the arguments of each function are written down in the order of
// its declaration. simulator/generate makes them from CUDA's headers; calls.txt says the rest.
//
// Results that are one value (dot, nrm2, asum, iamax, iamin) are waited for in host pointer mode,
// as cuBLAS does.
#include "simulator/runtime/libraries/cublas/call.h"

using vramstow::simulator::BytesOf;
using vramstow::simulator::Call;
using vramstow::simulator::kDataType;

#include <cublas_calls.inc>
