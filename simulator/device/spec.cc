#include "simulator/device/spec.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "base/units.h"

namespace vramstow::simulator {
namespace {

constexpr uint64_t kMemoryMin = 64 * kMiB;
constexpr uint64_t kMemoryMax = 1 * kTiB;

bool ParseNumber(std::string_view text, uint64_t* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size();
}

bool ParseProbability(std::string_view text, double* probability) {
  const std::string copy(text);
  char* end = nullptr;
  *probability = std::strtod(copy.c_str(), &end);
  return !copy.empty() && *end == '\0' && *probability >= 0 && *probability <= 1;
}

// Parses a value such as "cuMemCreate:3", "cuMemCreate:3+" or "cuMemMap:p0.01".
bool ParseFault(std::string_view text, FaultRule* rule) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos || !text.starts_with("cu") || colon < 3) return false;
  rule->call = std::string(text.substr(0, colon));
  std::string_view when = text.substr(colon + 1);
  const size_t result = when.find(':');
  if (result != std::string_view::npos) {
    uint64_t number = 0;
    if (!ParseNumber(when.substr(result + 1), &number) || number == 0 || number > 999) return false;
    rule->result = static_cast<uint32_t>(number);
    when = when.substr(0, result);
  }
  if (when.starts_with("p")) return ParseProbability(when.substr(1), &rule->probability);
  if (when.ends_with("+")) {
    rule->persistent = true;
    when.remove_suffix(1);
  }
  return ParseNumber(when, &rule->nth) && rule->nth > 0;
}

constexpr uint64_t kAll = 1ull << 60;  // more than any GPU has, or any machine can compute

// Parses "on", "off" or a size. A launch that accesses more bytes than that size has no effect.
bool ParseEmulation(std::string_view value, Spec* spec) {
  if (value == "on") return true;  // the default
  spec->emulation_bytes = 0;
  spec->allowance_bytes = 0;
  spec->budget_is_time = false;
  return value == "off" || ParseBytes(value, &spec->emulation_bytes);
}

// Parses which values of the program are computed: none, only the values that decide the program's
// behaviour, or all.
bool ParseValues(std::string_view value, Spec* spec) {
  if (value == "decide") return true;  // the default
  const bool all = value == "all";
  if (!all && value != "off") return false;
  spec->budget_is_time = false;
  spec->emulation_bytes = all ? kAll : 0;
  spec->allowance_bytes = spec->emulation_bytes;
  spec->gemm_operations = spec->emulation_bytes;
  if (!all) spec->ptx_steps = 0;
  return true;
}

// Parses "keep", "discard" or a number of bytes, the limit of what device memory stores.
bool ParseContents(std::string_view value, Spec* spec) {
  spec->keep_contents = value != "discard";
  spec->contents_are_given = true;
  if (value != "keep" && value != "discard") return ParseBytes(value, &spec->contents_bytes);
  spec->contents_bytes = kAll;
  return true;
}

// Parses a number of operations such as "64MFLOP", "2GFLOP" or "0".
bool ParseOperations(std::string_view value, uint64_t* operations) {
  uint64_t scale = 1;
  if (value.ends_with("FLOP")) value.remove_suffix(4);
  if (value.ends_with("G")) scale = 1000000000;
  if (value.ends_with("M")) scale = 1000000;
  if (scale > 1) value.remove_suffix(1);
  if (!ParseNumber(value, operations) || *operations > UINT64_MAX / scale) return false;
  *operations *= scale;
  return true;
}

// "13.3"
bool ParseVersion(std::string_view text, uint64_t* major, uint64_t* minor) {
  const size_t dot = text.find('.');
  return dot != std::string_view::npos && ParseNumber(text.substr(0, dot), major) &&
         ParseNumber(text.substr(dot + 1), minor) && *minor <= 9;
}

// Parses a version; "13.3" becomes 13030.
bool ParseCudaVersion(std::string_view value, int* version) {
  uint64_t major = 0;
  uint64_t minor = 0;
  if (!ParseVersion(value, &major, &minor) || major < 11 || major > 99) return false;
  *version = static_cast<int>(major * 1000 + minor * 10);
  return true;
}

bool ParseCapability(std::string_view value, Card* card) {
  uint64_t major = 0;
  uint64_t minor = 0;
  if (!ParseVersion(value, &major, &minor) || major < 7 || major > 12) return false;
  card->major = static_cast<int>(major);
  card->minor = static_cast<int>(minor);
  return true;
}

bool ParseMultiprocessors(std::string_view value, Card* card) {
  constexpr uint64_t kMax = 1024;
  uint64_t count = 0;
  if (!ParseNumber(value, &count) || count < 1 || count > kMax) return false;
  card->multiprocessors = static_cast<int>(count);
  return true;
}

// Parses a value such as "shareable:304". A request for shareable memory then fails with CUresult
// 304 instead of 800.
bool ParseShareable(std::string_view value, Spec* spec) {
  constexpr std::string_view kName = "shareable:";
  uint64_t result = 0;
  if (!value.starts_with(kName) || !ParseNumber(value.substr(kName.size()), &result) ||
      result == 0 || result > 999) {
    return false;
  }
  spec->without |= kShareable;
  spec->shareable_result = static_cast<uint16_t>(result);
  return true;
}

bool ParseWithout(std::string_view value, Spec* spec) {
  static constexpr struct {
    const char* name;
    uint32_t bit;
  } kNames[] = {{"vmm", kVmm},
                {"host-vmm", kHostVmm},
                {"event-context", kEventContext},
                {"ipc", kIpc},
                {"peer", kPeer},
                {"mempool", kMemoryPools},
                {"shareable", kShareable},
                {"dma-buf", kDmaBuf},
                {"host", kHostPlace},
                {"host-numa", kHostNodes}};
  for (const auto& entry : kNames) {
    if (value == entry.name) {
      spec->without |= entry.bit;
      return true;
    }
  }
  return ParseShareable(value, spec);
}

// Parses a value such as "crash:2" or "hang:1".
bool ParseNodeFault(std::string_view value, Spec* spec) {
  const size_t colon = value.find(':');
  if (colon == std::string_view::npos) return false;
  const std::string_view what = value.substr(0, colon);
  uint64_t nth = 0;
  if ((what != "crash" && what != "hang") || !ParseNumber(value.substr(colon + 1), &nth) ||
      nth == 0 || nth > UINT8_MAX) {
    return false;
  }
  spec->node_fault = what == "crash" ? NodeFault::kCrash : NodeFault::kHang;
  spec->node_fault_nth = static_cast<uint8_t>(nth);
  return true;
}

// Parses "20us" for all calls, "create:60us" for one kind of call, or "create:60us/2ms", where the
// second time is added for each GiB.
bool ParseVmmTime(std::string_view value, Spec* spec) {
  static constexpr std::string_view kNames[kVmmCalls] = {"create", "map", "access", "unmap",
                                                         "release"};
  int first = 0;
  int last = kVmmCalls - 1;
  const size_t colon = value.find(':');
  if (colon != std::string_view::npos) {
    first =
        static_cast<int>(std::find(kNames, kNames + kVmmCalls, value.substr(0, colon)) - kNames);
    last = first;
    value = value.substr(colon + 1);
  }
  VmmTime time;
  const size_t slash = value.find('/');
  const bool right =
      ParseDuration(value.substr(0, slash), &time.call_ns) &&
      (slash == std::string_view::npos || ParseDuration(value.substr(slash + 1), &time.gib_ns));
  constexpr uint64_t kMax = 10'000'000'000;
  if (!right || first == kVmmCalls || time.call_ns > kMax || time.gib_ns > kMax) return false;
  for (int i = first; i <= last; ++i) spec->vmm_times[i] = time;
  return true;
}

bool ParseCount(std::string_view value, int most, int* count) {
  uint64_t number = 0;
  if (!ParseNumber(value, &number) || number < 1 || number > static_cast<uint64_t>(most)) {
    return false;
  }
  *count = static_cast<int>(number);
  return true;
}

bool ParseRank(std::string_view value, Spec* spec) {
  uint64_t rank = 0;
  if (!ParseNumber(value, &rank) || rank > kWorldMax) return false;
  spec->world.running.push_back(static_cast<int>(rank));
  return true;
}

struct OptionParser {
  const char* name;
  const char* alias;  // another name of the option; null: none
  const char* right;  // describes valid values, for error messages
  const char* help;
  bool (*parse)(std::string_view value, Spec* spec);
};

constexpr OptionParser kOptions[] = {
    {"memory", nullptr, "a size from 64MiB to 1TiB, such as 24GiB",
     "device memory; default: the card's",
     [](std::string_view value, Spec* spec) {
       return ParseBytes(value, &spec->memory_bytes) && spec->memory_bytes >= kMemoryMin &&
              spec->memory_bytes <= kMemoryMax;
     }},
    {"sms", nullptr, "a number from 1 to 1024", "multiprocessors; default: the card's",
     [](std::string_view value, Spec* spec) { return ParseMultiprocessors(value, &spec->card); }},
    {"cc", nullptr, "a compute capability from 7.0 to 12.9, such as 8.6",
     "compute capability; with sms= and memory= a card that is not in the list is described by its "
     "nearest relative; default: the card's",
     [](std::string_view value, Spec* spec) { return ParseCapability(value, &spec->card); }},
    {"count", nullptr, "a number from 1 to 16",
     "how many such cards; default 1, or with world= as many as ranks on a node",
     [](std::string_view value, Spec* spec) {
       return ParseCount(value, kDevicesMax, &spec->count);
     }},
    {"world", nullptr, "a number from 1 to 65536",
     "the job has so many ranks, of which only those of rank= run; collectives go on as if the "
     "others had sent what this rank did",
     [](std::string_view value, Spec* spec) {
       return ParseCount(value, kWorldMax, &spec->world.ranks);
     }},
    {"nodes", nullptr, "a number from 1 to 65536",
     "with world=: how many machines the ranks are spread over; default: one for every 8 ranks, "
     "or for every count= ranks",
     [](std::string_view value, Spec* spec) {
       return ParseCount(value, kWorldMax, &spec->world.nodes);
     }},
    {"rank", nullptr, "a rank such as 0, or several such as 0,255",
     "with world=: which ranks run, each alone in a process of its own", ParseRank},
    {"seed", nullptr, "a whole number", "chooses among the legal orders of pending work; default 1",
     [](std::string_view value, Spec* spec) { return ParseNumber(value, &spec->seed); }},
    {"kernel-time", nullptr, "a time such as 10us or 0",
     "how long an unknown kernel runs; default 0",
     [](std::string_view value, Spec* spec) {
       return ParseDuration(value, &spec->kernel_time_ns);
     }},
    {"vmm-time", nullptr, "a time up to 10s such as 20us, CALL:20us or CALL:20us/2ms",
     "how long cuMemCreate, cuMemMap, cuMemSetAccess, cuMemUnmap and cuMemRelease hold the "
     "program, "
     "all of them or one (create, map, access, unmap, release; may be given again), and after a "
     "slash for each GiB in addition; default 0",
     ParseVmmTime},
    {"contents", nullptr, "keep, discard or a size such as 4GiB",
     "what device memory keeps: all, nothing, or up to a size; large results beyond it, and large "
     "copies from the host beyond half of it, are not stored and marked as not computed; default "
     "512MiB, or as much as allowance= or values= has computed",
     ParseContents},
    {"values", nullptr, "off, decide or all",
     "what PyTorch's operators give is computed: decide (the default), what is small or cheap, so "
     "that sizes, branches and what is printed are right; all; or off, nothing",
     ParseValues},
    {"emulation", "effects", "on, off or a size such as 256MiB",
     "operators, and kernels that are known by name, compute always if they touch up to this much; "
     "default 1MiB",
     ParseEmulation},
    {"allowance", nullptr, "a size such as 16GiB, or 0",
     "larger launches compute, too, until all together have touched this much; default: as long as "
     "the job has run so far, ten seconds at least; behind emulation=SIZE 0",
     [](std::string_view value, Spec* spec) {
       spec->budget_is_time = false;
       return ParseBytes(value, &spec->allowance_bytes);
     }},
    {"gemm", nullptr, "a number of operations such as 64MFLOP or 2GFLOP, or 0",
     "the largest matrix product that is computed; default 32MFLOP, without allowance= larger "
     "ones, "
     "too, while there is time",
     [](std::string_view value, Spec* spec) {
       spec->gemm_is_limit = true;
       return ParseOperations(value, &spec->gemm_operations);
     }},
    {"ptx", nullptr, "a number of instructions such as 64M or 2G, or 0",
     "kernels whose image has them as PTX are run, up to this many instructions of all threads in "
     "a launch, and 16 times as many in all; default 64M",
     [](std::string_view value, Spec* spec) {
       return !value.ends_with("FLOP") && ParseOperations(value, &spec->ptx_steps);
     }},
    {"kernels", nullptr, "list or quiet",
     "list: at exit, name on stderr the kernels that had no effect",
     [](std::string_view value, Spec* spec) {
       spec->list_kernels = value == "list";
       return value == "list" || value == "quiet";
     }},
    {"context", nullptr, "a size such as 500MiB",
     "device memory that a context takes; default: the card's, at most 1/8 of memory=",
     [](std::string_view value, Spec* spec) { return ParseBytes(value, &spec->context_bytes); }},
    {"call-log", "ledger", "a file name",
     "write every memory call to this CSV file; %p is the process id",
     [](std::string_view value, Spec* spec) {
       spec->call_log = std::string(value);
       return !value.empty();
     }},
    {"work-log", nullptr, "a file name",
     "write what a card would have to do to this CSV file, operator by operator; %p is the process "
     "id",
     [](std::string_view value, Spec* spec) {
       spec->work_log = std::string(value);
       return !value.empty();
     }},
    {"order", nullptr, "normal or adversarial", "adversarial: work completes as late as allowed",
     [](std::string_view value, Spec* spec) {
       spec->adversarial = value == "adversarial";
       return value == "normal" || value == "adversarial";
     }},
    {"clock", nullptr, "plain or model",
     "model: work, copies and calls take the time that the card would take, by the model of "
     "vramstow plan",
     [](std::string_view value, Spec* spec) {
       spec->clock_is_model = value == "model";
       return value == "plain" || value == "model";
     }},
    {"primary", nullptr, "public or private",
     "private: runtimes take a card's primary context past every public function, as a vendor's "
     "may, and after a reset it has its old handle again",
     [](std::string_view value, Spec* spec) {
       spec->private_primary = value == "private";
       return value == "private" || value == "public";
     }},
    {"fail", nullptr, "CALL:N, CALL:N+ or CALL:pX, such as cuMemCreate:3 or cuMemMap:p0.01",
     "the Nth call fails (N+: and all later ones; pX: each with probability X), with out of memory "
     "or, as in cuMemCreate:1+:801, with the CUresult of that number",
     [](std::string_view value, Spec* spec) {
       spec->faults.emplace_back();
       return ParseFault(value, &spec->faults.back());
     }},
    {"host-numa", nullptr, "crash:N or hang:N",
     "the Nth cuMemCreate at a node of the host ends the process with SIGSEGV, as drivers have "
     "done, or never returns",
     ParseNodeFault},
    {"share", "shared", "a name, the name of a file with a slash, or none",
     "processes with the same name, or the same file, share the cards; default: those of one "
     "vramstow run",
     [](std::string_view value, Spec* spec) {
       spec->share = std::string(value);
       return !value.empty();
     }},
    {"cuda", nullptr, "a version such as 12.4",
     "the version of CUDA that the driver says it is of; default 13.2",
     [](std::string_view value, Spec* spec) {
       return ParseCudaVersion(value, &spec->cuda_version);
     }},
    {"pageable", nullptr, "on or off",
     "on: the card says that kernels may touch any memory of the host; default off",
     [](std::string_view value, Spec* spec) {
       spec->pageable = value == "on";
       return value == "on" || value == "off";
     }},
    {"exit", nullptr, "normal or strict",
     "strict: shutting down takes the driver a while, and a call of another thread from then on "
     "ends the process with SIGABRT, as a crash in the driver would",
     [](std::string_view value, Spec* spec) {
       spec->strict_exit = value == "strict";
       return value == "normal" || value == "strict";
     }},
    {"without", nullptr,
     "one of vmm, host-vmm, host, host-numa, event-context, ipc, peer, mempool, shareable, "
     "shareable:RESULT, dma-buf",
     "a capability that the card lacks; may be given again; host, host-numa (cuMemCreate there) "
     "and "
     "shareable are refused though the card says that it has them, the last with 800 or the "
     "CUresult of that number",
     ParseWithout},
};

std::string CardList() {
  std::string list;
  const CardTable cards = AllCards();
  for (size_t i = 0; i < cards.count; ++i) {
    if (i > 0) list += i + 1 < cards.count ? ", " : " or ";
    list += cards.rows[i].key;
  }
  return list;
}

// Records which options the SPEC gives. Only options on which the default of another option depends
// are recorded.
struct Given {
  bool contents = false;
  bool context = false;
  bool count = false;
  bool rank_is_last = false;  // a number that follows is another rank
};

bool ParseOption(std::string_view item, Spec* spec, Given* given, std::string* error) {
  const size_t equals = item.find('=');
  uint64_t number = 0;
  if (given->rank_is_last && equals == std::string_view::npos && ParseNumber(item, &number)) {
    if (ParseRank(item, spec)) return true;
  }
  const std::string_view name = item.substr(0, equals);
  given->rank_is_last = name == "rank";
  given->contents = given->contents || name == "contents";
  given->context = given->context || name == "context";
  given->count = given->count || name == "count";
  const std::string_view value =
      equals == std::string_view::npos ? std::string_view() : item.substr(equals + 1);
  for (const OptionParser& option : kOptions) {
    if (name != option.name && (option.alias == nullptr || name != option.alias)) continue;
    if (equals != std::string_view::npos && option.parse(value, spec)) return true;
    *error = "simulated card: " + std::string(name) + "=" + std::string(value) +
             " is not understood; it takes " + option.right + ".";
    return false;
  }
  *error = "simulated card: there is no option \"" + std::string(name) + "\"; there are";
  for (const OptionParser& option : kOptions) *error += std::string(" ") + option.name;
  *error += ".";
  return false;
}

std::string Of(const char* option, int value) { return option + std::to_string(value); }

// Checks that each running rank is named once and belongs to the job. Returns an empty string if
// all are right, otherwise a message about what is wrong.
std::string CheckRanks(const World& world) {
  if (world.running.empty()) {
    return Of("world=", world.ranks) + " needs rank=R: which ranks run, such as rank=0";
  }
  for (size_t i = 0; i < world.running.size(); ++i) {
    const int rank = world.running[i];
    if (rank >= world.ranks) {
      return Of("rank=", rank) + " is none of " + Of("world=", world.ranks) +
             ": its ranks are 0 to " + std::to_string(world.ranks - 1);
    }
    if (std::find(world.running.begin(), world.running.begin() + static_cast<long>(i), rank) !=
        world.running.begin() + static_cast<long>(i)) {
      return Of("rank=", rank) + " is named twice";
    }
  }
  return "";
}

// Sets the number of machines if nodes= does not give it. Returns an empty string, or a message
// about what is wrong.
std::string SettleNodes(bool count_given, const Spec& spec, World* world) {
  constexpr int kUsual = 8;  // GPUs of a machine
  if (world->nodes == 0) {
    const int each = count_given ? spec.count : std::min(world->ranks, kUsual);
    if (world->ranks % each != 0) {
      return Of("world=", world->ranks) + " cannot be spread over machines of " +
             std::to_string(each) + " cards: say how many machines there are, with nodes=N";
    }
    world->nodes = world->ranks / each;
  }
  if (world->ranks % world->nodes != 0) {
    return Of("nodes=", world->nodes) + " does not divide " + Of("world=", world->ranks) +
           ": each machine has as many ranks";
  }
  if (world->ranks_per_node() > kDevicesMax) {
    return Of("nodes=", world->nodes) + " makes " + std::to_string(world->ranks_per_node()) +
           " ranks a machine, which has at most " + std::to_string(kDevicesMax) +
           " cards: give more";
  }
  return "";
}

bool SettleWorld(bool count_given, Spec* spec, std::string* error) {
  World& world = spec->world;
  std::string wrong;
  if (world.ranks == 0) {
    if (!world.running.empty()) wrong = Of("rank=", world.running[0]);
    if (world.nodes != 0) wrong = Of("nodes=", world.nodes);
    if (!wrong.empty()) wrong += " needs world=N: how many ranks the job has";
  } else {
    wrong = CheckRanks(world);
    if (wrong.empty()) wrong = SettleNodes(count_given, *spec, &world);
    if (!count_given) spec->count = std::clamp(world.ranks_per_node(), 1, kDevicesMax);
    if (wrong.empty() && spec->count < world.ranks_per_node()) {
      wrong = Of("count=", spec->count) + " is too few for " +
              std::to_string(world.ranks_per_node()) + " ranks a machine";
    }
  }
  if (wrong.empty()) return true;
  *error = "simulated card: " + wrong + ".";
  return false;
}

// Returns a text such as "rank 0 of 256 on 32 nodes; the other ranks are not there".
std::string DescribeWorld(const World& world) {
  std::string text = world.running.size() > 1 ? "ranks " : "rank ";
  for (size_t i = 0; i < world.running.size(); ++i) {
    if (i > 0) text += i + 1 < world.running.size() ? ", " : " and ";
    text += std::to_string(world.running[i]);
  }
  text += " of " + std::to_string(world.ranks);
  if (world.nodes > 1) text += " on " + std::to_string(world.nodes) + " nodes";
  return text + ", the other ranks are not there";
}

}  // namespace

const char* SpecOfEnvironment() {
  for (const char* variable : {kSpecVariable, kCardVariable}) {
    const char* text = std::getenv(variable);
    if (text != nullptr && *text != '\0') return text;
  }
  return kDefaultSpec;
}

bool ParseSpec(std::string_view text, Spec* spec, std::string* error) {
  *spec = Spec();
  const size_t comma = text.find(',');
  const std::string_view card = text.substr(0, comma);
  const Card* const row = FindCard(card);
  if (row == nullptr) {
    *error = "simulated card: there is no card \"" + std::string(card) +
             "\"; the SPEC begins with " + CardList() + ".";
    return false;
  }
  spec->card = *row;
  spec->memory_bytes = row->memory_bytes;
  Given given;
  std::string_view rest = comma == std::string_view::npos ? "" : text.substr(comma + 1);
  while (comma != std::string_view::npos) {
    const size_t next = rest.find(',');
    if (!ParseOption(rest.substr(0, next), spec, &given, error)) return false;
    if (next == std::string_view::npos) break;
    rest = rest.substr(next + 1);
  }
  if (!SettleWorld(given.count, spec, error)) return false;
  // A user who raises the limit of computed bytes also wants the results to be stored.
  if (!given.contents) {
    const uint64_t computed = std::max(spec->emulation_bytes, spec->allowance_bytes);
    if (computed > Spec().allowance_bytes) spec->contents_bytes = computed;
  }
  if (!given.context) {
    spec->context_bytes = spec->card.context_bytes;
    if (spec->memory_bytes != spec->card.memory_bytes) {
      spec->context_bytes = std::min(spec->context_bytes, spec->memory_bytes / 8);
    }
  }
  if (spec->context_bytes >= spec->memory_bytes) {
    *error = "simulated card: context=" + std::string(FormatBytes(spec->context_bytes).text) +
             " leaves nothing of " + FormatBytes(spec->memory_bytes).text +
             " device memory; give less.";
    return false;
  }
  for (int number = 0; number < spec->count; ++number) spec->cards.push_back(number);
  return true;
}

std::string DescribeSpec(const Spec& spec) {
  std::string text = spec.count > 1 ? std::to_string(spec.count) + " x " : std::string();
  text += std::string(spec.card.name) + " (simulated), " + FormatBytes(spec.memory_bytes).text;
  if (spec.count > 1) text += " each";
  text += ", seed " + std::to_string(spec.seed);
  if (!spec.keep_contents) text += ", contents discarded";
  if (spec.adversarial) text += ", adversarial order";
  if (spec.world.ranks > 0) text += ", " + DescribeWorld(spec.world);
  return text;
}

std::string SpecHelp() {
  std::string text =
      "SPEC is CARD[,option=value]…, for example h200 or a100,memory=24GiB,count=2. In place of "
      "CARD, "
      "vramstow\ntakes match=SNAPSHOT: the card on which a memory snapshot was taken.\n"
      "Cards:\n";
  const CardTable cards = AllCards();
  for (size_t i = 0; i < cards.count; ++i) {
    const Card& card = cards.rows[i];
    std::string row = std::string("  ") + card.key;
    row.resize(std::max<size_t>(row.size() + 2, 16), ' ');
    text += row + card.name + ", " + FormatBytes(card.memory_bytes).text + ", compute capability " +
            std::to_string(card.major) + "." + std::to_string(card.minor) + ", " +
            std::to_string(card.multiprocessors) + " multiprocessors\n";
  }
  text += "Options:\n";
  for (const OptionParser& option : kOptions) {
    std::string row = std::string("  ") + option.name + "=";
    row.resize(std::max<size_t>(row.size() + 2, 16), ' ');
    text += row + option.help + " (" + option.right + ")\n";
  }
  return text;
}

}  // namespace vramstow::simulator
