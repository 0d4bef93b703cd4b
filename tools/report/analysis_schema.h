// AnalysisSchema: makes docs/schemas/vramstow.analysis.json, the JSON Schema of `vramstow analyze
// --json`, from the tables of facts.
//
// Ownership: the caller owns the results. Threads: pure functions, callable from any thread.
// Errors: none. Units: none.
#ifndef VRAMSTOW_TOOLS_REPORT_ANALYSIS_SCHEMA_H_
#define VRAMSTOW_TOOLS_REPORT_ANALYSIS_SCHEMA_H_

#include <string>

namespace vramstow {

// Returns the schema (draft 2020-12), indented by one space. It allows keys that it does not name,
// because later versions add keys.
std::string AnalysisSchema();

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_REPORT_ANALYSIS_SCHEMA_H_
