#include "tests/card/times/driver_times.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <set>
#include <string>

namespace vramstow::card {
namespace {

TEST(DriverTimesTest, ASimulatedCardGivesTheTimesOfItsModel) {
  setenv("VRAMSTOW_SIMULATE", "h100,clock=model", 1);
  setenv("VRAMSTOW_RUN_ID", "driver-times", 1);
  DriverTimes times;
  std::string error;
  ASSERT_TRUE(MeasureDriverTimes(VRAMSTOW_SIMULATED_DRIVER, &times, &error)) << error;
  EXPECT_EQ(TimeSource::kModel, times.source);
  EXPECT_EQ("h100", times.model_card);
  EXPECT_EQ("", times.why_not_all);
  std::set<std::string> names;
  for (const DriverTime& row : times.rows) {
    names.insert(row.name);
    EXPECT_GT(row.modelled, 0) << row.name;
    // Copies also include their calls and the wait: ten microseconds of five milliseconds.
    const double share = std::string(row.unit) == "GB/s" ? 0.005 : 1e-6;
    EXPECT_NEAR(row.modelled, row.measured, row.modelled * share) << row.name;
  }
  for (const char* place : {"device", "host"}) {
    const std::string of = std::string(", ") + place + ", ";
    for (const char* call : {"create", "map", "access", "unmap", "release"}) {
      EXPECT_EQ(1u, names.count(call + of + "1 x 128 MiB")) << call;
      EXPECT_EQ(1u, names.count(call + of + "64 x 2 MiB")) << call;
    }
    EXPECT_EQ(1u, names.count("access" + of + "64 x 2 MiB, by handle"));
    EXPECT_EQ(1u, names.count("unmap" + of + "64 x 2 MiB, by handle"));
  }
  EXPECT_EQ(34u, names.size()) << "and access of a GiB, copies, page-locked memory";
}

TEST(DriverTimesTest, ADriverThatIsNotThereIsOneSentence) {
  DriverTimes times;
  std::string error;
  EXPECT_FALSE(MeasureDriverTimes("libnothing.so.1", &times, &error));
  EXPECT_NE(std::string::npos, error.find("cannot be opened")) << error;
}

}  // namespace
}  // namespace vramstow::card
