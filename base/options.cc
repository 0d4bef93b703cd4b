#include "base/options.h"

#include <sys/stat.h>

#include <cstdio>
#include <cstring>

namespace vramstow {
namespace {

// A default is a bool or a text; the other is what a row of the other type does not use.
constexpr bool BoolDefault(bool value) { return value; }
constexpr bool BoolDefault(const char*) { return false; }
constexpr const char* TextDefault(bool) { return ""; }
constexpr const char* TextDefault(const char* value) { return value; }

constexpr OptionRow kRows[] = {
#define VRAMSTOW_OPTION(field, type, default_value, flag, metavar, environment, help) \
  {#field,                                                                            \
   OptionType::k##type,                                                               \
   BoolDefault(default_value),                                                        \
   TextDefault(default_value),                                                        \
   flag,                                                                              \
   metavar,                                                                           \
   environment,                                                                       \
   help},
#include "base/options.def"
#undef VRAMSTOW_OPTION
};

bool IsOneOf(const char* text, const char* const (&words)[4]) {
  for (const char* word : words) {
    if (std::strcmp(text, word) == 0) return true;
  }
  return false;
}

bool ReadBool(const char* variable, const char* text, bool* value, OptionError* error) {
  if (IsOneOf(text, {"1", "on", "true", "yes"})) {
    *value = true;
    return true;
  }
  if (IsOneOf(text, {"0", "off", "false", "no"})) {
    *value = false;
    return true;
  }
  std::snprintf(error->sentence, sizeof error->sentence,
                "%s is '%.200s', which is neither on nor off: set it to 1 or 0.", variable, text);
  return false;
}

bool ReadText(const char*, const char* text, const char** value, OptionError*) {
  *value = text;
  return true;
}

bool ReadPath(const char* variable, const char* text, const char** value, OptionError* error) {
  struct stat status;
  if (stat(text, &status) != 0 || !S_ISDIR(status.st_mode)) {
    std::snprintf(error->sentence, sizeof error->sentence,
                  "%s is '%.200s', which is not a directory: create it or name another.", variable,
                  text);
    return false;
  }
  *value = text;
  return true;
}

}  // namespace

OptionTable AllOptions() { return {kRows, sizeof kRows / sizeof kRows[0]}; }

bool ReadOptions(EnvironmentLookup lookup, Options* options, OptionError* error) {
  bool all_right = true;
  // The first error is the one that is told; an empty variable counts as not set.
#define VRAMSTOW_OPTION(field, type, default_value, flag, metavar, environment, help) \
  {                                                                                   \
    const char* text = lookup(environment);                                           \
    OptionError* place = all_right ? error : nullptr;                                 \
    OptionError unused;                                                               \
    options->field = default_value;                                                   \
    if (text != nullptr && *text != '\0' &&                                           \
        !Read##type(environment, text, &options->field, place ? place : &unused)) {   \
      options->field = default_value;                                                 \
      all_right = false;                                                              \
    }                                                                                 \
  }
#include "base/options.def"
#undef VRAMSTOW_OPTION
  return all_right;
}

}  // namespace vramstow
