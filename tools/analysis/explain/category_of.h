// CategoryFinder: finds the purpose of blocks. categories.cc describes how.
//
// Ownership: refers to a Detail and its caches, which outlive it. Threads: const functions may be
// called at the same time. Errors: none; a purpose without evidence is "unknown". Units: none.
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
  // `caches` are the key/value caches that were found in `detail`.
  CategoryFinder(const Detail& detail, const KvCaches& caches);
  ~CategoryFinder();
  CategoryFinder(const CategoryFinder&) = delete;
  CategoryFinder& operator=(const CategoryFinder&) = delete;

  // Returns the name of the block's category: "parameters", "gradients", …
  std::string NameOf(const Life& life) const;

  // Fills by_category with the sums of the blocks at the peak, by purpose. Categories that the
  // input itself gave are unchanged.
  void AddUp(Facts* facts) const;

 private:
  struct Known;
  std::unique_ptr<Known> known_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_EXPLAIN_CATEGORY_OF_H_
