// Json: writes facts as JSON. docs/analyze.md describes every key.
//
// Ownership: the caller owns the results. Threads: pure functions, callable from any thread.
// Errors: none; in text that is not UTF-8, invalid bytes are replaced. Units: bytes and
// nanoseconds, as the endings of the keys say.
#ifndef VRAMSTOW_TOOLS_REPORT_JSON_H_
#define VRAMSTOW_TOOLS_REPORT_JSON_H_

#include <string>

#include "tools/analysis/facts/facts.h"

namespace vramstow {

inline constexpr char kSchemaName[] = "vramstow.analysis";
// The version of the JSON's schema. It is incremented when a key changes its meaning or is removed;
// new keys do not change it.
inline constexpr int kSchemaVersion = 1;

// Returns the text as a JSON string, in quotes.
std::string JsonText(const std::string& text);

// Returns the report as one object on one line.
std::string JsonReport(const FactSet& set);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_REPORT_JSON_H_
