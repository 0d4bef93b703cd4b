// Choices: the placeholders of a command, the values they may have, and all combinations of values.
//
// Idea: a command has a placeholder like {batch} in place of a value. The values are given as a
// list, "1,2,4,8..64". The part ".." continues the list like the values before it, by a factor or
// by a difference.
//
// Ownership: the results are copies. Threads: pure functions, callable from any thread. Errors: one
// sentence. Units: none.
#ifndef VRAMSTOW_TOOLS_PLAN_CHOICES_H_
#define VRAMSTOW_TOOLS_PLAN_CHOICES_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace vramstow {

struct Placeholder {
  std::string name;  // without braces
  std::vector<std::string> values;
};

// A placeholder and the value that is chosen for it.
struct Setting {
  std::string name;
  std::string value;
};
using Choice = std::vector<Setting>;

// Returns the names that stand in braces in the command, each once, in the order of the command. A
// name consists of lower-case letters, digits and "_", and begins with a letter.
std::vector<std::string> PlaceholdersOf(const std::vector<std::string>& command);

// Returns the values of a list. "1,2,4,8..64" is expanded to 1, 2, 4, 8, 16, 32, 64; "none,full"
// has two values that are not numbers.
absl::StatusOr<std::vector<std::string>> ValuesOf(absl::string_view text);

// Returns all combinations of values. From one to the next, the value of the last placeholder
// changes first.
std::vector<Choice> AllChoices(const std::vector<Placeholder>& placeholders);

// Returns the command with values in place of placeholders.
std::vector<std::string> Filled(const std::vector<std::string>& command, const Choice& choice);

// Returns a value as a number, or nullopt if it is not a number.
std::optional<double> NumberOf(const std::string& value);

// True if the name is one of the degrees of parallelism {shard}, {dp}, {tp}, {pp}, {cp}. A degree
// is the number of ranks in a group, so it must divide the number of all ranks. Memory shrinks when
// a degree grows.
bool IsDegree(absl::string_view name);

// Returns the placeholder along which peaks are fitted to a line: {batch} if the command has it.
// Otherwise it is the first placeholder that is no degree of parallelism, has at least two values,
// and has only numbers.
std::optional<size_t> AxisOf(const std::vector<Placeholder>& placeholders);

// Returns a text like "{batch} = 8, {checkpoint} = full".
std::string TextOf(const Choice& choice);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_PLAN_CHOICES_H_
