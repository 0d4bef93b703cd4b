// The families of kernels that this room knows, one file each.
#ifndef VRAMSTOW_SIMULATOR_KERNELS_NAMED_KERNELS_H_
#define VRAMSTOW_SIMULATOR_KERNELS_NAMED_KERNELS_H_

#include <memory>
#include <string_view>

#include "simulator/kernels/named/emulation.h"
#include "simulator/kernels/named/name.h"

namespace vramstow::simulator {

using EmulationPointer = std::unique_ptr<const Emulation>;

// Each takes a kernel's name in its parts and gives null if it is not of the family.
EmulationPointer MakeElementwise(const TemplateName& kernel);   // functors over tensors
EmulationPointer MakeIndexed(const TemplateName& kernel);       // arange, linspace
EmulationPointer MakeDistribution(const TemplateName& kernel);  // random numbers
EmulationPointer MakeMultiTensor(const TemplateName& kernel);   // of optimizers
EmulationPointer MakeOptimizer(const TemplateName& kernel);     // fused ones
EmulationPointer MakeGradient(const TemplateName& kernel);      // their norms, scaling, embeddings
EmulationPointer MakeDropout(const TemplateName& kernel);
EmulationPointer MakeTriangle(const TemplateName& kernel);  // tril, triu
EmulationPointer MakeScatter(const TemplateName& kernel);   // gather, scatter
EmulationPointer MakeSort(const TemplateName& kernel);      // sort, topk
EmulationPointer MakeHelper(const TemplateName& kernel);    // what others have done already
EmulationPointer MakeGather(const TemplateName& kernel);    // cat, index_select, embedding
EmulationPointer MakeIndex(const TemplateName& kernel);     // x[indices], and into it
EmulationPointer MakeSoftmax(const TemplateName& kernel);
EmulationPointer MakeNormalization(const TemplateName& kernel);  // layer norm, RMS norm
EmulationPointer MakeLoss(const TemplateName& kernel);           // negative log-likelihood
EmulationPointer MakeScan(const TemplateName& kernel);           // cumsum, cumprod
EmulationPointer MakeComplex(const TemplateName& kernel);        // products of complex numbers
EmulationPointer MakeBlas(const TemplateName& kernel);           // of the stand-ins for cuBLAS
EmulationPointer MakeReduction(const TemplateName& kernel);      // sum, mean, all, any, max, …

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_KERNELS_NAMED_KERNELS_H_
