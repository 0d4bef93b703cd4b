#include "interpose/core/service/control_verbs.h"

#include <errno.h>
#include <limits.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "base/control.h"
#include "base/units.h"
#include "interpose/core/pools/application.h"
#include "interpose/core/pools/pools.h"
#include "interpose/core/pools/residency.h"
#include "interpose/core/record/facts.h"
#include "interpose/core/record/trace.h"
#include "interpose/core/share/sharer.h"

#define VRAMSTOW_IMPLEMENTATION
#include "include/vramstow/vramstow.h"

namespace vramstow {
namespace {

using Links = ControlVerbs::Links;

struct Answer {
  char* text;
  size_t size;
  size_t length = 0;

  __attribute__((format(printf, 2, 3))) void Add(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int added = std::vsnprintf(text + length, size - length, format, arguments);
    va_end(arguments);
    if (added > 0) length += static_cast<size_t>(added);
    if (length >= size) length = size - 1;
  }
  void Ok() { Add("%sOK\n", kControlGreeting); }
};

unsigned long long Number(uint64_t value) { return value; }

// A word as an answer quotes it: a long word is cut, and unusual characters are replaced.
struct ShownWord {
  char text[64];
  explicit ShownWord(std::string_view word) {
    size_t length = 0;
    for (const char c : word) {
      if (length + 1 == sizeof text) break;
      text[length++] = c > ' ' && c < 127 ? c : '?';
    }
    text[length] = '\0';
  }
};

// Returns the next word of a line and removes it.
std::string_view NextWord(std::string_view* line) {
  while (!line->empty() && line->front() == ' ') line->remove_prefix(1);
  const size_t end = line->find(' ');
  const std::string_view word = line->substr(0, end);
  line->remove_prefix(word.size());
  return word;
}

// Reads an optional device number at the end of a request. Returns false if the word is no number.
bool ReadDevice(std::string_view word, int* device) {
  *device = VRAMSTOW_ALL_DEVICES;
  if (word.empty()) return true;
  int value = 0;
  for (const char c : word) {
    if (c < '0' || c > '9' || value > 1000) return false;
    value = value * 10 + (c - '0');
  }
  *device = value;
  return true;
}

// Adds a text as a JSON string.
void AddQuoted(Answer* answer, const char* text) {
  answer->Add("\"");
  for (const char* at = text; *at != '\0'; ++at) {
    const auto byte = static_cast<unsigned char>(*at);
    if (byte < ' ') {
      answer->Add("\\u%04x", byte);
    } else {
      answer->Add(byte == '"' || byte == '\\' ? "\\%c" : "%c", byte);
    }
  }
  answer->Add("\"");
}

// Adds the statistics; unknown ones are left out.
void AddStats(Answer* answer, const vramstow_stats& stats) {
#define STATISTIC(name, value, seen) \
  if (stats.name != VRAMSTOW_NOT_KNOWN) answer->Add(",\"" #name "\":%llu", Number(stats.name));
#include "interpose/core/pools/statistics.def"
#undef STATISTIC
}

// Adds the figures of a GPU that this process shares; `any` is true if another one was added.
void AddShare(Answer* answer, const TurnFigures::Values& share, bool any) {
  answer->Add(
      "%s{\"device\":%d,\"state\":\"%s\",\"turns\":%llu,\"waited_ns\":%llu,"
      "\"out_bytes\":%llu,\"in_bytes\":%llu}",
      any ? "," : ",\"share\":[", share.device, NameOf(share.state), Number(share.turns),
      Number(share.waited_ns), Number(share.out_bytes), Number(share.in_bytes));
}

void Stats(const Links& links, std::string_view arguments, Answer* answer) {
  int only = VRAMSTOW_ALL_DEVICES;
  if (!ReadDevice(NextWord(&arguments), &only)) {
    answer->Add("%sERROR stats takes the number of a device, or no argument\n", kControlGreeting);
    return;
  }
  links.application.SettleFrees(only);
  answer->Ok();
  answer->Add("{\"pid\":%ld,\"program\":", static_cast<long>(getpid()));
  AddQuoted(answer, ShownWord(ProgramName()).text);
  answer->Add(",\"devices\":[");
  bool any = false;
  bool any_other = false;  // a device that was not asked about
  for (int device = 0; device < Pools::kMaxDevices; ++device) {
    vramstow_stats stats{};
    if (links.application.GetStats(device, &stats, sizeof stats) != VRAMSTOW_OK) continue;
    if (only >= 0 && device != only) {
      any_other = true;
      continue;
    }
    answer->Add("%s{\"device\":%d,\"of\":\"%s\"", any ? "," : "", device,
                links.application.HasPool(device) ? "pool" : "pytorch");
    AddStats(answer, stats);
    answer->Add("}");
    any = true;
  }
  answer->Add("]");
  bool any_shared = false;
  for (int device = 0; device < Sharer::kMaxDevices; ++device) {
    TurnFigures::Values share;
    if (!links.sharer.ReadFigures(device, &share)) continue;
    AddShare(answer, share, any_shared);
    any_shared = true;
  }
  if (any_shared) answer->Add("]");
  if (!any && any_other) {
    answer->Add(",\"why_none\":\"no memory was requested on device %d yet\"", only);
  } else if (!any) {
    answer->Add(",\"why_none\":\"%s\"", links.application.WhyNoStats());
  }
  answer->Add("}\n");
}

constexpr char kNoPool[] =
    "this process has no pool on this device: start it with vramstow run --pool=on, which creates "
    "a pool at the first allocation";

void GiveBack(const Links& links, std::string_view arguments, Answer* answer) {
  int device = VRAMSTOW_ALL_DEVICES;
  GivenBack given;
  if (!ReadDevice(NextWord(&arguments), &device)) {
    answer->Add("%sERROR empty-cache takes the number of a device, or no argument\n",
                kControlGreeting);
  } else if (links.application.GiveBack(device, &given) != VRAMSTOW_OK) {
    answer->Add(
        "%sERROR %s; without the pool, only the program itself can empty PyTorch's cache, with "
        "torch.cuda.empty_cache()\n",
        kControlGreeting, kNoPool);
  } else {
    answer->Ok();
    answer->Add("{\"released_bytes\":%llu,\"host_released_bytes\":%llu,\"duration_ns\":%llu}\n",
                Number(given.device_bytes), Number(given.host_bytes), Number(given.duration_ns));
  }
}

void Limit(const Links& links, std::string_view arguments, Answer* answer) {
  const std::string_view text = NextWord(&arguments);
  int device = VRAMSTOW_ALL_DEVICES;
  uint64_t bytes = 0;
  if ((text != "none" && !ParseBytes(text, &bytes)) || !ReadDevice(NextWord(&arguments), &device)) {
    answer->Add(
        "%sERROR limit takes a number of bytes (20GiB) or none, and optionally the number of a "
        "device\n",
        kControlGreeting);
  } else if (links.application.SetLimit(device, bytes, "vramstow ctl limit") != VRAMSTOW_OK) {
    answer->Add(
        "%sERROR %s; without the pool, only the program itself can limit PyTorch, with "
        "torch.cuda.set_per_process_memory_fraction()\n",
        kControlGreeting, kNoPool);
  } else {
    answer->Ok();
    answer->Add("{\"limit_bytes\":%llu}\n", Number(bytes));
  }
}

// --- The location of live memory ----------------------------------------------------------------

const char* WhyNotMoved(int code, bool back) {
  switch (code) {
    case VRAMSTOW_NOT_ACTIVE:
      return "this process cannot move memory: it runs without --offload, or has no pool yet";
    case VRAMSTOW_INVALID:
      return "this process has no such region";
    case VRAMSTOW_NOT_SUPPORTED:
      return "the device cannot map host memory, so only the program itself can pause memory";
    case VRAMSTOW_OUT_OF_MEMORY:
      return back ? "the device has not enough free memory for the rest"
                  : "the host has not enough memory for the rest, or the limit host= is reached";
    case VRAMSTOW_BUSY:
      return "submitted work does not end";
    case VRAMSTOW_CAPTURING:
      return "a stream is being captured";
    case VRAMSTOW_OF_GRAPH:
      return "a captured graph may use the rest";
    case VRAMSTOW_HELD:
      return "another process or a device uses the rest";
    default:
      return "the driver refused to move the rest";
  }
}

// Adds the number of bytes that moved to the answer, even if not all of them could be moved. If
// none moved, adds the reason.
void AddMoved(int code, bool back, uint64_t bytes, Answer* answer) {
  if (code != VRAMSTOW_OK && bytes == 0) {
    answer->Add("%sERROR %s\n", kControlGreeting, WhyNotMoved(code, back));
    return;
  }
  answer->Ok();
  answer->Add("{\"moved_bytes\":%llu", Number(bytes));
  if (code != VRAMSTOW_OK) answer->Add(",\"stopped\":\"%s\"", WhyNotMoved(code, back));
  answer->Add("}\n");
}

// Reads a region's name. It is the rest of the line, so it may contain spaces. Returns null if
// there is none.
const char* ReadRegion(std::string_view arguments, char* name, size_t size) {
  while (!arguments.empty() && arguments.front() == ' ') arguments.remove_prefix(1);
  if (arguments.empty() || arguments.size() >= size) return nullptr;
  std::memcpy(name, arguments.data(), arguments.size());
  name[arguments.size()] = '\0';
  return name;
}

bool ReadNumber(std::string_view word, uint64_t* value) {
  return !word.empty() && ParseBytes(word, value);
}

void MoveOut(const Links& links, std::string_view arguments, Answer* answer) {
  char name[256];
  const std::string_view what = NextWord(&arguments);
  uint64_t value = 0;
  uint64_t bytes = 0;
  if (what.empty()) {
    const int code = links.residency.Offload(nullptr, &bytes);
    AddMoved(code, /*back=*/false, bytes, answer);
  } else if (what == "region" && ReadRegion(arguments, name, sizeof name) != nullptr) {
    const int code = links.residency.Offload(name, &bytes);
    AddMoved(code, /*back=*/false, bytes, answer);
  } else if (what == "bytes" && ReadNumber(NextWord(&arguments), &value)) {
    const int code = links.residency.OffloadIdle(value, ~uint64_t{0}, &bytes);
    AddMoved(code, /*back=*/false, bytes, answer);
  } else if (what == "since" && ReadNumber(NextWord(&arguments), &value)) {
    const int code = links.residency.OffloadIdle(~uint64_t{0}, value, &bytes);
    AddMoved(code, /*back=*/false, bytes, answer);
  } else {
    answer->Add(
        "%sERROR offload takes no argument, region NAME, bytes N (for example 10GiB), or since "
        "MARK with a number that mark-idle returned\n",
        kControlGreeting);
  }
}

void MarkForIdle(const Links& links, std::string_view arguments, Answer* answer) {
  uint64_t watch_ns = 0;
  uint64_t mark = 0;
  if (!ParseDuration(NextWord(&arguments), &watch_ns) || watch_ns == 0) {
    answer->Add("%sERROR mark-idle takes a time, for example 5s\n", kControlGreeting);
    return;
  }
  const int code = links.residency.MarkIdle(watch_ns, &mark);
  if (code != VRAMSTOW_OK) {
    answer->Add("%sERROR %s\n", kControlGreeting, WhyNotMoved(code, /*back=*/false));
    return;
  }
  answer->Ok();
  answer->Add("{\"mark\":%llu}\n", Number(mark));
}

void MoveBack(const Links& links, std::string_view arguments, Answer* answer) {
  char name[256];
  const std::string_view what = NextWord(&arguments);
  uint64_t bytes = 0;
  const bool named = what == "region" && ReadRegion(arguments, name, sizeof name) != nullptr;
  if (!what.empty() && !named) {
    answer->Add("%sERROR resume takes no argument, or region NAME\n", kControlGreeting);
    return;
  }
  const int code = links.residency.Resume(named ? name : nullptr, &bytes);
  AddMoved(code, /*back=*/true, bytes, answer);
}

void Dump(const Links& links, std::string_view arguments, Answer* answer) {
  char path[PATH_MAX] = "";
  if (!NextWord(&arguments).empty()) {
    answer->Add("%sERROR dump takes no argument\n", kControlGreeting);
    return;
  }
  const int error = links.trace.WriteCopy(path, sizeof path);
  if (error == EBADF) {
    answer->Add("%sERROR the process writes no trace\n", kControlGreeting);
  } else if (error != 0) {
    answer->Add("%sERROR the copy of the trace could not be written (%s)\n", kControlGreeting,
                std::strerror(error));
  } else {
    answer->Ok();
    answer->Add("{\"path\":");
    AddQuoted(answer, path);
    answer->Add("}\n");
  }
}

void Census(const Links& links, std::string_view arguments, Answer* answer) {
  if (!NextWord(&arguments).empty()) {
    answer->Add("%sERROR census takes no argument\n", kControlGreeting);
    return;
  }
  answer->Ok();
  constexpr size_t kLineEnd = 1;
  const size_t before = answer->length;
  char* const body = answer->text + before;
  switch (links.take_census(true, body, answer->size - before - kLineEnd)) {
    case VRAMSTOW_OK:
      answer->length += std::strlen(body);
      answer->Add("\n");
      return;
    case VRAMSTOW_NOT_ACTIVE:
      answer->length = 0;
      answer->Add(
          "%sERROR a census of this process is not possible: it needs a trace, CUDA in use, and "
          "versions of Python and PyTorch that the census supports\n",
          kControlGreeting);
      return;
    default:
      answer->length = 0;
      answer->Add("%sERROR Python's lock could not be acquired in time: try again\n",
                  kControlGreeting);
  }
}

void Share(const Links& links, std::string_view arguments, Answer* answer) {
  const std::string_view what = NextWord(&arguments);
  const bool is_pause = what == "pause";
  if ((!is_pause && what != "resume") || !NextWord(&arguments).empty()) {
    answer->Add("%sERROR share takes pause or resume\n", kControlGreeting);
  } else if (!links.sharer.SetPaused(is_pause)) {
    answer->Add("%sERROR this process does not share its GPU: start it with vramstow run --share\n",
                kControlGreeting);
  } else {
    answer->Ok();
    answer->Add("{\"paused\":%s}\n", is_pause ? "true" : "false");
  }
}

struct Verb {
  std::string_view name;
  void (*answer)(const Links& links, std::string_view arguments, Answer* answer);
};
constexpr Verb kVerbs[] = {
    {"stats", Stats},     {"empty-cache", GiveBack}, {"limit", Limit},
    {"dump", Dump},       {"offload", MoveOut},      {"mark-idle", MarkForIdle},
    {"resume", MoveBack}, {"census", Census},        {"share", Share}};

}  // namespace

size_t ControlVerbs::AnswerRequest(std::string_view line, char* text, size_t size) const {
  Answer answer{text, size};
  constexpr std::string_view kGreeting = kControlGreeting;
  if (!line.starts_with(kGreeting)) {
    answer.Add("%sERROR this is vramstow's control socket, version 1; a request begins with %s\n",
               kControlGreeting, kControlGreeting);
    return answer.length;
  }
  line.remove_prefix(kGreeting.size());
  const std::string_view name = NextWord(&line);
  for (const Verb& verb : kVerbs) {
    if (verb.name != name) continue;
    verb.answer(links_, line, &answer);
    return answer.length;
  }
  answer.Add("%sERROR unknown request '%s'; the requests are:", kControlGreeting,
             ShownWord(name).text);
  for (const Verb& verb : kVerbs) answer.Add(" %s", verb.name.data());
  answer.Add("\n");
  return answer.length;
}

}  // namespace vramstow
