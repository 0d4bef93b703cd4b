#include "tests/allocator/driver_log.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>

namespace vramstow {
namespace {

// A string literal in a type that can be a template argument.
template <size_t kSize>
struct Name {
  constexpr Name(const char (&literal)[kSize]) { std::copy_n(literal, kSize, text); }
  char text[kSize]{};
};

// Appends a number; large numbers are addresses and are written in hexadecimal.
void Append(std::string* text, uint64_t number) {
  char digits[32];
  std::snprintf(digits, sizeof digits, number >> 32 != 0 ? " 0x%lx" : " %lu", number);
  *text += digits;
}

// These functions append an input argument of a call.
void AppendInput(std::string* text, uint64_t number) { Append(text, number); }
void AppendInput(std::string* text, uint32_t number) { Append(text, number); }
void AppendInput(std::string* text, int32_t number) { *text += ' ' + std::to_string(number); }
void AppendInput(std::string*, const DriverCopy*) {}
template <typename Output>
void AppendInput(std::string*, Output*) {}

// These functions append an output argument of a call.
template <typename Input>
void AppendOutput(std::string*, Input) {}
void AppendOutput(std::string* text, uint64_t* number) { Append(text, *number); }

void AppendCopies(std::string*) {}
template <typename First, typename... Rest>
void AppendCopies(std::string* text, First, Rest... rest) {
  AppendCopies(text, rest...);
}
template <typename... Rest>
void AppendCopies(std::string* text, const DriverCopy* copies, uint32_t count, Rest...) {
  for (uint32_t i = 0; i < count; ++i) {
    *text += ",";
    for (const uint64_t number : {copies[i].to, copies[i].from, copies[i].size}) {
      Append(text, number);
    }
  }
}

}  // namespace

struct DriverLogCalls {
  template <Name kName, auto kMember, typename... Arguments>
  static DriverResult Call(void* self, Arguments... arguments) {
    auto* const log = static_cast<DriverLog*>(self);
    const DriverTable& below = *log->below_;
    const DriverResult result = (below.*kMember)(below.self, arguments...);
    std::string& text = log->text_;
    text += kName.text;
    (AppendInput(&text, arguments), ...);
    AppendCopies(&text, arguments...);
    text += result == kDriverSuccess ? " ->" : " -> error " + std::to_string(result);
    if (result == kDriverSuccess) (AppendOutput(&text, arguments), ...);
    text += '\n';
    return result;
  }

  // Puts a function that logs and calls `below` into the table, with the arguments of the member's
  // type.
  template <Name kName, auto kMember, typename... Arguments>
  static void Set(DriverTable* table, const DriverTable& below,
                  DriverResult (*DriverTable::*member)(void*, Arguments...)) {
    table->*member = below.*member == nullptr ? nullptr : &Call<kName, kMember, Arguments...>;
  }
  template <Name kName, auto kMember>
  static void Set(DriverTable* table, const DriverTable& below) {
    Set<kName, kMember>(table, below, kMember);
  }

  static uint64_t Now(void* self) {
    const DriverTable& below = *static_cast<DriverLog*>(self)->below_;
    return below.now(below.self);
  }
  static void Pause(void* self, uint64_t nanoseconds) {
    auto* const log = static_cast<DriverLog*>(self);
    log->Line("pause " + std::to_string(nanoseconds));
    log->below_->pause(log->below_->self, nanoseconds);
  }
};

const DriverTable* DriverLog::Over(const DriverTable* below) {
  using Calls = DriverLogCalls;
  below_ = below;
  table_ = *below;
  table_.self = this;
  Calls::Set<"describe", &DriverTable::describe>(&table_, *below);
  Calls::Set<"memory_info", &DriverTable::memory_info>(&table_, *below);
  Calls::Set<"reserve", &DriverTable::reserve>(&table_, *below);
  Calls::Set<"unreserve", &DriverTable::unreserve>(&table_, *below);
  Calls::Set<"create", &DriverTable::create>(&table_, *below);
  Calls::Set<"release", &DriverTable::release>(&table_, *below);
  Calls::Set<"create_host", &DriverTable::create_host>(&table_, *below);
  Calls::Set<"map", &DriverTable::map>(&table_, *below);
  Calls::Set<"unmap", &DriverTable::unmap>(&table_, *below);
  Calls::Set<"set_access", &DriverTable::set_access>(&table_, *below);
  Calls::Set<"allocate", &DriverTable::allocate>(&table_, *below);
  Calls::Set<"free", &DriverTable::free>(&table_, *below);
  Calls::Set<"host_allocate", &DriverTable::host_allocate>(&table_, *below);
  Calls::Set<"host_free", &DriverTable::host_free>(&table_, *below);
  Calls::Set<"copy_start", &DriverTable::copy_start>(&table_, *below);
  Calls::Set<"copy_finish", &DriverTable::copy_finish>(&table_, *below);
  Calls::Set<"event_create", &DriverTable::event_create>(&table_, *below);
  Calls::Set<"event_destroy", &DriverTable::event_destroy>(&table_, *below);
  Calls::Set<"event_record", &DriverTable::event_record>(&table_, *below);
  Calls::Set<"event_record_all", &DriverTable::event_record_all>(&table_, *below);
  Calls::Set<"event_query", &DriverTable::event_query>(&table_, *below);
  Calls::Set<"synchronize", &DriverTable::synchronize>(&table_, *below);
  Calls::Set<"relax_capture", &DriverTable::relax_capture>(&table_, *below);
  Calls::Set<"restore_capture", &DriverTable::restore_capture>(&table_, *below);
  table_.now = &Calls::Now;
  table_.pause = &Calls::Pause;
  return &table_;
}

void DriverLog::Allocated(std::string_view name, PoolError error, const Block& block) {
  text_ += "= block ";
  text_ += name;
  if (error == PoolError::kOk) {
    Append(&text_, block.address);
    Append(&text_, block.size);
    Append(&text_, static_cast<uint64_t>(block.served));
  } else {
    text_ += " error " + std::to_string(static_cast<int>(error));
  }
  text_ += '\n';
}

void DriverLog::Freed(std::string_view name, PoolError error) {
  text_ += "= free ";
  text_ += name;
  if (error != PoolError::kOk) text_ += " error " + std::to_string(static_cast<int>(error));
  text_ += '\n';
}

void DriverLog::Line(std::string_view line) {
  text_ += line;
  text_ += '\n';
}

}  // namespace vramstow
