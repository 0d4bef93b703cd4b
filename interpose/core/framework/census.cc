#include "interpose/core/framework/census.h"

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <iterator>

#include "base/keep_errno.h"
#include "base/typed_event.h"
#include "interpose/core/framework/framework.h"
#include "interpose/core/record/trace.h"
#include "interpose/core/runtime/process.h"

#define VRAMSTOW_IMPLEMENTATION
#include "include/vramstow/framework.h"
#include "include/vramstow/vramstow.h"

namespace vramstow {
namespace {

constexpr size_t kMaxText = 1024;  // the longest annotation
constexpr const char* kReasons[] = {"out_of_memory", "asked", "told"};
constexpr const char* kRoles[] = {"other",    "parameter",       "buffer",
                                  "gradient", "optimizer_state", "saved"};
static_assert(std::size(kReasons) == VRAMSTOW_CENSUS_TOLD + 1);
static_assert(std::size(kRoles) == VRAMSTOW_ROLE_SAVED + 1);

// Records an event kMark with a text that describes a part of a reference scan.
// docs/trace-format.md describes the form of the text. `number` is 0 or an address.
int Mark(const char* text, uint64_t number) {
  const KeepErrno keep_errno;
  const uint64_t marked = framework_context.trace.Mark(MarkKind::kMoment, text, number);
  return marked != 0 ? VRAMSTOW_OK : VRAMSTOW_NOT_ACTIVE;
}

int Begin(const vramstow_framework_census_about* about) {
  if (about->reason < 0 || about->reason > VRAMSTOW_CENSUS_TOLD) return VRAMSTOW_INVALID;
  char text[kMaxText];
  std::snprintf(text, sizeof text, "vramstow.census %s %d %llu %llu %llu %llu\n%s",
                kReasons[about->reason], about->device,
                static_cast<unsigned long long>(about->found_bytes),
                static_cast<unsigned long long>(about->live_bytes),
                static_cast<unsigned long long>(about->duration_ns),
                static_cast<unsigned long long>(about->objects),
                about->why_ended == nullptr ? "" : about->why_ended);
  return Mark(text, 0);
}

int Hold(const vramstow_framework_holding* holding) {
  if (holding->role < 0 || holding->role > VRAMSTOW_ROLE_SAVED) return VRAMSTOW_INVALID;
  char text[kMaxText];
  std::snprintf(text, sizeof text, "vramstow.holder %s %d %llu\n%s\n%s", kRoles[holding->role],
                holding->device, static_cast<unsigned long long>(holding->bytes), holding->holder,
                holding->about);
  return Mark(text, holding->address);
}

constinit std::atomic<const vramstow_framework_census_taker*> the_taker{nullptr};

// Stores the census taker, the adapter's functions that carry out a census (a reference scan). From
// now on other processes may request a census, so the service thread has to listen.
int Serve(const vramstow_framework_census_taker* taker) {
  the_taker.store(taker, std::memory_order_release);
  if (taker != nullptr) framework_context.start_service();
  return VRAMSTOW_OK;
}

constexpr vramstow_framework_census kTable = {
    {VRAMSTOW_TABLE_CENSUS, VRAMSTOW_TABLE_CENSUS_VERSION, sizeof(vramstow_framework_census), 0},
    Begin,
    Hold,
    Serve};

// Writes the result of a census (a reference scan) as JSON into the caller's memory. Groups that do
// not fit are left out, and their number is written.
class Listing {
 public:
  Listing(char* text, size_t size) : text_(text), size_(size) {}

  void Begin(const vramstow_framework_census_about& about) {
    Add("{\"found_bytes\":%llu,\"live_bytes\":%llu,\"duration_ns\":%llu,\"objects\":%llu,"
        "\"why_ended\":",
        Number(about.found_bytes), Number(about.live_bytes), Number(about.duration_ns),
        Number(about.objects));
    about.why_ended == nullptr ? Add("null") : AddText(about.why_ended);
    Add(",\"holders\":[");
  }
  void AddGroup(const vramstow_framework_holding& group, uint64_t blocks) {
    const size_t before = length_;
    Add("%s{\"holder\":", count_ == 0 ? "" : ",");
    AddText(group.holder);
    Add(",\"bytes\":%llu,\"blocks\":%llu,\"device\":%d,\"role\":\"%s\",\"about\":",
        Number(group.bytes), Number(blocks), group.device, kRoles[group.role]);
    AddText(group.about);
    Add("}");
    if (!is_full_ && length_ + kEnd < size_) {
      ++count_;
      return;
    }
    is_full_ = true;
    length_ = before;
    ++left_out_;
  }
  // Returns false if not even one group fitted.
  bool End() {
    if (count_ == 0 && is_full_) return false;
    is_full_ = false;
    Add("],\"left_out\":%llu}", Number(left_out_));
    return !is_full_;
  }

 private:
  static constexpr size_t kEnd = 48;
  static unsigned long long Number(uint64_t value) { return value; }

  __attribute__((format(printf, 2, 3))) void Add(const char* format, ...) {
    if (is_full_) return;
    va_list arguments;
    va_start(arguments, format);
    const int added = std::vsnprintf(text_ + length_, size_ - length_, format, arguments);
    va_end(arguments);
    is_full_ = added < 0 || static_cast<size_t>(added) >= size_ - length_;
    if (!is_full_) length_ += static_cast<size_t>(added);
  }
  void AddText(const char* text) {
    Add("\"");
    for (const char* at = text; *at != '\0'; ++at) {
      const auto byte = static_cast<unsigned char>(*at);
      if (byte < ' ') {
        Add("\\u%04x", byte);
      } else {
        Add(byte == '"' || byte == '\\' ? "\\%c" : "%c", byte);
      }
    }
    Add("\"");
  }

  char* const text_;
  const size_t size_;
  size_t length_ = 0;
  size_t count_ = 0;
  uint64_t left_out_ = 0;
  bool is_full_ = false;
};

void VisitGroup(void* context, const vramstow_framework_census_about* about,
                const vramstow_framework_holding* group, uint64_t blocks) {
  auto* listing = static_cast<Listing*>(context);
  group == nullptr ? listing->Begin(*about) : listing->AddGroup(*group, blocks);
}

}  // namespace

void RunCensusAfterFailure(int device) {
  const auto* taker = the_taker.load(std::memory_order_acquire);
  if (taker == nullptr) return;
  const KeepErrno keep_errno;
  taker->take(VRAMSTOW_CENSUS_OUT_OF_MEMORY, device, nullptr, nullptr);
}

int RunCensusFor(bool by_command, char* text, size_t size) {
  const auto* taker = the_taker.load(std::memory_order_acquire);
  if (taker == nullptr || !framework_context.trace.is_open()) return VRAMSTOW_NOT_ACTIVE;
  if (text == nullptr || size == 0) return VRAMSTOW_INVALID;
  const KeepErrno keep_errno;
  Listing listing(text, size);
  constexpr int kNoFailure = -1;
  const int result = taker->take(by_command ? VRAMSTOW_CENSUS_TOLD : VRAMSTOW_CENSUS_ASKED,
                                 kNoFailure, VisitGroup, &listing);
  if (result == VRAMSTOW_OK && listing.End()) return VRAMSTOW_OK;
  // A part of the line is no JSON.
  text[0] = '\0';
  return result == VRAMSTOW_OK ? VRAMSTOW_INVALID : result;
}

int RunCensus(char* text, size_t size) { return RunCensusFor(false, text, size); }

void AbandonCensusAfterFork() { the_taker.store(nullptr, std::memory_order_release); }

const vramstow_table* CensusTable() {
  Process& process = framework_context.process;
  if (!process.Start() || !process.options().trace) return nullptr;
  return &kTable.head;
}

}  // namespace vramstow
