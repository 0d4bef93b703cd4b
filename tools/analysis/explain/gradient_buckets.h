// Gradient buckets: the blocks in which DistributedDataParallel gathers gradients before they go to
// the other ranks.
//
// Idea: they are made with the wrapped model, or in its second forward pass, and stay. With
// gradient_as_bucket_view=True they are the gradients; without it they are a second copy. Source:
// torch/nn/parallel/distributed.py, whose functions call the C++ class Reducer.
//
// Ownership: none. Threads: pure functions. Errors: none. Units: none.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_EXPLAIN_GRADIENT_BUCKETS_H_
#define VRAMSTOW_TOOLS_ANALYSIS_EXPLAIN_GRADIENT_BUCKETS_H_

#include "tools/analysis/facts/detail.h"

namespace vramstow {

// Whether a block that lives longer than this call is a bucket.
bool MakesGradientBuckets(const Detail& detail, const SiteDetail& site);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_EXPLAIN_GRADIENT_BUCKETS_H_
