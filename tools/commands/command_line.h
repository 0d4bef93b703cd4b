// CommandLine: declares the arguments of one command as data: the names of each option, its text in
// --help, and the variable that gets its value.
//
// Idea: only command_line.cc includes the library that parses arguments (CLI11), because it takes
// ten seconds to compile.
//
// Ownership: the caller owns the targets. Threads: used by one thread at a time. Errors:
// ReadArguments writes one sentence to stderr. Units: none.
#ifndef VRAMSTOW_TOOLS_COMMANDS_COMMAND_LINE_H_
#define VRAMSTOW_TOOLS_COMMANDS_COMMAND_LINE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace vramstow {

// The variable that gets the value. A bool is a flag and takes no value; a list takes one or more.
using OptionTarget = std::variant<bool*, int*, int64_t*, uint64_t*, double*, std::string*,
                                  std::vector<std::string>*>;

struct OptionRange {
  double least = 0;
  double most = 0;
};

struct OptionRules {
  bool required = false;
  bool hidden = false;         // --help does not show the option
  bool shows_default = false;  // --help shows the default value
  bool last_wins = false;      // the last of several values counts; without this, two are an error
  bool one_at_a_time = false;  // a list gets one value each time the option is given
  bool takes_commas = false;   // a list: commas separate values
  std::optional<OptionRange> range = {};
  std::vector<std::string> one_of = {};  // empty for any value
  // Words that a shell completes; other values are allowed.
  std::vector<std::string> suggests = {};
  bool takes_no_file = false;              // a text value is no file name
  std::vector<std::string> excludes = {};  // options that cannot be given together with this one
  std::vector<std::string> needs = {};     // options without which this one would do nothing
  std::string value_name = {};             // empty for the one of the target's type
  std::string group = {};                  // the heading above it in --help; empty means "Options"
};

struct Option {
  std::string names;  // "-o,--output"; a name without dashes is positional: "INPUT"
  OptionTarget target;
  std::string help = {};
  OptionRules rules = {};
};

struct CommandLine {
  std::string command;  // "fit"
  std::string summary;  // the first lines of --help
  std::string footer;   // the last lines of --help
  std::vector<Option> options;
  std::string usage = {};  // the text after the command's name; empty if generated
};

using CommandFunction = int(const std::vector<std::string>& arguments);

// The positional option that is another program's command, with its arguments.
inline constexpr char kCommandName[] = "COMMAND";

// The names and the value of one option, for the completion of a shell.
struct OptionWords {
  std::vector<std::string> names;  // "-o", "--output"; of a positional one "INPUT"
  std::string help;
  std::vector<std::string> values;  // the allowed words; empty if unknown
  bool takes_value = false;
  bool takes_file = false;  // the value may be a file or a folder
  bool is_positional = false;
  bool is_repeated = false;
};

// Returns the options that a command declares, without running it; empty if it declares none.
std::vector<OptionWords> OptionsOf(CommandFunction* command);

// Parses `arguments` into the targets. Returns an exit status if the program has to end here:
// --help was requested, or an argument is wrong and the sentence was written.
std::optional<int> ReadArguments(const CommandLine& line,
                                 const std::vector<std::string>& arguments);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_COMMANDS_COMMAND_LINE_H_
