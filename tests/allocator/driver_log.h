// DriverLog: a DriverTable that logs every call and passes it on to another DriverTable.
//
// Idea: the behaviour of a pool consists of its driver calls and of the addresses that it returns.
// Both are written into one text, in order, one line each, so that two builds of the pool can be
// compared line by line. Reads of the clock are not logged, because they change nothing on the
// device.
//
// Ownership: the caller's; the table below must outlive it. Threads: one. Errors: those of the
// table below. Units: bytes; nanoseconds.
#ifndef VRAMSTOW_TESTS_ALLOCATOR_DRIVER_LOG_H_
#define VRAMSTOW_TESTS_ALLOCATOR_DRIVER_LOG_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "allocator/core/driver.h"
#include "allocator/pool/pool.h"

namespace vramstow {

class DriverLog {
 public:
  DriverLog() = default;
  DriverLog(const DriverLog&) = delete;
  DriverLog& operator=(const DriverLog&) = delete;

  // Returns the table that logs each call and then calls `below`. It is valid as long as this
  // object.
  const DriverTable* Over(const DriverTable* below);

  // These functions log an answer of the pool. `name` is the test's name of the block.
  void Allocated(std::string_view name, PoolError error, const Block& block);
  void Freed(std::string_view name, PoolError error);
  void Line(std::string_view line);

  const std::string& text() const { return text_; }
  void Clear() { text_.clear(); }

 private:
  friend struct DriverLogCalls;

  const DriverTable* below_ = nullptr;
  DriverTable table_{};
  std::string text_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TESTS_ALLOCATOR_DRIVER_LOG_H_
