#include "tools/commands/command_line.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <type_traits>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "tools/base/likely_name.h"
#include "tools/base/words.h"
#include "tools/terminal/exit_status.h"
#include "tools/terminal/output.h"

namespace vramstow {
namespace {

// The usage of a command that parses its own positional arguments is a fixed text.
class FixedUsage : public CLI::Formatter {
 public:
  explicit FixedUsage(std::string usage) : usage_(std::move(usage)) {}
  std::string make_usage(const CLI::App*, std::string name) const override {
    return absl::StrCat("Usage: ", name, " ", usage_, "\n");
  }

 private:
  const std::string usage_;
};

template <typename T>
CLI::Option* Add(CLI::App* app, const Option& option, T* target) {
  if constexpr (std::is_same_v<T, bool>) {
    return app->add_flag(option.names, *target, option.help);
  } else {
    return app->add_option(option.names, *target, option.help);
  }
}

CLI::Range RangeOf(const OptionRange& range, const OptionTarget& target) {
  if (std::holds_alternative<double*>(target)) return {range.least, range.most};
  return {static_cast<int64_t>(range.least), static_cast<int64_t>(range.most)};
}

void AddOption(CLI::App* app, const Option& option) {
  const OptionRules& rules = option.rules;
  CLI::Option* added =
      std::visit([&](auto* target) { return Add(app, option, target); }, option.target);
  if (rules.required) added->required();
  if (rules.hidden) {
    added->group("");
  } else if (!rules.group.empty()) {
    added->group(rules.group);
  }
  if (rules.shows_default) added->capture_default_str();
  if (rules.last_wins) added->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  if (rules.one_at_a_time) added->take_all()->expected(1);
  if (rules.takes_commas) added->delimiter(',');
  if (rules.range.has_value()) added->check(RangeOf(*rules.range, option.target));
  if (!rules.one_of.empty()) added->check(CLI::IsMember(rules.one_of));
  if (!rules.value_name.empty()) added->type_name(rules.value_name);
}

// Returns ", did you mean --simulate?" if an option has a similar name.
std::string LikelyOption(const CLI::App& app, const std::string& given) {
  if (!given.starts_with("--")) return "";
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  const std::string likely = LikelyName(given.substr(0, given.find('=')), names);
  return likely.empty() ? "" : absl::StrCat(", did you mean ", likely, "?");
}

// Returns the error, as a part of a sentence.
std::string Problem(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<std::string> extras = app.remaining();
  const auto unknown = [&app](const std::string& argument) {
    return absl::StrCat("unknown argument '", Printable(argument), "'",
                        LikelyOption(app, argument));
  };
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
    return unknown(extras.empty() ? "" : extras.front());
  }
  // An unknown flag is the likely reason for a missing argument. Arguments after "--" are not flags
  // of ours.
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
    for (const std::string& extra : extras) {
      if (extra == "--") break;
      if (extra.starts_with('-')) return unknown(extra);
    }
  }
  if (dynamic_cast<const CLI::RequiresError*>(&error) != nullptr) {
    // The library's text is, for example, "--every requires --growth".
    return absl::StrCat(Printable(error.what()), ", and has no effect without it");
  }
  return Printable(error.what());
}

// The list in which OptionsOf collects the options that a command declares; null at other times.
std::vector<OptionWords>* asked_options = nullptr;

OptionWords WordsOf(const Option& option) {
  const OptionRules& rules = option.rules;
  OptionWords words = {.names = absl::StrSplit(option.names, ','),
                       .help = option.help,
                       .values = rules.one_of.empty() ? rules.suggests : rules.one_of};
  words.is_positional = !option.names.starts_with('-');
  words.takes_value = !std::holds_alternative<bool*>(option.target);
  words.is_repeated = std::holds_alternative<std::vector<std::string>*>(option.target);
  words.takes_file = words.values.empty() && !rules.takes_no_file &&
                     (words.is_repeated || std::holds_alternative<std::string*>(option.target));
  return words;
}

// The library ends each group with a blank line of its own.
std::string WithSingleBlankLines(std::string text) {
  while (absl::StrReplaceAll({{"\n\n\n", "\n\n"}}, &text) > 0) {
  }
  return text;
}

}  // namespace

std::vector<OptionWords> OptionsOf(CommandFunction* command) {
  std::vector<OptionWords> options;
  asked_options = &options;
  // A command that hides options from --help declares all of them for --help-all.
  command({"--help-all"});
  asked_options = nullptr;
  return options;
}

std::optional<int> ReadArguments(const CommandLine& line,
                                 const std::vector<std::string>& arguments) {
  if (asked_options != nullptr) {
    for (const Option& option : line.options) {
      if (!option.rules.hidden) asked_options->push_back(WordsOf(option));
    }
    OptionWords help;
    help.names = {"-h", "--help"};
    help.help = "Print this text";
    asked_options->push_back(help);
    if (absl::StrContains(line.usage, kCommandName)) {
      OptionWords command;
      command.names = {kCommandName};
      command.is_positional = command.is_repeated = true;
      asked_options->push_back(command);
    }
    return kExitOk;
  }
  CLI::App app(line.summary);
  app.name("vramstow " + line.command);
  app.footer(line.footer);
  if (!line.usage.empty()) app.formatter(std::make_shared<FixedUsage>(line.usage));
  for (const Option& option : line.options) AddOption(&app, option);
  // The help flag is added last, so that it is the last one of the list.
  app.set_help_flag("-h,--help", "Print this text");
  for (const Option& option : line.options) {
    for (const std::string& other : option.rules.excludes) {
      app.get_option(option.names)->excludes(app.get_option(other));
    }
    for (const std::string& other : option.rules.needs) {
      app.get_option(option.names)->needs(app.get_option(other));
    }
  }
  try {
    // CLI11 parses the arguments from the back.
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
    return std::nullopt;
  } catch (const CLI::CallForHelp&) {
    return PrintResult(line.command, WithSingleBlankLines(app.help()) + "\n");
  } catch (const CLI::ParseError& error) {
    const std::string problem = Problem(app, error);
    Complain(line.command, absl::StrCat(problem, problem.ends_with('?') ? " See" : "; see",
                                        " vramstow ", line.command, " --help."));
    return kExitUsage;
  }
}

}  // namespace vramstow
