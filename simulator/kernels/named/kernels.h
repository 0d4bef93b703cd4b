// The families of kernels that this room knows, one file each.
#ifndef VRAMSTOW_SIMULATOR_KERNELS_NAMED_KERNELS_H_
#define VRAMSTOW_SIMULATOR_KERNELS_NAMED_KERNELS_H_

#include <memory>
#include <string_view>

#include "simulator/kernels/named/effect.h"
#include "simulator/kernels/named/name.h"

namespace vramstow::simulator {

using EffectPointer = std::unique_ptr<const Effect>;

// Each takes a kernel's name in its parts and gives null if it is not of the family.
EffectPointer MakeElementwise(const TemplateName& kernel);   // functors over tensors
EffectPointer MakeIndexed(const TemplateName& kernel);       // arange, linspace
EffectPointer MakeDistribution(const TemplateName& kernel);  // random numbers
EffectPointer MakeMultiTensor(const TemplateName& kernel);   // of optimizers
EffectPointer MakeOptimizer(const TemplateName& kernel);     // fused ones
EffectPointer MakeGradient(const TemplateName& kernel);      // their norms, scaling, embeddings
EffectPointer MakeDropout(const TemplateName& kernel);
EffectPointer MakeTriangle(const TemplateName& kernel);  // tril, triu
EffectPointer MakeScatter(const TemplateName& kernel);   // gather, scatter
EffectPointer MakeSort(const TemplateName& kernel);      // sort, topk
EffectPointer MakeHelper(const TemplateName& kernel);    // what others have done already
EffectPointer MakeGather(const TemplateName& kernel);    // cat, index_select, embedding
EffectPointer MakeIndex(const TemplateName& kernel);     // x[indices], and into it
EffectPointer MakeSoftmax(const TemplateName& kernel);
EffectPointer MakeNormalization(const TemplateName& kernel);  // layer norm, RMS norm
EffectPointer MakeLoss(const TemplateName& kernel);           // negative log-likelihood
EffectPointer MakeScan(const TemplateName& kernel);           // cumsum, cumprod
EffectPointer MakeComplex(const TemplateName& kernel);        // products of complex numbers
EffectPointer MakeBlas(const TemplateName& kernel);           // of the stand-ins for cuBLAS
EffectPointer MakeReduction(const TemplateName& kernel);      // sum, mean, all, any, max, …

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_KERNELS_NAMED_KERNELS_H_
