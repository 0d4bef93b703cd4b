#include "interpose/core/record/trace_name.h"

#include <chrono>
#include <cstdio>

namespace vramstow {
namespace {

constexpr size_t kLongestScript = 100;

// Returns the first of the arguments and removes it from them.
std::string_view NextArgument(std::string_view* arguments) {
  const std::string_view argument = arguments->substr(0, arguments->find('\0'));
  arguments->remove_prefix(argument.size());
  if (!arguments->empty()) arguments->remove_prefix(1);
  return argument;
}

std::string_view WithoutFolder(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  const size_t slash = path.rfind('/');
  if (slash != std::string_view::npos) path.remove_prefix(slash + 1);
  if (path.ends_with(".py") && path.size() > 3) path.remove_suffix(3);
  return path;
}

// True for characters that every file system and shell accepts in a name.
bool IsPlain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == '-' || static_cast<unsigned char>(c) >= 0x80;
}

// Returns the length to which a text is cut; a UTF-8 character of several bytes is not split.
size_t CutAt(std::string_view text, size_t most) {
  if (text.size() <= most) return text.size();
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xc0) == 0x80) --most;
  return most;
}

}  // namespace

std::string_view ScriptOf(std::string_view arguments) {
  NextArgument(&arguments);
  while (!arguments.empty()) {
    std::string_view argument = NextArgument(&arguments);
    if (argument == "-" || argument.empty()) return "";
    if (argument == "--check-hash-based-pycs") {
      NextArgument(&arguments);
      continue;
    }
    if (argument.starts_with("--")) continue;
    if (!argument.starts_with('-')) return WithoutFolder(argument);
    // Short options may be combined, as in "-um train".
    argument.remove_prefix(1);
    for (; !argument.empty(); argument.remove_prefix(1)) {
      const char option = argument.front();
      if (option == 'c') return "";
      if (option != 'm' && option != 'W' && option != 'X') continue;
      argument.remove_prefix(1);
      const std::string_view value = argument.empty() ? NextArgument(&arguments) : argument;
      if (option == 'm') return value;
      break;
    }
  }
  return "";
}

void WriteTraceName(const TraceName& name, std::string_view arguments, char* stem, size_t size) {
  std::string_view script;
  const bool is_python = name.program.starts_with("python") || name.program.starts_with("pypy");
  if (is_python && name.is_shown) script = ScriptOf(arguments);
  if (script.empty() || script.front() == '.') script = name.program;
  char plain[kLongestScript + 1];
  const size_t length = CutAt(script, kLongestScript);
  for (size_t i = 0; i < length; ++i) plain[i] = IsPlain(script[i]) ? script[i] : '_';
  plain[length] = '\0';
  // localtime_r takes a lock that may be held forever after a fork, so the time is computed here.
  const std::chrono::seconds local{name.time + name.utc_offset};
  const auto day = std::chrono::floor<std::chrono::days>(local);
  const std::chrono::year_month_day date{std::chrono::sys_days{day}};
  const auto minutes = std::chrono::duration_cast<std::chrono::minutes>(local - day).count();
  std::snprintf(stem, size, "%s-%02u%02u-%02d%02d%s%s-%ld", plain,
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                static_cast<int>(minutes / 60), static_cast<int>(minutes % 60),
                name.rank == nullptr ? "" : "-rank", name.rank == nullptr ? "" : name.rank,
                name.process);
}

}  // namespace vramstow
