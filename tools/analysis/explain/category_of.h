// CategoryFinder: what blocks are for. See categories.cc for how that is known.
//
// Ownership: refers to a Detail and its caches, which outlive it. Threads: const calls are free.
// Errors: none; what nothing tells is "unknown". Units: none.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_EXPLAIN_CATEGORY_OF_H_
#define VRAMSTOW_TOOLS_ANALYSIS_EXPLAIN_CATEGORY_OF_H_

#include <memory>
#include <string>

#include "tools/analysis/explain/kv_caches.h"
#include "tools/analysis/facts/detail.h"
#include "tools/analysis/facts/facts.h"

namespace vramstow {

class CategoryFinder {
 public:
  explicit CategoryFinder(const Detail& detail);
  // `caches`: of the same detail, where they are known already.
  CategoryFinder(const Detail& detail, const KvCaches& caches);
  ~CategoryFinder();
  CategoryFinder(const CategoryFinder&) = delete;
  CategoryFinder& operator=(const CategoryFinder&) = delete;

  // "parameters", "gradients", …
  std::string NameOf(const Life& life) const;

  // Fills by_category: what each block at the peak is for. Leaves categories alone that the input
  // itself gave.
  void AddUp(Facts* facts) const;

 private:
  struct Known;
  std::unique_ptr<Known> known_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_EXPLAIN_CATEGORY_OF_H_
