// A trace as text, to compare golden files with.
#ifndef VRAMSTOW_TESTS_TRACER_GOLDEN_H_
#define VRAMSTOW_TESTS_TRACER_GOLDEN_H_

#include <string>

namespace vramstow {

// All that the reader says of the file: facts, names, report, and events, one a line. Of a trace
// with many events only some lines, and a checksum over all.
std::string Describe(const std::string& path);

}  // namespace vramstow

#endif  // VRAMSTOW_TESTS_TRACER_GOLDEN_H_
