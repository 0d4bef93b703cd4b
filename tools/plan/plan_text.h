// PlanText: writes the results of `vramstow plan`, as a table for people and as JSON.
//
// Ownership: keeps its own copies. Threads: used by one thread at a time. Errors: none. Units:
// bytes, seconds.
#ifndef VRAMSTOW_TOOLS_PLAN_PLAN_TEXT_H_
#define VRAMSTOW_TOOLS_PLAN_PLAN_TEXT_H_

#include <optional>
#include <string>
#include <vector>

#include "tools/json/json_value.h"
#include "tools/plan/cards.h"
#include "tools/plan/search.h"

namespace vramstow {

struct PlanReport {
  PlanResult result;
  std::vector<PlanCard> cards;
  std::vector<std::string> names;  // names of the placeholders: columns of the table
  double margin = 0;
  std::optional<double> tokens;  // tokens of the whole job
  // Changes with which larger values would fit, in one or two sentences each.
  std::vector<std::string> hints;
  std::vector<std::string> notes;    // remarks on the numbers, one sentence each
  std::vector<std::string> command;  // with its placeholders
};

// Returns the cost of the job in card hours: the number of cards times the hours that the job
// takes. Returns nullopt if a time or the number of tokens is unknown.
std::optional<double> CardHours(const PlanReport& report, const PlanRow& row);

std::string TextOf(const PlanReport& report);
JsonValue JsonOf(const PlanReport& report);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_PLAN_PLAN_TEXT_H_
