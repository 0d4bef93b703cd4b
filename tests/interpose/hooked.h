// Checks which names of the hook table resolve to vramstow's functions in a program, and compares
// them with the table.
#ifndef VRAMSTOW_TESTS_INTERPOSE_HOOKED_H_
#define VRAMSTOW_TESTS_INTERPOSE_HOOKED_H_

#include <map>
#include <string>

#include "interpose/core/runtime/hook_table.h"
#include "tests/interpose/support.h"

namespace vramstow {

class Hooked : public Interposed {
 protected:
  // Looks up each name of the hook table with dlvsym. Expects that the name resolves to vramstow's
  // function if is_hooked(row) is true, and to the driver's function otherwise.
  void ExpectHooked(std::map<std::string, std::string> environment,
                    bool (*is_hooked)(const HookRow& row)) {
    environment["LD_LIBRARY_PATH"] = kVersionedDriverFolder;
    const Outcome outcome = Run({"host", "every-hook"}, environment);
    EXPECT_EQ(outcome.status, 0) << outcome.error;
    for (size_t i = 0; i < kHookCount; ++i) {
      const HookRow& row = RowOf(static_cast<Hook>(i));
      const std::string line = std::string(row.symbol) + " libvramstow-core.so\n";
      EXPECT_EQ(outcome.out.find(line) != std::string::npos, is_hooked(row)) << row.symbol;
    }
  }
};

}  // namespace vramstow

#endif  // VRAMSTOW_TESTS_INTERPOSE_HOOKED_H_
