// Tests kernels that are given to the driver as PTX: after a launch its results are in memory, and
// launches keep the order of their stream.
#include <string.h>

#include <string>

#include "tests/simulator/contract/driver.h"

namespace vramstow::simulator {
namespace {

// The kernel scale(out, in, factor, count) computes out[i] = in[i] * factor + bias; the kernel
// count_launches() increments the variable launches.
constexpr char kText[] = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .const .align 4 .u32 bias = 7;
.visible .global .align 4 .u32 launches[2] = {40, 50};
.visible .global .align 8 .u64 second = launches+4;
.visible .entry scale(.param .u64 out, .param .u64 in, .param .u32 factor, .param .u32 count)
{
  .reg .pred %p<2>;
  .reg .b32 %r<12>;
  .reg .b64 %rd<12>;
  ld.param.u64 %rd1, [out];
  ld.param.u64 %rd2, [in];
  ld.param.u32 %r1, [factor];
  ld.param.u32 %r2, [count];
  cvta.to.global.u64 %rd3, %rd1;
  cvta.to.global.u64 %rd4, %rd2;
  mov.u32 %r3, %ctaid.x;
  mov.u32 %r4, %ntid.x;
  mov.u32 %r5, %tid.x;
  mad.lo.s32 %r6, %r3, %r4, %r5;
  setp.ge.u32 %p1, %r6, %r2;
  @%p1 bra $done;
  mul.wide.u32 %rd5, %r6, 4;
  add.s64 %rd6, %rd4, %rd5;
  add.s64 %rd7, %rd3, %rd5;
  ld.global.u32 %r7, [%rd6];
  ld.const.u32 %r8, [bias];
  mad.lo.u32 %r9, %r7, %r1, %r8;
  st.global.u32 [%rd7], %r9;
$done:
  ret;
}
.visible .entry count_launches()
{
  .reg .b32 %r<4>;
  .reg .b64 %rd<4>;
  ld.global.u64 %rd1, [second];
  ld.u32 %r1, [%rd1];
  add.u32 %r1, %r1, 1;
  st.u32 [%rd1], %r1;
  atom.global.add.u32 %r2, [launches], 2;
  ret;
}
)";

class PtxLaunchTest : public ContractTest {
 protected:
  static constexpr unsigned kCount = 1000;

  void SetUp() override {
    ContractTest::SetUp();
    ASSERT_OK(driver_.cuModuleLoadData(&module_, kText));
    ASSERT_OK(driver_.cuModuleGetFunction(&scale_, module_, "scale"));
    block_ = Allocate(2 * kCount * sizeof(unsigned));
    std::vector<unsigned> numbers(2 * kCount);
    for (unsigned i = 0; i < kCount; ++i) numbers[i] = i;
    ASSERT_OK(driver_.cuMemcpyHtoD(block_, numbers.data(), numbers.size() * sizeof(unsigned)));
  }
  void TearDown() override {
    if (module_ != nullptr) {
      EXPECT_OK(driver_.cuModuleUnload(module_));
    }
    ContractTest::TearDown();
  }

  CUdeviceptr out() const { return block_ + kCount * sizeof(unsigned); }
  unsigned At(CUdeviceptr address) {
    unsigned value = 0;
    EXPECT_OK(driver_.cuMemcpyDtoH(&value, address, sizeof(value)));
    return value;
  }
  CUresult Scale(CUdeviceptr to, CUdeviceptr from, unsigned factor, CUstream stream) {
    unsigned count = kCount;
    void* arguments[] = {&to, &from, &factor, &count};
    return driver_.cuLaunchKernel(scale_, 8, 1, 1, 128, 1, 1, 0, stream, arguments, nullptr);
  }

  CUmodule module_ = nullptr;
  CUfunction scale_ = nullptr;
  CUdeviceptr block_ = 0;
};

// The CUDA programming guide says that every thread of every block executes the kernel.
TEST_F(PtxLaunchTest, EveryThreadComputes) {
  ASSERT_OK(Scale(out(), block_, 3, nullptr));
  ASSERT_OK(driver_.cuCtxSynchronize());
  for (unsigned i = 0; i < kCount; i += 37) EXPECT_EQ(i * 3 + 7, At(out() + i * sizeof(unsigned)));
  EXPECT_EQ(5u, At(block_ + 5 * sizeof(unsigned))) << "what it only reads stays";
}

// As documented for cuLaunchKernel, arguments may be given as one buffer, each at its alignment.
TEST_F(PtxLaunchTest, ArgumentsMayComeInOneBuffer) {
  struct {
    CUdeviceptr out;
    CUdeviceptr in;
    unsigned factor;
    unsigned count;
  } packed = {out(), block_, 2, kCount};
  size_t size = sizeof(packed);
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                   CU_LAUNCH_PARAM_END};
  ASSERT_OK(driver_.cuLaunchKernel(scale_, 8, 1, 1, 128, 1, 1, 0, nullptr, nullptr, extra));
  ASSERT_OK(driver_.cuCtxSynchronize());
  EXPECT_EQ(999u * 2 + 7, At(out() + 999 * sizeof(unsigned)));
}

// Work of one stream runs in the order of its submission.
TEST_F(PtxLaunchTest, LaunchesOfAStreamSeeEachOthersResults) {
  CUstream stream = NewStream();
  for (int i = 0; i < 5; ++i) ASSERT_OK(Scale(block_, block_, 2, stream));
  ASSERT_OK(driver_.cuStreamSynchronize(stream));
  EXPECT_EQ(32u + 7 * 31, At(block_ + sizeof(unsigned)));
}

TEST_F(PtxLaunchTest, KernelsOfAGraphRunAtEachLaunch) {
  CUstream stream = NewStream();
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
  ASSERT_OK(driver_.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  ASSERT_OK(Scale(block_, block_, 2, stream));
  ASSERT_OK(driver_.cuStreamEndCapture(stream, &graph));
  EXPECT_EQ(1u, At(block_ + sizeof(unsigned))) << "capturing runs nothing";
  ASSERT_OK(driver_.cuGraphInstantiate(&executable, graph, 0));
  ASSERT_OK(driver_.cuGraphLaunch(executable, stream));
  ASSERT_OK(driver_.cuGraphLaunch(executable, stream));
  ASSERT_OK(driver_.cuStreamSynchronize(stream));
  EXPECT_EQ(4u + 7 * 3, At(block_ + sizeof(unsigned)));
  EXPECT_OK(driver_.cuGraphExecDestroy(executable));
  EXPECT_OK(driver_.cuGraphDestroy(graph));
}

// The PTX ISA says that variables have their initial values when the module is loaded. If an
// initial value is the name of a variable, it is the address of that variable.
TEST_F(PtxLaunchTest, VariablesBeginWithTheirValues) {
  CUdeviceptr launches = 0;
  size_t bytes = 0;
  ASSERT_OK(driver_.cuModuleGetGlobal(&launches, &bytes, module_, "launches"));
  EXPECT_EQ(8u, bytes);
  EXPECT_EQ(40u, At(launches));
  CUfunction count = nullptr;
  ASSERT_OK(driver_.cuModuleGetFunction(&count, module_, "count_launches"));
  for (int i = 0; i < 3; ++i) {
    ASSERT_OK(driver_.cuLaunchKernel(count, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
  }
  ASSERT_OK(driver_.cuCtxSynchronize());
  EXPECT_EQ(46u, At(launches));
  EXPECT_EQ(53u, At(launches + 4));
  CUdeviceptr second = 0;
  ASSERT_OK(driver_.cuModuleGetGlobal(&second, &bytes, module_, "second"));
  CUdeviceptr held = 0;
  ASSERT_OK(driver_.cuMemcpyDtoH(&held, second, sizeof(held)));
  EXPECT_EQ(launches + 4, held);
}

TEST_F(PtxLaunchTest, WhatTheHostWritesToAVariableTheKernelReads) {
  CUdeviceptr bias = 0;
  size_t bytes = 0;
  ASSERT_OK(driver_.cuModuleGetGlobal(&bias, &bytes, module_, "bias"));
  const unsigned other = 1000;
  ASSERT_OK(driver_.cuMemcpyHtoD(bias, &other, sizeof(other)));
  ASSERT_OK(Scale(out(), block_, 1, nullptr));
  ASSERT_OK(driver_.cuCtxSynchronize());
  EXPECT_EQ(1003u, At(out() + 3 * sizeof(unsigned)));
}

// As documented for cuLinkAddData, another input may define what one input declares .extern.
TEST_F(PtxLaunchTest, LinkedTextsCallEachOther) {
  constexpr char kCaller[] =
      ".version 7.0\n.target sm_70\n.address_size 64\n"
      ".extern .func (.param .b32 result) twice(.param .b32 value);\n"
      ".visible .entry caller(.param .u64 out)\n{\n"
      "  .reg .b32 %r<3>;\n  .reg .b64 %rd<2>;\n  ld.param.u64 %rd1, [out];\n"
      "  { .param .b32 a; st.param.b32 [a], 21; .param .b32 b;\n"
      "    call.uni (b), twice, (a);\n    ld.param.b32 %r1, [b]; }\n"
      "  st.global.u32 [%rd1], %r1;\n  ret;\n}\n";
  constexpr char kCallee[] =
      ".version 7.0\n.target sm_70\n.address_size 64\n"
      ".visible .func (.param .b32 result) twice(.param .b32 value)\n{\n"
      "  .reg .b32 %r<3>;\n  ld.param.b32 %r1, [value];\n  shl.b32 %r2, %r1, 1;\n"
      "  st.param.b32 [result], %r2;\n  ret;\n}\n";
  CUlinkState link = nullptr;
  ASSERT_OK(driver_.cuLinkCreate(0, nullptr, nullptr, &link));
  for (const char* text : {kCaller, kCallee}) {
    // The text has no zero at its end, so the given length determines where it ends.
    ASSERT_OK(driver_.cuLinkAddData(link, CU_JIT_INPUT_PTX, const_cast<char*>(text), strlen(text),
                                    "input", 0, nullptr, nullptr));
  }
  void* image = nullptr;
  size_t size = 0;
  ASSERT_OK(driver_.cuLinkComplete(link, &image, &size));
  CUmodule linked = nullptr;
  CUfunction caller = nullptr;
  ASSERT_OK(driver_.cuModuleLoadData(&linked, image));
  ASSERT_OK(driver_.cuModuleGetFunction(&caller, linked, "caller"));
  CUdeviceptr to = out();
  void* arguments[] = {&to};
  ASSERT_OK(driver_.cuLaunchKernel(caller, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr));
  ASSERT_OK(driver_.cuCtxSynchronize());
  EXPECT_EQ(42u, At(out()));
  EXPECT_OK(driver_.cuModuleUnload(linked));
  EXPECT_OK(driver_.cuLinkDestroy(link));
}

}  // namespace
}  // namespace vramstow::simulator
