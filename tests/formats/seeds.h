// Small good files, one or more of each format, from which changed ones are made.
//
// Ownership: values. Threads: any. Errors: none.
#ifndef VRAMSTOW_TESTS_FORMATS_SEEDS_H_
#define VRAMSTOW_TESTS_FORMATS_SEEDS_H_

#include <string>
#include <vector>

namespace vramstow {

std::vector<std::string> Seeds();

}  // namespace vramstow

#endif  // VRAMSTOW_TESTS_FORMATS_SEEDS_H_
