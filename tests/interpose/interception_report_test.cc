// Tests the report on which libraries called the driver, and how they found it.
#include <gmock/gmock.h>

#include "tests/interpose/support.h"

namespace vramstow {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class InterceptionReport : public Interposed {
 protected:
  std::string ReportOf(const std::vector<std::string>& command) {
    const Outcome outcome = Run(command, {{"VRAMSTOW_COVERAGE", "1"}});
    EXPECT_EQ(outcome.status, 0) << outcome.error;
    EXPECT_THAT(outcome.out, IsEmpty());
    return outcome.error;
  }
};

TEST_F(InterceptionReport, NamesLibrariesWaysAndCalls) {
  const std::string report = ReportOf({"host", "dlsym"});
  EXPECT_THAT(report,
              HasSubstr("/host: by dlsym (3 functions); called cuInit 1×, cuMemAlloc_v2 1×, "
                        "cuMemFree_v2 1×\n"));
  EXPECT_THAT(report, HasSubstr("no library that is loaded now"));
}

TEST_F(InterceptionReport, TellsAMiddlemanFromItsCaller) {
  const std::string report = ReportOf({"host", "library", "libthrough_runtime.so"});
  EXPECT_THAT(report, HasSubstr("/libcudart.so.13: by dlsym (2 functions), cuGetProcAddress (1 "
                                "function); called"));
  EXPECT_THAT(report, Not(HasSubstr("libthrough_runtime.so")));
}

TEST_F(InterceptionReport, NamesALinkedProgram) {
  EXPECT_THAT(ReportOf({"linked"}), AllOf(HasSubstr("/linked: by a direct link"),
                                          HasSubstr("no library that is loaded now")));
}

TEST_F(InterceptionReport, NamesALibraryOpenedWithDeepbind) {
  if (kIsSanitized) GTEST_SKIP() << "sanitizers refuse that";
  EXPECT_THAT(ReportOf({"host", "deepbind", "liblinked_library.so"}),
              HasSubstr("liblinked_library.so: opened with RTLD_DEEPBIND"));
}

TEST_F(InterceptionReport, NamesADriverInANameSpaceOfItsOwn) {
  if (kIsSanitized) GTEST_SKIP() << "sanitizers refuse that";
  EXPECT_THAT(ReportOf({"host", "dlmopen", "liblinked_library.so"}),
              HasSubstr("libcuda.so.1: opened again by dlmopen"));
}

TEST_F(InterceptionReport, NamesALibraryWithAnIdleRuntimeOfItsOwn) {
  // The report names a library that is linked to the program but never called.
  EXPECT_THAT(ReportOf({"idle_runtime_host", "dlsym"}),
              HasSubstr("libprivate_runtime.so: contains the driver's name"));
}

TEST_F(InterceptionReport, NamesAFormOfAFunctionThatItDoesNotKnow) {
  EXPECT_THAT(ReportOf({"host", "versions"}), HasSubstr("cuMemAlloc of CUDA 99.0"));
}

TEST_F(InterceptionReport, IsNotWrittenByProgramsWithoutCuda) {
  EXPECT_THAT(ReportOf({"/bin/true"}), IsEmpty());
}

TEST_F(InterceptionReport, IsWrittenOnceByAProcessThatForks) {
  const std::string report = ReportOf({"host", "fork-dormant"});
  EXPECT_EQ(report.find("interception report of process"),
            report.rfind("interception report of process"));
}

}  // namespace
}  // namespace vramstow
