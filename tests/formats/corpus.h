// Finds the corpus: real input files that are not in the repository.
//
// Ownership: values. Threads: any. Errors: returns an empty path if there is no corpus. Units:
// none.
#ifndef VRAMSTOW_TESTS_FORMATS_CORPUS_H_
#define VRAMSTOW_TESTS_FORMATS_CORPUS_H_

#include <string>

namespace vramstow {

// Returns the path of a file in the corpus ($VRAMSTOW_CORPUS, or ../shared/corpus beside the
// repository), or an empty path if it does not exist.
std::string CorpusFile(const std::string& name);

}  // namespace vramstow

// Skips a test visibly if the corpus does not exist.
#define VRAMSTOW_NEEDS_CORPUS(name)              \
  if (::vramstow::CorpusFile(name).empty())      \
  GTEST_SKIP() << "the corpus has no " << (name) \
               << ": set VRAMSTOW_CORPUS, or lay it into ../shared/corpus"

#endif  // VRAMSTOW_TESTS_FORMATS_CORPUS_H_
