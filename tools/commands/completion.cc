#include "tools/commands/completion.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "tools/commands/advice_page.h"
#include "tools/commands/topics.h"

namespace vramstow {
namespace {

// Returns the first sentence of a help text, on one line, without its full stop.
std::string ShortHelp(const std::string& help) {
  std::string text = absl::StrReplaceAll(help, {{"\n", " "}});
  text = text.substr(0, text.find(". "));
  if (text.ends_with('.')) text.pop_back();
  return text;
}

bool IsCommand(const OptionWords& option) {
  return option.is_positional && option.names.front() == kCommandName;
}

std::string NamesOf(const std::vector<CommandWords>& commands) {
  return absl::StrJoin(commands, " ", [](std::string* text, const CommandWords& command) {
    absl::StrAppend(text, command.name);
  });
}

// Returns the words that may follow "help".
std::string NamesOfTopics() {
  std::string names;
  for (const Topic& topic : AllTopics()) absl::StrAppend(&names, " ", topic.name);
  for (const std::string& id : AdviceIds()) absl::StrAppend(&names, " ", id);
  return names;
}

std::string Words(const std::vector<std::string>& words) { return absl::StrJoin(words, " "); }

// Returns the text in single quotes.
std::string Quoted(const std::string& text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\\''"}}), "'");
}

// --- bash

constexpr char kBashBegins[] = R"(# Completes vramstow in bash. Made by: vramstow completion bash

_vramstow_files() {
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen -f -- "$1")
}

_vramstow() {
  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
  local flags='' takes_value='' words='' takes_command='' takes_file=''
  COMPREPLY=()
  # bash makes a word of its own of "=".
  if [[ $current == "=" ]]; then
    current=
  elif [[ $before == "=" ]]; then
    before=${COMP_WORDS[COMP_CWORD - 2]}
  fi
)";

constexpr char kBashGoesOn[] = R"(
  # What follows the flags of run is another program, with its arguments.
  if [[ $takes_command ]]; then
    local place=2 found=
    while ((place < COMP_CWORD)); do
      case ${COMP_WORDS[place]} in
        --)
          ((place++))
          found=1
          break
          ;;
        -*)
          if [[ ${COMP_WORDS[place + 1]} == "=" ]]; then
            ((place += 3))
          elif [[ " $takes_value " == *" ${COMP_WORDS[place]} "* && ${COMP_WORDS[place + 1]} != -* ]]; then
            ((place += 2))
          else
            ((place++))
          fi
          ;;
        *)
          found=1
          break
          ;;
      esac
    done
    if ((place == COMP_CWORD)) && [[ $current != -* ]]; then found=1; fi
    if [[ $found ]]; then
      if declare -F _command_offset >/dev/null; then
        _command_offset "$place"
      elif ((place == COMP_CWORD)); then
        mapfile -t COMPREPLY < <(compgen -c -- "$current")
      else
        _vramstow_files "$current"
      fi
      return
    fi
  fi
)";

constexpr char kBashEnds[] = R"(
  if [[ $current == -* ]]; then
    words=$flags
  elif [[ $takes_file ]]; then
    _vramstow_files "$current"
    return
  fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}

complete -F _vramstow vramstow
)";

// Sets the variables with which the rest of the script works, for one command.
std::string BashCommand(const CommandWords& command) {
  std::vector<std::string> flags;
  std::vector<std::string> takes_value;
  std::string text = absl::StrCat("    ", command.name, ")\n");
  for (const OptionWords& option : command.options) {
    if (!option.is_positional) {
      flags.insert(flags.end(), option.names.begin(), option.names.end());
      if (option.takes_value) {
        takes_value.insert(takes_value.end(), option.names.begin(), option.names.end());
      }
    } else if (IsCommand(option)) {
      absl::StrAppend(&text, "      takes_command=1\n");
    } else if (!option.values.empty()) {
      absl::StrAppend(&text, "      words=", Quoted(Words(option.values)), "\n");
    } else if (option.takes_file) {
      absl::StrAppend(&text, "      takes_file=1\n");
    }
  }
  return absl::StrCat(text, "      flags=", Quoted(Words(flags)),
                      "\n      takes_value=", Quoted(Words(takes_value)), "\n      ;;\n");
}

// Returns the words that may follow one option.
std::string BashValues(const CommandWords& command, const OptionWords& option) {
  const std::string names =
      absl::StrJoin(option.names, " | ", [&command](std::string* text, const std::string& name) {
        absl::StrAppend(text, "\"", command.name, " ", name, "\"");
      });
  std::string action = "return";
  if (!option.values.empty()) {
    action = absl::StrCat("mapfile -t COMPREPLY < <(compgen -W ", Quoted(Words(option.values)),
                          " -- \"$current\")\n      return");
  } else if (option.takes_file) {
    action = "_vramstow_files \"$current\"\n      return";
  }
  return absl::StrCat("    ", names, ")\n      ", action, "\n      ;;\n");
}

// --- zsh

// Escapes text for a specification of _arguments.
std::string ZshText(const std::string& text) {
  return absl::StrReplaceAll(
      text, {{"'", "'\\''"}, {"[", "\\["}, {"]", "\\]"}, {":", "\\:"}, {"\\", "\\\\"}});
}

std::string ZshValue(const OptionWords& option) {
  if (!option.takes_value) return "";
  const std::string action = !option.values.empty() ? absl::StrCat("(", Words(option.values), ")")
                             : option.takes_file    ? "_files"
                                                    : " ";
  return absl::StrCat(":value:", action);
}

std::string ZshOption(const OptionWords& option) {
  if (IsCommand(option)) {
    return "'(-)1:command: _command_names -e' '*::arguments: _normal'";
  }
  if (option.is_positional) {
    const std::string what = ZshText(absl::StrReplaceAll(option.names.front(), {{"|", " or "}}));
    const std::string action = !option.values.empty() ? absl::StrCat("(", Words(option.values), ")")
                               : option.takes_file    ? "_files"
                                                      : " ";
    return absl::StrCat("'", option.is_repeated ? "*" : "", ":", what, ":", action, "'");
  }
  std::vector<std::string> specifications;
  const std::string others =
      option.names.size() > 1 ? absl::StrCat("(", Words(option.names), ")") : "";
  for (const std::string& name : option.names) {
    const bool is_long = name.starts_with("--");
    specifications.push_back(absl::StrCat(
        "'", option.is_repeated ? "*" : others, name, option.takes_value && is_long ? "=" : "", "[",
        ZshText(ShortHelp(option.help)), "]", ZshValue(option), "'"));
  }
  return Words(specifications);
}

}  // namespace

std::string BashCompletion(const std::vector<CommandWords>& commands) {
  const std::string names = NamesOf(commands);
  std::string text = kBashBegins;
  absl::StrAppend(&text,
                  "  if ((COMP_CWORD == 1)); then\n"
                  "    mapfile -t COMPREPLY < <(compgen -W '",
                  names,
                  " help --help --version' -- \"$current\")\n"
                  "    return\n"
                  "  fi\n"
                  "  case ${COMP_WORDS[1]} in\n"
                  "    help)\n"
                  "      words='",
                  names, NamesOfTopics(), "'\n      ;;\n");
  std::string values;
  for (const CommandWords& command : commands) {
    text += BashCommand(command);
    for (const OptionWords& option : command.options) {
      if (option.takes_value && !option.is_positional) values += BashValues(command, option);
    }
  }
  return absl::StrCat(text, "  esac\n", kBashGoesOn, "  case \"${COMP_WORDS[1]} $before\" in\n",
                      values, "  esac\n", kBashEnds);
}

std::string ZshCompletion(const std::vector<CommandWords>& commands) {
  std::string text =
      "#compdef vramstow\n"
      "# Completes vramstow in zsh. Made by: vramstow completion zsh\n"
      "\n"
      "_vramstow() {\n"
      "  local context state state_descr line curcontext=$curcontext\n"
      "  local -A opt_args\n"
      "  local -a names\n"
      "  names=(\n";
  for (const CommandWords& command : commands) {
    absl::StrAppend(&text, "    ", Quoted(absl::StrCat(command.name, ":", command.summary)), "\n");
  }
  absl::StrAppend(
      &text,
      "    'help:prints how a command is used'\n"
      "  )\n"
      "  _arguments -C '(- *)'{-h,--help}'[Print how vramstow is used]' \\\n"
      "    '(- *)--version[Print the version]' '1: :->command' '*:: :->arguments'\n"
      "  case $state in\n"
      "    command) _describe -t commands command names ;;\n"
      "    arguments)\n"
      "      case $words[1] in\n"
      "        help)\n          _describe -t commands command names\n          compadd --",
      NamesOfTopics(), "\n          ;;\n");
  for (const CommandWords& command : commands) {
    absl::StrAppend(&text, "        ", command.name, ")\n          _arguments -S");
    for (const OptionWords& option : command.options) {
      absl::StrAppend(&text, " \\\n            ", ZshOption(option));
    }
    absl::StrAppend(&text, "\n          ;;\n");
  }
  return text +
         "      esac\n"
         "      ;;\n"
         "  esac\n"
         "}\n"
         "\n"
         "# Found in fpath, or sourced.\n"
         "if [[ $funcstack[1] == _vramstow ]]; then\n"
         "  _vramstow \"$@\"\n"
         "else\n"
         "  compdef _vramstow vramstow\n"
         "fi\n";
}

}  // namespace vramstow
