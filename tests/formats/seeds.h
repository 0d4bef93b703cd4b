// Small valid files, at least one of each format, from which changed ones are made.
//
// Ownership: values. Threads: any. Errors: none. Units: none.
#ifndef VRAMSTOW_TESTS_FORMATS_SEEDS_H_
#define VRAMSTOW_TESTS_FORMATS_SEEDS_H_

#include <string>
#include <vector>

namespace vramstow {

std::vector<std::string> Seeds();

}  // namespace vramstow

#endif  // VRAMSTOW_TESTS_FORMATS_SEEDS_H_
