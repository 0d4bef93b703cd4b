// Checks that the types that the core exchanges with a simulated driver have the driver's own
// layout. No other part may include the headers of both.
#include <cstddef>
#include <type_traits>

#include "gtest/gtest.h"
#include "interpose/core/runtime/driver.h"
#include "simulator/simulator_api.h"

namespace vramstow {
namespace {

#define VRAMSTOW_SAME_FIELD(one, other, field)                                    \
  static_assert(offsetof(one, field) == offsetof(other, field) &&                 \
                    std::is_same_v<decltype(one::field), decltype(other::field)>, \
                #one " and " #other " differ in " #field)

using UsedRange = Driver::UsedRange;
static_assert(sizeof(UsedRange) == sizeof(vramstowSimulatorRange));
VRAMSTOW_SAME_FIELD(UsedRange, vramstowSimulatorRange, address);
VRAMSTOW_SAME_FIELD(UsedRange, vramstowSimulatorRange, bytes);
VRAMSTOW_SAME_FIELD(UsedRange, vramstowSimulatorRange, use);

using ModelClock = Driver::ModelClock;
static_assert(sizeof(ModelClock) == sizeof(vramstowSimulatorModelClock));
VRAMSTOW_SAME_FIELD(ModelClock, vramstowSimulatorModelClock, now_ns);
VRAMSTOW_SAME_FIELD(ModelClock, vramstowSimulatorModelClock, link_read_bytes);
VRAMSTOW_SAME_FIELD(ModelClock, vramstowSimulatorModelClock, to_host_bytes);
VRAMSTOW_SAME_FIELD(ModelClock, vramstowSimulatorModelClock, to_device_bytes);
VRAMSTOW_SAME_FIELD(ModelClock, vramstowSimulatorModelClock, wait_ns);
VRAMSTOW_SAME_FIELD(ModelClock, vramstowSimulatorModelClock, work_ns);
VRAMSTOW_SAME_FIELD(ModelClock, vramstowSimulatorModelClock, operators);
VRAMSTOW_SAME_FIELD(ModelClock, vramstowSimulatorModelClock, link_work_ns);
VRAMSTOW_SAME_FIELD(ModelClock, vramstowSimulatorModelClock, due_ns);

#undef VRAMSTOW_SAME_FIELD

// This file does not compile unless the assertions above hold; the test shows that it was compiled.
TEST(DriverLayoutsTest, AreThoseOfTheSimulator) { SUCCEED(); }

}  // namespace
}  // namespace vramstow
