// GradientBuckets: recognises the blocks in which DistributedDataParallel collects gradients before
// they go to the other ranks.
//
// Idea: the buckets are made with the wrapped model, or in its second forward pass, and stay live.
// With gradient_as_bucket_view=True the buckets are the gradients themselves; otherwise they are a
// second copy. Source: torch/nn/parallel/distributed.py, whose functions call the C++ class
// Reducer.
//
// Ownership: none. Threads: pure functions, callable from any thread. Errors: none. Units: none.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_EXPLAIN_BUCKET_SITES_H_
#define VRAMSTOW_TOOLS_ANALYSIS_EXPLAIN_BUCKET_SITES_H_

#include "tools/analysis/facts/detail.h"

namespace vramstow {

// True if a block of this call site is a bucket, provided that it outlives the call.
bool MakesGradientBuckets(const Detail& detail, const SiteDetail& site);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_EXPLAIN_BUCKET_SITES_H_
