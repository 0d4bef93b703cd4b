// Describes a trace as text, for a comparison with golden files.
#ifndef VRAMSTOW_TESTS_TRACER_GOLDEN_H_
#define VRAMSTOW_TESTS_TRACER_GOLDEN_H_

#include <string>

namespace vramstow {

// Returns everything that the reader finds in the file: facts, names, report, and events, one per
// line. Of a trace with many events it contains only some lines, and a checksum over all.
std::string Describe(const std::string& path);

}  // namespace vramstow

#endif  // VRAMSTOW_TESTS_TRACER_GOLDEN_H_
