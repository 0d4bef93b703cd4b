// vramstow completion: prints a script for a shell, generated from the table of commands.
#include <string>
#include <vector>

#include "tools/commands/command.h"
#include "tools/commands/command_line.h"
#include "tools/commands/command_table.h"
#include "tools/commands/completion.h"
#include "tools/json/json_value.h"
#include "tools/terminal/output.h"

namespace vramstow {
namespace {

constexpr char kCompletionFooter[] =
    "The Debian package installs both scripts. Without it, DIR is a folder of zsh's fpath.\n"
    "\n"
    "Examples:\n"
    "  vramstow completion bash > ~/.local/share/bash-completion/completions/vramstow\n"
    "  vramstow completion zsh > DIR/_vramstow\n"
    "\n"
    "Exit status: 0; 1 if the script could not be written; 2 for wrong arguments.";

JsonValue ListOf(const std::vector<std::string>& texts) {
  JsonValue list = JsonValue::Array();
  for (const std::string& text : texts) list.Append(text);
  return list;
}

std::string CompletionJson(const std::vector<CommandWords>& commands) {
  JsonValue list = JsonValue::Array();
  for (const CommandWords& command : commands) {
    JsonValue options = JsonValue::Array();
    for (const OptionWords& option : command.options) {
      options.Append(JsonValue::Object({{"names", ListOf(option.names)},
                                        {"help", option.help},
                                        {"positional", option.is_positional},
                                        {"takes_value", option.takes_value},
                                        {"values", ListOf(option.values)}}));
    }
    list.Append(JsonValue::Object(
        {{"name", command.name}, {"summary", command.summary}, {"options", options}}));
  }
  return JsonValue::Object({{"commands", list}}).Dump() + "\n";
}

}  // namespace

int CompletionCommand(const std::vector<std::string>& arguments) {
  std::string shell;
  bool json = false;
  const CommandLine line{
      .command = "completion",
      .summary = "Prints what a shell needs to complete commands, flags and their values.",
      .footer = kCompletionFooter,
      .options = {{"SHELL", &shell, "bash or zsh", {.one_of = {"bash", "zsh"}}},
                  {"--json", &json, "Print the commands and their options as JSON on one line"}}};
  if (const auto status = ReadArguments(line, arguments)) return *status;
  if (shell.empty() && !json) {
    Complain("completion", "for which shell? Say bash or zsh.");
    return kExitUsage;
  }
  std::vector<CommandWords> commands;
  for (const Command& command : ListedCommands()) {
    commands.push_back({command.name, command.summary, OptionsOf(command.run)});
  }
  return PrintResult("completion", json              ? CompletionJson(commands)
                                   : shell == "bash" ? BashCompletion(commands)
                                                     : ZshCompletion(commands));
}

}  // namespace vramstow
