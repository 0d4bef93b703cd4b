// The settings of vramstow, as the table options.def lists them, read from the environment.
//
// Idea: the same table serves the preloaded library (which reads the environment) and `vramstow
// run` (which has flags, checks them the same way and sets the environment).
//
// Ownership: Options copies nothing; its texts point into the environment block or into literals
// and live as long as these. Threads: no shared state. Errors: returns false and one sentence that
// names the variable, the wrong value and the allowed values. No heap. Units: see each option's
// help.
#ifndef VRAMSTOW_BASE_OPTIONS_H_
#define VRAMSTOW_BASE_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace vramstow {

// The environment variable by which `vramstow run` passes the id of the run to its child processes;
// it is not in the table. The id is stored in the trace, so that `vramstow run` can find the files
// of its run.
inline constexpr char kRunIdVariable[] = "VRAMSTOW_RUN_ID";
// The variable by which `vramstow run` passes the folders of PYTHONPATH that hold installed
// packages, separated by colons; it is not in the table, either. It is stored in the trace.
inline constexpr char kPackageFoldersVariable[] = "VRAMSTOW_PACKAGE_FOLDERS";

enum class OptionType {
  kBool,
  kText,
  kPath,
  kChoice,
  kBytes,
  kDuration,
  kLimit,
  kOffload,
  kShare,
  kLaunches,
  kMetrics,
  kTraceSize
};

// One row of the table of options as data, for help texts, flags and documentation.
struct OptionRow {
  const char* field;
  OptionType type;
  bool default_bool;         // default of a kBool
  const char* default_text;  // default of the other types
  const char* flag;
  const char* metavar;
  const char* environment;
  const char* help;
};

struct OptionTable {
  const OptionRow* rows;
  size_t count;
};
OptionTable AllOptions();

// The C++ type of each option type's value.
using BoolValue = bool;
using TextValue = const char*;
using PathValue = const char*;
// Values of the following types are checked when they are read, and stored as they were written.
using ChoiceValue = const char*;
using BytesValue = const char*;
using DurationValue = const char*;
using LimitValue = const char*;
using OffloadValue = const char*;
using ShareValue = const char*;
using LaunchesValue = const char*;
using MetricsValue = const char*;
using TraceSizeValue = const char*;

// Parses a Limit: a number of bytes ("20GiB"), or a part of the device's memory ("50%" or "0.5").
// An empty text means no limit, and *bytes is then 0. Returns false if the text has none of these
// forms.
bool ParseLimit(std::string_view text, uint64_t total_bytes, uint64_t* bytes);

// The rule that chooses which memory is evicted first when the device is full
// (allocator/offload/policy.h).
enum class OffloadChoice : uint8_t { kColdest, kSize, kNextUse };
inline constexpr int kOffloadChoices = 3;
// Returns the name of the rule that users write: "coldest", "size" or "next-use".
const char* OffloadChoiceName(OffloadChoice choice);
// Parses the name of a rule: "coldest", "size" or "next-use". Returns false if it is none of these.
bool ParseOffloadChoice(std::string_view text, OffloadChoice* choice);

// A parsed value of type Offload: "off", or "auto" or "explicit". To these two, three parts can be
// added: the most host memory to use, the policy, and whether touches (which blocks work uses) are
// recorded, as in "auto,host=64GiB,policy=next-use,touches".
struct OffloadSetting {
  bool on = false;
  bool automatic = false;  // also if the device is full, not only on request
  bool touches = false;
  OffloadChoice policy = OffloadChoice::kNextUse;
  uint64_t host_bytes = 0;  // 0 if not given
};
bool ParseOffload(std::string_view text, OffloadSetting* setting);

// A parsed value of type Share: "off", or "on" with parts that can be added: the weight of the
// process's turns, its priority, which memory is reported as free, and the folder of the tables, as
// in "on,weight=2,priority=interactive,tells=free,dir=/run/share". "on" can be left out before
// another part.
struct ShareSetting {
  bool on = false;
  bool interactive = false;
  // Memory that others give up in the turn of this process counts as free.
  bool tells_card = true;
  uint32_t weight = 1;    // from 1 to 100
  char folder[300] = "";  // empty: the default
};
bool ParseShare(std::string_view text, ShareSetting* setting);

// A parsed value of type Launches: "off", "count", or "sample=N".
struct LaunchesSetting {
  bool on = false;
  uint32_t every = 0;  // one in this many launches of a thread is recorded; 0 counts all
};
bool ParseLaunches(std::string_view text, LaunchesSetting* setting);

// A parsed value of type Metrics: "9400", "0.0.0.0:9400", "[::]:9400", "unix:PATH", or "FILE.prom",
// optionally with ",every=15s". An empty text means no metrics. The texts in the result are parts
// of the parsed text.
struct MetricsSetting {
  enum class Kind : uint8_t { kNone, kPort, kSocket, kFile };
  Kind kind = Kind::kNone;
  std::string_view address = "127.0.0.1";
  uint16_t port = 0;
  std::string_view path;
  uint64_t every_ns = 15'000'000'000;
};
bool ParseMetrics(std::string_view text, MetricsSetting* setting);

// A parsed value of type TraceSize: "auto", "unlimited" (or 0), or a number of bytes, at least 1
// MiB.
struct TraceSizeSetting {
  uint64_t bytes = 0;     // bytes of the newest events; 0 retains all
  bool is_asked = false;  // the user set the size, and so wants copies of the newest events
};
bool ParseTraceSize(std::string_view text, TraceSizeSetting* setting);

// The values of all options: one member for each row of the table.
struct Options {
#define VRAMSTOW_OPTION(field, type, default_value, flag, metavar, environment, help) \
  type##Value field = default_value;
#include "base/options.def"
#undef VRAMSTOW_OPTION
};

struct OptionError {
  char sentence[512];
};

// A function with the signature of getenv, which tests replace. It returns null for a variable that
// is not set.
using EnvironmentLookup = const char* (*)(const char* name);

// Fills *options from the environment. Returns false if a value is wrong. Then *error has one
// sentence, and *options has the default in place of each wrong value.
bool ReadOptions(EnvironmentLookup lookup, Options* options, OptionError* error);

}  // namespace vramstow

#endif  // VRAMSTOW_BASE_OPTIONS_H_
