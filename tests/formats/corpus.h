// Where the corpus lies: real inputs that are not in the repository.
//
// Ownership: values. Threads: any. Errors: an empty path where there is no corpus.
#ifndef VRAMSTOW_TESTS_FORMATS_CORPUS_H_
#define VRAMSTOW_TESTS_FORMATS_CORPUS_H_

#include <string>

namespace vramstow {

// The path of a file in the corpus ($VRAMSTOW_CORPUS, or ../shared/corpus beside the repository);
// empty where it is absent.
std::string CorpusFile(const std::string& name);

}  // namespace vramstow

// Ends a test visibly where the corpus is absent.
#define VRAMSTOW_NEEDS_CORPUS(name)              \
  if (::vramstow::CorpusFile(name).empty())      \
  GTEST_SKIP() << "the corpus has no " << (name) \
               << ": set VRAMSTOW_CORPUS, or lay it into ../shared/corpus"

#endif  // VRAMSTOW_TESTS_FORMATS_CORPUS_H_
