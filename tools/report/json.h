// Json: facts as JSON. docs/analyze.md describes every key.
//
// Ownership: results are the caller's. Threads: pure functions. Errors: none; text that is not
// UTF-8 has its wrong bytes replaced. Units: bytes and nanoseconds, as the keys' endings say.
#ifndef VRAMSTOW_TOOLS_REPORT_JSON_H_
#define VRAMSTOW_TOOLS_REPORT_JSON_H_

#include <string>

#include "tools/analysis/facts/facts.h"

namespace vramstow {

inline constexpr char kSchemaName[] = "vramstow.analysis";
// Goes up when a key changes its meaning or goes; new keys do not change it.
inline constexpr int kSchemaVersion = 1;

// A text as JSON, in quotes.
std::string JsonText(const std::string& text);

// One object on one line.
std::string JsonReport(const FactSet& set);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_REPORT_JSON_H_
