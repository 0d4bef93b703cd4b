#include "base/options.h"

#include <arpa/inet.h>
#include <sys/stat.h>

#include <charconv>
#include <cstdio>
#include <cstring>

#include "base/units.h"

namespace vramstow {
namespace {

// The default of an option is a bool or a text. Each function returns the default if it has one
// type, and ignores a default of the other type.
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

bool ReadBool(const char* variable, const char* text, bool* value, OptionError* error,
              const char*) {
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

bool ReadText(const char*, const char* text, const char** value, OptionError*, const char*) {
  *value = text;
  return true;
}

bool ReadPath(const char* variable, const char* text, const char** value, OptionError* error,
              const char*) {
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

// Reads one of the allowed words; `words` lists them, separated by bars.
bool ReadChoice(const char* variable, const char* text, const char** value, OptionError* error,
                const char* words) {
  const size_t length = std::strlen(text);
  for (const char* word = words; word != nullptr;) {
    const char* end = std::strchr(word, '|');
    const size_t size = end == nullptr ? std::strlen(word) : static_cast<size_t>(end - word);
    if (size == length && std::strncmp(word, text, size) == 0) {
      *value = text;
      return true;
    }
    word = end == nullptr ? nullptr : end + 1;
  }
  std::snprintf(error->sentence, sizeof error->sentence, "%s is '%.200s': it has to be one of %s.",
                variable, text, words);
  return false;
}

bool ReadBytes(const char* variable, const char* text, const char** value, OptionError* error,
               const char*) {
  uint64_t bytes = 0;
  *value = text;
  if (ParseBytes(text, &bytes)) return true;
  std::snprintf(error->sentence, sizeof error->sentence,
                "%s is '%.200s', which is no number of bytes: write it like 512MiB.", variable,
                text);
  return false;
}

bool ReadDuration(const char* variable, const char* text, const char** value, OptionError* error,
                  const char*) {
  uint64_t nanoseconds = 0;
  *value = text;
  if (ParseDuration(text, &nanoseconds)) return true;
  std::snprintf(error->sentence, sizeof error->sentence,
                "%s is '%.200s', which is no time: write it like 30s or 500ms, or 0.", variable,
                text);
  return false;
}

bool ReadLimit(const char* variable, const char* text, const char** value, OptionError* error,
               const char*) {
  uint64_t bytes = 0;
  *value = text;
  if (ParseLimit(text, kGiB, &bytes)) return true;
  std::snprintf(
      error->sentence, sizeof error->sentence,
      "%s is '%.200s', which is neither a number of bytes nor a part of the device: write "
      "it like 20GiB or 50%%.",
      variable, text);
  return false;
}

bool ReadOffload(const char* variable, const char* text, const char** value, OptionError* error,
                 const char*) {
  OffloadSetting setting;
  *value = text;
  if (ParseOffload(text, &setting)) return true;
  std::snprintf(error->sentence, sizeof error->sentence,
                "%s is '%.200s': write off, auto or explicit, perhaps with ,host=64GiB or "
                ",policy=coldest (or size, or next-use) or ,touches.",
                variable, text);
  return false;
}

bool ReadShare(const char* variable, const char* text, const char** value, OptionError* error,
               const char*) {
  ShareSetting setting;
  *value = text;
  if (ParseShare(text, &setting)) return true;
  std::snprintf(error->sentence, sizeof error->sentence,
                "%s is '%.200s': write off or on, perhaps with ,weight=N (from 1 to 100) or "
                ",priority=interactive (or normal) or ,tells=card (or free) or ,dir=FOLDER.",
                variable, text);
  return false;
}

bool ReadLaunches(const char* variable, const char* text, const char** value, OptionError* error,
                  const char*) {
  LaunchesSetting setting;
  *value = text;
  if (ParseLaunches(text, &setting)) return true;
  std::snprintf(error->sentence, sizeof error->sentence,
                "%s is '%.200s': write off, count, or sample=N with N from 1 to 1000000.", variable,
                text);
  return false;
}

bool ReadMetrics(const char* variable, const char* text, const char** value, OptionError* error,
                 const char*) {
  MetricsSetting setting;
  *value = text;
  if (ParseMetrics(text, &setting)) return true;
  std::snprintf(error->sentence, sizeof error->sentence,
                "%s is '%.200s': write a port from 1 to 65535 (9400), an address and a port "
                "(0.0.0.0:9400), unix:PATH, or a file whose name ends with .prom, perhaps "
                "with ,every=TIME of 1s or more.",
                variable, text);
  return false;
}

bool ReadTraceSize(const char* variable, const char* text, const char** value, OptionError* error,
                   const char*) {
  TraceSizeSetting setting;
  *value = text;
  if (ParseTraceSize(text, &setting)) return true;
  std::snprintf(error->sentence, sizeof error->sentence,
                "%s is '%.200s', which is no number of bytes from 1MiB on: write it like 512MiB, "
                "or auto, or unlimited.",
                variable, text);
  return false;
}

// Removes and returns the text before the first comma. The comma remains in *text.
std::string_view NextPart(std::string_view* text) {
  const std::string_view part = text->substr(0, text->find(','));
  text->remove_prefix(part.size());
  return part;
}

}  // namespace

bool ParseLaunches(std::string_view text, LaunchesSetting* setting) {
  constexpr std::string_view kSample = "sample=";
  constexpr uint64_t kMax = 1'000'000;
  *setting = LaunchesSetting();
  if (text == "off") return true;
  setting->on = true;
  if (text == "count") return true;
  if (!text.starts_with(kSample)) return false;
  text.remove_prefix(kSample.size());
  uint64_t every = 0;
  for (const char letter : text) {
    if (letter < '0' || letter > '9' || every > kMax) return false;
    every = every * 10 + static_cast<uint64_t>(letter - '0');
  }
  setting->every = static_cast<uint32_t>(every);
  return every >= 1 && every <= kMax;
}

bool ParseTraceSize(std::string_view text, TraceSizeSetting* setting) {
  // The size of the file with --trace-size=auto. To store a month with 10,000 events a second would
  // need hundreds of times as many bytes. One to two thirds of the file contain whole events, which
  // covers the last half hour to some hours of such a job. All of these events are analysed in
  // seconds.
  constexpr uint64_t kAutoBytes = 256 * kMiB;
  constexpr uint64_t kLeastBytes = kMiB;  // the recorder's smallest file
  *setting = TraceSizeSetting();
  if (text == "unlimited") return true;
  if (text == "auto") {
    setting->bytes = kAutoBytes;
    return true;
  }
  if (!ParseBytes(text, &setting->bytes)) return false;
  setting->is_asked = setting->bytes != 0;
  return setting->bytes == 0 || setting->bytes >= kLeastBytes;
}

namespace {

bool ParsePort(std::string_view text, uint16_t* port) {
  constexpr uint32_t kMax = 65535;
  uint32_t value = 0;
  for (const char letter : text) {
    if (letter < '0' || letter > '9' || value > kMax) return false;
    value = value * 10 + static_cast<uint32_t>(letter - '0');
  }
  *port = static_cast<uint16_t>(value);
  return value >= 1 && value <= kMax;
}

// Parses "ADDRESS:PORT"; an IPv6 address is in brackets.
bool ParseAddress(std::string_view text, MetricsSetting* setting) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return ParsePort(text, &setting->port);
  std::string_view port = text;
  port.remove_prefix(colon + 1);
  text.remove_suffix(text.size() - colon);
  const bool has_brackets = text.starts_with('[') && text.ends_with(']');
  if (has_brackets) {
    text.remove_prefix(1);
    text.remove_suffix(1);
  }
  char address[INET6_ADDRSTRLEN] = {};
  if (text.empty() || text.size() >= sizeof address) return false;
  std::memcpy(address, text.data(), text.size());
  in6_addr parsed;
  if (inet_pton(has_brackets ? AF_INET6 : AF_INET, address, &parsed) != 1) return false;
  setting->address = text;
  return ParsePort(port, &setting->port);
}

}  // namespace

bool ParseMetrics(std::string_view text, MetricsSetting* setting) {
  constexpr std::string_view kUnix = "unix:";
  constexpr std::string_view kEvery = ",every=";
  *setting = MetricsSetting();
  if (text.empty()) return true;
  if (text.starts_with(kUnix)) {
    text.remove_prefix(kUnix.size());
    setting->kind = MetricsSetting::Kind::kSocket;
    setting->path = text;
    return !text.empty();
  }
  if (const size_t every = text.rfind(kEvery); every != std::string_view::npos) {
    std::string_view time = text;
    time.remove_prefix(every + kEvery.size());
    text.remove_suffix(text.size() - every);
    if (!text.ends_with(".prom")) return false;
    constexpr uint64_t kSecond = 1'000'000'000;
    if (!ParseDuration(time, &setting->every_ns) || setting->every_ns < kSecond) return false;
  }
  if (text.ends_with(".prom")) {
    setting->kind = MetricsSetting::Kind::kFile;
    setting->path = text;
    return true;
  }
  setting->kind = MetricsSetting::Kind::kPort;
  return ParseAddress(text, setting);
}

const char* OffloadChoiceName(OffloadChoice choice) {
  switch (choice) {
    case OffloadChoice::kColdest:
      break;
    case OffloadChoice::kSize:
      return "size";
    case OffloadChoice::kNextUse:
      return "next-use";
  }
  return "coldest";
}

bool ParseOffloadChoice(std::string_view text, OffloadChoice* choice) {
  for (int i = 0; i < kOffloadChoices; ++i) {
    *choice = static_cast<OffloadChoice>(i);
    if (text == OffloadChoiceName(*choice)) return true;
  }
  return false;
}

bool ParseOffload(std::string_view text, OffloadSetting* setting) {
  *setting = OffloadSetting();
  if (text == "off") return true;
  std::string_view part = NextPart(&text);
  setting->on = true;
  setting->automatic = part == "auto";
  if (!setting->automatic && part != "explicit") return false;
  constexpr std::string_view kHost = "host=";
  constexpr std::string_view kPolicy = "policy=";
  while (!text.empty()) {
    text.remove_prefix(1);
    part = NextPart(&text);
    if (part == "touches") {
      setting->touches = true;
    } else if (part.starts_with(kHost)) {
      if (!ParseBytes(part.substr(kHost.size()), &setting->host_bytes)) return false;
      if (setting->host_bytes == 0) return false;
    } else if (!part.starts_with(kPolicy) ||
               !ParseOffloadChoice(part.substr(kPolicy.size()), &setting->policy)) {
      return false;
    }
  }
  return true;
}

bool ParseShare(std::string_view text, ShareSetting* setting) {
  *setting = ShareSetting();
  if (text == "off") return true;
  constexpr std::string_view kWeight = "weight=";
  constexpr std::string_view kFolder = "dir=";
  constexpr uint32_t kMaxWeight = 100;
  setting->on = true;
  bool is_first = true;
  do {
    if (!is_first) text.remove_prefix(1);
    std::string_view part = NextPart(&text);
    if (part.starts_with(kWeight)) {
      part.remove_prefix(kWeight.size());
      const auto [end, error] =
          std::from_chars(part.data(), part.data() + part.size(), setting->weight);
      if (error != std::errc() || end != part.data() + part.size()) return false;
      if (setting->weight == 0 || setting->weight > kMaxWeight) return false;
    } else if (part.starts_with(kFolder)) {
      part.remove_prefix(kFolder.size());
      if (part.empty() || part.size() >= sizeof setting->folder) return false;
      std::memcpy(setting->folder, part.data(), part.size());
      setting->folder[part.size()] = 0;
    } else if (part == "priority=interactive" || part == "priority=normal") {
      setting->interactive = part == "priority=interactive";
    } else if (part == "tells=card" || part == "tells=free") {
      setting->tells_card = part == "tells=card";
    } else if (!is_first || part != "on") {
      return false;
    }
    is_first = false;
  } while (!text.empty());
  return true;
}

bool ParseLimit(std::string_view text, uint64_t total_bytes, uint64_t* bytes) {
  if (text.empty()) {
    *bytes = 0;
    return true;
  }
  const bool percent = text.back() == '%';
  if (!percent && !text.starts_with("0.") && text != "1.0") return ParseBytes(text, bytes);
  // The fraction is computed in millionths, without floating-point functions of the C library, so
  // that the locale has no effect.
  uint64_t millionths = 0;
  uint64_t unit = percent ? 10'000 : 1'000'000;
  bool fraction = false;
  bool digit = false;
  if (percent) text.remove_suffix(1);
  for (const char c : text) {
    if (c == '.' && !fraction) {
      fraction = true;
    } else if (c >= '0' && c <= '9' && millionths <= 1'000'000) {
      digit = true;
      const uint64_t value = static_cast<uint64_t>(c - '0');
      if (fraction) unit /= 10;
      millionths = fraction ? millionths + value * unit : millionths * 10 + value * unit;
    } else {
      return false;
    }
  }
  if (!digit || millionths == 0 || millionths > 1'000'000) return false;
  *bytes = total_bytes / 1'000'000 * millionths + total_bytes % 1'000'000 * millionths / 1'000'000;
  return true;
}

OptionTable AllOptions() { return {kRows, sizeof kRows / sizeof kRows[0]}; }

bool ReadOptions(EnvironmentLookup lookup, Options* options, OptionError* error) {
  bool all_right = true;
  // Only the first error is reported; an empty variable counts as not set.
#define VRAMSTOW_OPTION(field, type, default_value, flag, metavar, environment, help)        \
  {                                                                                          \
    const char* text = lookup(environment);                                                  \
    OptionError* place = all_right ? error : nullptr;                                        \
    OptionError unused;                                                                      \
    options->field = default_value;                                                          \
    if (text != nullptr && *text != '\0' &&                                                  \
        !Read##type(environment, text, &options->field, place ? place : &unused, metavar)) { \
      options->field = default_value;                                                        \
      all_right = false;                                                                     \
    }                                                                                        \
  }
#include "base/options.def"
#undef VRAMSTOW_OPTION
  return all_right;
}

}  // namespace vramstow
