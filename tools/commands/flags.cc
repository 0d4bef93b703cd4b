#include "tools/commands/flags.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "absl/strings/str_cat.h"

namespace vramstow {
namespace {

bool TakesValue(std::string_view flag) {
  const OptionTable table = AllOptions();
  return std::any_of(table.rows, table.rows + table.count, [flag](const OptionRow& row) {
    return row.type != OptionType::kBool && flag == row.flag;
  });
}

// ReadOptions asks a plain function; this is what it finds.
const FlagValues* looked_up_flags = nullptr;

const char* LookUp(const char* variable) {
  const auto flag = looked_up_flags->find(variable);
  return flag != looked_up_flags->end() ? flag->second.c_str() : std::getenv(variable);
}

// The sentence names the variable; the user may have given a flag.
std::string InTermsOfFlags(std::string sentence, const FlagValues& flags) {
  const OptionTable table = AllOptions();
  for (size_t i = 0; i < table.count; ++i) {
    const std::string_view variable = table.rows[i].environment;
    if (!sentence.starts_with(absl::StrCat(std::string(variable), " "))) continue;
    if (!flags.contains(std::string(variable))) continue;
    return table.rows[i].flag + sentence.substr(variable.size());
  }
  return sentence;
}

}  // namespace

std::string FlagWithValue(const OptionRow& row) {
  return *row.metavar == '\0' ? row.flag : absl::StrCat(row.flag, " ", row.metavar);
}

RunArguments SplitRunArguments(const std::vector<std::string>& arguments) {
  RunArguments split;
  size_t i = 0;
  while (i < arguments.size() && arguments[i].starts_with("-") && arguments[i] != "--") {
    const bool with_value = TakesValue(arguments[i]);
    split.flags.push_back(arguments[i++]);
    if (with_value && i < arguments.size() && arguments[i] != "--") {
      split.flags.push_back(arguments[i++]);
    }
  }
  if (i < arguments.size() && arguments[i] == "--") ++i;
  split.command.assign(arguments.begin() + static_cast<ptrdiff_t>(i), arguments.end());
  return split;
}

absl::StatusOr<Settings> ReadSettings(const FlagValues& flags) {
  looked_up_flags = &flags;
  Options options;
  OptionError error = {};
  if (!ReadOptions(LookUp, &options, &error)) {
    return absl::InvalidArgumentError(InTermsOfFlags(error.sentence, flags));
  }
  const bool pool = std::strcmp(options.pool, "on") == 0;
  const bool segments = std::strcmp(options.level, "segments") == 0;
  if (!pool && !options.trace && std::strcmp(options.level, "tensors") == 0) {
    return absl::InvalidArgumentError(
        "--level=tensors without the pool only traces tensors: leave --no-trace out.");
  }
  OffloadSetting offload;
  if (ParseOffload(options.offload, &offload) && offload.on && !pool) {
    return absl::InvalidArgumentError("--offload moves memory of the pool: say --pool=on, too.");
  }
  if (options.nvtx_memory && !pool) {
    return absl::InvalidArgumentError(
        "--nvtx-memory announces blocks of the pool: say --pool=on, too.");
  }
  return Settings{options.trace,
                  options.trace_dir,
                  options.simulate,
                  options.nvtx,
                  options.cupti,
                  pool && !segments,
                  !pool && !segments && options.trace};
}

}  // namespace vramstow
