#include "tools/jobs/settings.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "base/options.h"
#include "tools/base/likely_name.h"

namespace vramstow {
namespace {

constexpr char kPoolVariable[] = "VRAMSTOW_POOL";

// Settings of the pool, which have no effect while the pool is off. The help of their flags says
// that the flag switches the pool on.
constexpr const char* kPoolSettings[] = {
    "VRAMSTOW_NVTX_MEMORY", "VRAMSTOW_BACKING",      "VRAMSTOW_PLAIN",
    "VRAMSTOW_LIMIT",       "VRAMSTOW_LARGE_CHUNKS", "VRAMSTOW_DECAY",
    "VRAMSTOW_KEEP_FREE",   "VRAMSTOW_FREE_WAITS",   "VRAMSTOW_CHECK"};

bool MovesMemory(const FlagValues& flags) {
  const auto flag = flags.find("VRAMSTOW_OFFLOAD");
  OffloadSetting offload;
  return flag != flags.end() && ParseOffload(flag->second.c_str(), &offload) && offload.on;
}

bool SharesCard(const FlagValues& flags) {
  const auto flag = flags.find("VRAMSTOW_SHARE");
  ShareSetting share;
  return flag != flags.end() && ParseShare(flag->second, &share) && share.on;
}

const char* FlagOf(std::string_view variable) {
  const OptionTable table = AllOptions();
  for (size_t i = 0; i < table.count; ++i) {
    if (variable == table.rows[i].environment) return table.rows[i].flag;
  }
  return "";
}

// Returns the sentence that refuses a flag which only affects the trace. Returns an empty text if a
// trace is written, or if no such flag was given.
std::string WhatNeedsTrace(const FlagValues& flags, const Options& options, bool pool) {
  if (options.trace) return "";
  if (!pool && std::strcmp(options.collect, "on") == 0) {
    return "--collect=on without the pool needs the trace: leave --no-trace out, or add --pool=on.";
  }
  if (flags.contains("VRAMSTOW_CENSUS") && std::strcmp(options.census, "on") == 0) {
    return "--census=on writes into the trace which objects reference tensors: leave --no-trace "
           "out.";
  }
  for (const char* variable : {"VRAMSTOW_NVTX", "VRAMSTOW_CUPTI"}) {
    const auto flag = flags.find(variable);
    if (flag == flags.end() || flag->second != "1") continue;
    return absl::StrCat(FlagOf(variable), " writes into the trace: leave --no-trace out.");
  }
  return "";
}

// The flags that the lookup function of ReadOptions uses. They are a global variable, because that
// function must be a plain function.
const FlagValues* looked_up_flags = nullptr;

const char* LookUp(const char* variable) {
  const auto flag = looked_up_flags->find(variable);
  return flag != looked_up_flags->end() ? flag->second.c_str() : std::getenv(variable);
}

// Replaces the variable at the beginning of the sentence by its flag, if the user has given the
// flag.
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

std::vector<std::string> TypedFlags(const FlagValues& flags) {
  std::vector<std::string> typed;
  const OptionTable table = AllOptions();
  for (size_t i = 0; i < table.count; ++i) {
    const OptionRow& row = table.rows[i];
    const auto flag = flags.find(row.environment);
    if (flag == flags.end()) continue;
    typed.push_back(row.type == OptionType::kBool ? row.flag
                                                  : absl::StrCat(row.flag, "=", flag->second));
  }
  return typed;
}

void ImplyPool(FlagValues* flags) {
  if (flags->contains(kPoolVariable) || std::getenv(kPoolVariable) != nullptr) return;
  const bool is_of_pool =
      std::any_of(std::begin(kPoolSettings), std::end(kPoolSettings),
                  [flags](const char* variable) { return flags->contains(variable); });
  if (is_of_pool || MovesMemory(*flags) || SharesCard(*flags)) (*flags)[kPoolVariable] = "on";
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
        "--level=tensors without the pool only records tensors: leave --no-trace out.");
  }
  if (const std::string why = WhatNeedsTrace(flags, options, pool); !why.empty()) {
    return absl::InvalidArgumentError(why);
  }
  OffloadSetting offload;
  if (ParseOffload(options.offload, &offload) && offload.on && !pool && MovesMemory(flags)) {
    return absl::InvalidArgumentError("--offload moves memory of the pool: add --pool=on.");
  }
  ShareSetting share;
  if (ParseShare(options.share, &share) && share.on && !pool && SharesCard(flags)) {
    return absl::InvalidArgumentError("--share moves memory of the pool: add --pool=on.");
  }
  if (options.nvtx_memory && !pool && flags.contains("VRAMSTOW_NVTX_MEMORY")) {
    return absl::InvalidArgumentError("--nvtx-memory announces blocks of the pool: add --pool=on.");
  }
  for (const char* variable : kPoolSettings) {
    if (pool || !flags.contains(variable)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(FlagOf(variable), " is a setting of the pool, which is off: add --pool=on."));
  }
  const bool metrics = *options.metrics != '\0';
  if (metrics && !pool && segments) {
    return absl::InvalidArgumentError(
        "--metrics reports the numbers of PyTorch's tensors or of the pool: leave --level=segments "
        "out, or add --pool=on.");
  }
  const bool observes = !pool && !segments && (options.trace || metrics);
  return Settings{options.trace, options.trace_dir,  options.simulate, options.nvtx,
                  options.cupti, offload.on && pool, share.on && pool, pool && !segments,
                  observes,      options.quiet};
}

std::vector<std::string> VariablesWithoutPool(const FlagValues& flags) {
  looked_up_flags = &flags;
  const char* pool = LookUp(kPoolVariable);
  std::vector<std::string> sentences;
  if (pool != nullptr && std::string_view(pool) == "on") return sentences;
  const auto report = [&](const char* variable) {
    const char* value = std::getenv(variable);
    if (value == nullptr || *value == '\0' || std::string_view(value) == "0") return;
    if (std::string_view(value) == "off" || flags.contains(variable)) return;
    sentences.push_back(absl::StrCat(
        variable, " has no effect, because the pool is off: --pool=on switches it on."));
  };
  for (const char* variable : kPoolSettings) report(variable);
  for (const char* variable : {"VRAMSTOW_OFFLOAD", "VRAMSTOW_SHARE"}) report(variable);
  return sentences;
}

std::vector<std::string> MisspeltVariables(const std::vector<std::string>& environment) {
  constexpr std::string_view kPrefix = "VRAMSTOW_";
  // The names of documented variables that are not settings.
  std::vector<std::string> known = {"PROGRAM", "RUN_ID", "RUN_END", "NCCL_TIMEOUT",
                                    "CUDNN_WORKSPACE"};
  const OptionTable table = AllOptions();
  for (size_t i = 0; i < table.count; ++i) {
    known.emplace_back(std::string_view(table.rows[i].environment).substr(kPrefix.size()));
  }
  std::vector<std::string> sentences;
  for (const std::string& entry : environment) {
    if (!entry.starts_with(kPrefix)) continue;
    const std::string name = entry.substr(kPrefix.size(), entry.find('=') - kPrefix.size());
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const std::string likely = LikelyName(name, known);
    if (likely.empty()) continue;
    sentences.push_back(absl::StrCat(
        std::string(kPrefix), name, " is not a variable of vramstow, and is ignored; did you mean ",
        std::string(kPrefix), likely, "?"));
  }
  return sentences;
}

}  // namespace vramstow
