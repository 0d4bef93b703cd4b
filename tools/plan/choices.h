// Choices: the placeholders of a command, the values they may take, and every way to fill them in.
//
// Idea: a command says {batch} where a value goes. Its values come as a list, "1,2,4,8..64", in
// which ".." goes on as the values before it do: by a factor, or else by a step.
//
// Ownership: copies. Threads: pure functions. Errors: one sentence. Units: none.
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

// The value of one placeholder.
struct Setting {
  std::string name;
  std::string value;
};
using Choice = std::vector<Setting>;

// The names in braces, each once, in the order in which the command has them. A name is of small
// letters, digits and "_", and begins with a letter.
std::vector<std::string> PlaceholdersOf(const std::vector<std::string>& command);

// "1,2,4,8..64" → 1, 2, 4, 8, 16, 32, 64; "none,full" as they stand.
absl::StatusOr<std::vector<std::string>> ValuesOf(absl::string_view text);

// Every choice; the values of the last placeholder change first.
std::vector<Choice> AllChoices(const std::vector<Placeholder>& placeholders);

// The command with values in place of placeholders.
std::vector<std::string> Filled(const std::vector<std::string>& command, const Choice& choice);

// A value as a number; nothing where it is none.
std::optional<double> NumberOf(const std::string& value);

// Degrees of parallelism: {shard}, {dp}, {tp}, {pp}, {cp}. Each is a number of ranks that share
// something, so that it has to divide all of them, and memory shrinks where it grows.
bool IsDegree(absl::string_view name);

// The placeholder along which peaks are fitted: {batch}, or else the first that has only numbers,
// of which there are two or more, and that is no degree.
std::optional<size_t> AxisOf(const std::vector<Placeholder>& placeholders);

// "{batch} = 8, {checkpoint} = full"
std::string TextOf(const Choice& choice);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_PLAN_CHOICES_H_
