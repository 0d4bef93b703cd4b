// Tests that NCCL's operations give true data, for any size, in the order of their streams.
#include <cuda_fp8.h>

#include <unistd.h>

#include <cmath>
#include <memory>
#include <thread>

#include "tests/libraries/nccl_fixture.h"

namespace vramstow {
namespace {

using NcclCollectives = NcclTest;
constexpr size_t kCount = 5000;  // several rounds of an odd size

TEST_F(NcclCollectives, AllReduceAddsAcrossRanksOverSeveralRounds) {
  Connect();
  RankMemory<float> one(contexts_[0], Count(0, kCount));
  RankMemory<float> other(contexts_[1], Count(100, kCount));
  const RankMemory<float>* memory[] = {&one, &other};
  Together([&](int rank) {
    return ncclAllReduce(memory[rank]->data(), memory[rank]->data(), kCount, ncclFloat, ncclSum,
                         comms_[rank], streams_[rank]);
  });
  std::vector<float> expected(kCount);
  for (size_t i = 0; i < kCount; ++i) expected[i] = 100 + 2 * static_cast<float>(i);
  EXPECT_EQ(one.Read(), expected);
  EXPECT_EQ(other.Read(), expected);
}

// A fixture for each data type, whose test combines 3 and 5 by every operation.
template <typename T>
class NcclTypes : public NcclTest {};

struct HalfType {
  using Stored = uint16_t;  // compared by their bits
  static constexpr ncclDataType_t kType = ncclHalf;
  static Stored Of(float value) { return __half_as_ushort(__float2half_rn(value)); }
};
struct BrainType {
  using Stored = uint16_t;
  static constexpr ncclDataType_t kType = ncclBfloat16;
  static Stored Of(float value) { return __bfloat16_as_ushort(__float2bfloat16_rn(value)); }
};
struct EighthType {
  using Stored = uint8_t;
  static constexpr ncclDataType_t kType = ncclFloat8e4m3;
  static Stored Of(float value) { return __nv_cvt_float_to_fp8(value, __NV_SATFINITE, __NV_E4M3); }
};
template <typename T, ncclDataType_t kNcclType>
struct PlainType {
  using Stored = T;
  static constexpr ncclDataType_t kType = kNcclType;
  static T Of(float value) { return static_cast<T>(value); }
};

using Types = ::testing::Types<PlainType<float, ncclFloat>, PlainType<double, ncclDouble>,
                               PlainType<int8_t, ncclInt8>, PlainType<uint8_t, ncclUint8>,
                               PlainType<int32_t, ncclInt32>, PlainType<uint32_t, ncclUint32>,
                               PlainType<int64_t, ncclInt64>, PlainType<uint64_t, ncclUint64>,
                               HalfType, BrainType, EighthType>;
TYPED_TEST_SUITE(NcclTypes, Types);

TYPED_TEST(NcclTypes, EveryOperation) {
  this->Connect();
  const std::pair<ncclRedOp_t, float> cases[] = {
      {ncclSum, 8}, {ncclProd, 15}, {ncclMax, 5}, {ncclMin, 3}, {ncclAvg, 4}};
  for (const auto& [each, expected] : cases) {
    const ncclRedOp_t operation = each;  // a lambda cannot capture the binding in every compiler
    using Stored = typename TypeParam::Stored;
    RankMemory<Stored> three(this->contexts_[0], std::vector<Stored>(7, TypeParam::Of(3)));
    RankMemory<Stored> five(this->contexts_[1], std::vector<Stored>(7, TypeParam::Of(5)));
    const RankMemory<Stored>* memory[] = {&three, &five};
    this->Together([&](int rank) {
      return ncclAllReduce(memory[rank]->data(), memory[rank]->data(), 7, TypeParam::kType,
                           operation, this->comms_[rank], this->streams_[rank]);
    });
    EXPECT_EQ(five.Read(), std::vector<Stored>(7, TypeParam::Of(expected))) << operation;
    EXPECT_EQ(three.Read(), five.Read());
  }
}

TEST_F(NcclCollectives, TheLargestAndTheSmallestNumberIgnoreNanOfAnyRank) {
  Connect();
  const float nan = std::nanf("");
  for (const ncclRedOp_t operation : {ncclMax, ncclMin}) {
    RankMemory<float> one(contexts_[0], {nan, 2, 3});
    RankMemory<float> other(contexts_[1], {1, nan, 3});
    const RankMemory<float>* memory[] = {&one, &other};
    Together([&](int rank) {
      return ncclAllReduce(memory[rank]->data(), memory[rank]->data(), 3, ncclFloat, operation,
                           comms_[rank], streams_[rank]);
    });
    EXPECT_EQ(one.Read(), (std::vector<float>{1, 2, 3})) << operation;
    EXPECT_EQ(other.Read(), one.Read());
  }
}

TEST_F(NcclCollectives, TheRootGetsAReductionAndSendsABroadcast) {
  Connect();
  RankMemory<float> one(contexts_[0], Count(0, kCount));
  RankMemory<float> other(contexts_[1], Count(7, kCount));
  const RankMemory<float>* memory[] = {&one, &other};
  Together([&](int rank) {
    return ncclReduce(memory[rank]->data(), memory[rank]->data(), kCount, ncclFloat, ncclMax, 1,
                      comms_[rank], streams_[rank]);
  });
  EXPECT_EQ(one.Read(), Count(0, kCount));
  EXPECT_EQ(other.Read(), Count(7, kCount));
  Together([&](int rank) {
    return ncclBroadcast(memory[rank]->data(), memory[rank]->data(), kCount, ncclFloat, 1,
                         comms_[rank], streams_[rank]);
  });
  EXPECT_EQ(one.Read(), Count(7, kCount));
}

TEST_F(NcclCollectives, AllGatherAndReduceScatterAreOpposites) {
  Connect();
  const std::vector<float> parts[] = {Count(0, kCount), Count(5000, kCount)};
  RankMemory<float> from0(contexts_[0], parts[0]);
  RankMemory<float> from1(contexts_[1], parts[1]);
  RankMemory<float> to0(contexts_[0], std::vector<float>(2 * kCount));
  RankMemory<float> to1(contexts_[1], std::vector<float>(2 * kCount));
  const RankMemory<float>* from[] = {&from0, &from1};
  const RankMemory<float>* to[] = {&to0, &to1};
  Together([&](int rank) {
    return ncclAllGather(from[rank]->data(), to[rank]->data(), kCount, ncclFloat, comms_[rank],
                         streams_[rank]);
  });
  EXPECT_EQ(to0.Read(), Count(0, 2 * kCount));
  EXPECT_EQ(to1.Read(), Count(0, 2 * kCount));
  Together([&](int rank) {
    return ncclReduceScatter(to[rank]->data(), from[rank]->data(), kCount, ncclFloat, ncclAvg,
                             comms_[rank], streams_[rank]);
  });
  EXPECT_EQ(from0.Read(), parts[0]);
  EXPECT_EQ(from1.Read(), parts[1]);
}

TEST_F(NcclCollectives, SendsAndReceivesOfOneGroupProgressTogether) {
  Connect();
  RankMemory<float> from0(contexts_[0], Count(0, kCount));
  RankMemory<float> from1(contexts_[1], Count(9000, kCount));
  RankMemory<float> to0(contexts_[0], std::vector<float>(kCount));
  RankMemory<float> to1(contexts_[1], std::vector<float>(kCount));
  const RankMemory<float>* from[] = {&from0, &from1};
  const RankMemory<float>* to[] = {&to0, &to1};
  const size_t half = kCount / 2;
  Together([&](int rank) {
    for (size_t begin : {size_t{0}, half}) {
      ncclSend(from[rank]->data() + begin, half, ncclFloat, 1 - rank, comms_[rank], streams_[rank]);
      ncclRecv(to[rank]->data() + begin, half, ncclFloat, 1 - rank, comms_[rank], streams_[rank]);
    }
    return ncclSuccess;
  });
  EXPECT_EQ(to0.Read(), Count(9000, kCount));
  EXPECT_EQ(to1.Read(), Count(0, kCount));
}

TEST_F(NcclCollectives, ARankMaySendToItself) {
  Connect();
  RankMemory<float> from(contexts_[0], Count(1, kCount));
  RankMemory<float> to(contexts_[0], std::vector<float>(kCount));
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  EXPECT_EQ(ncclSend(from.data(), kCount, ncclFloat, 0, comms_[0], streams_[0]), ncclSuccess);
  EXPECT_EQ(ncclRecv(to.data(), kCount, ncclFloat, 0, comms_[0], streams_[0]), ncclSuccess);
  ASSERT_EQ(ncclGroupEnd(), ncclSuccess);
  Wait();
  EXPECT_EQ(to.Read(), Count(1, kCount));
}

TEST_F(NcclCollectives, RanksInThreadsNeedNoGroup) {
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  std::vector<std::thread> threads;
  std::vector<float> results[kRanks];
  for (int rank = 0; rank < kRanks; ++rank) {
    threads.emplace_back([&, rank] {
      cuCtxSetCurrent(contexts_[rank]);
      ASSERT_EQ(ncclCommInitRank(&comms_[rank], kRanks, id, rank), ncclSuccess);
      RankMemory<float> memory(contexts_[rank], Count(static_cast<float>(rank), 10));
      for (int i = 0; i < 50; ++i) {
        ASSERT_EQ(ncclAllReduce(memory.data(), memory.data(), 10, ncclFloat, ncclMax, comms_[rank],
                                streams_[rank]),
                  ncclSuccess);
      }
      ASSERT_EQ(cuStreamSynchronize(streams_[rank]), CUDA_SUCCESS);
      results[rank] = memory.Read();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(results[0], Count(1, 10));
  EXPECT_EQ(results[1], Count(1, 10));
}

TEST_F(NcclCollectives, EachRanksOwnFactorIsAppliedBeforeTheSum) {
  Connect();
  RankMemory<float> one(contexts_[0], {1, 2});
  RankMemory<float> other(contexts_[1], {1, 2});
  RankMemory<float> factor(contexts_[1], {10});
  const RankMemory<float>* memory[] = {&one, &other};
  float three = 3;
  ncclRedOp_t operations[kRanks];
  ASSERT_EQ(ncclRedOpCreatePreMulSum(&operations[0], &three, ncclFloat, ncclScalarHostImmediate,
                                     comms_[0]),
            ncclSuccess);
  ASSERT_EQ(ncclRedOpCreatePreMulSum(&operations[1], factor.data(), ncclFloat, ncclScalarDevice,
                                     comms_[1]),
            ncclSuccess);
  Together([&](int rank) {
    return ncclAllReduce(memory[rank]->data(), memory[rank]->data(), 2, ncclFloat, operations[rank],
                         comms_[rank], streams_[rank]);
  });
  EXPECT_EQ(one.Read(), (std::vector<float>{13, 26}));
  EXPECT_EQ(other.Read(), (std::vector<float>{13, 26}));
  for (int rank = 0; rank < kRanks; ++rank) {
    EXPECT_EQ(ncclRedOpDestroy(operations[rank], comms_[rank]), ncclSuccess);
    EXPECT_EQ(ncclAllReduce(one.data(), one.data(), 2, ncclFloat, operations[rank], comms_[rank],
                            streams_[rank]),
              ncclInvalidArgument);
  }
}

TEST_F(NcclCollectives, ACapturedOperationRunsAgainWithEachLaunch) {
  Connect();
  RankMemory<float> one(contexts_[0], {1});
  RankMemory<float> other(contexts_[1], {2});
  const RankMemory<float>* memory[] = {&one, &other};
  CUgraphExec launchable[kRanks];
  for (int rank = 0; rank < kRanks; ++rank) {
    cuCtxSetCurrent(contexts_[rank]);
    CUgraph graph = nullptr;
    ASSERT_EQ(cuStreamBeginCapture(streams_[rank], CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
    EXPECT_EQ(ncclAllReduce(memory[rank]->data(), memory[rank]->data(), 1, ncclFloat, ncclSum,
                            comms_[rank], streams_[rank]),
              ncclSuccess);
    ASSERT_EQ(cuStreamEndCapture(streams_[rank], &graph), CUDA_SUCCESS);
    ASSERT_EQ(cuGraphInstantiate(&launchable[rank], graph, 0), CUDA_SUCCESS);
    cuGraphDestroy(graph);
  }
  for (int launch = 0; launch < 3; ++launch) {
    for (int rank = 0; rank < kRanks; ++rank) {
      cuCtxSetCurrent(contexts_[rank]);
      ASSERT_EQ(cuGraphLaunch(launchable[rank], streams_[rank]), CUDA_SUCCESS);
    }
  }
  Wait();
  EXPECT_EQ(one.Read(), std::vector<float>{12});  // 3, 6, 12
  EXPECT_EQ(other.Read(), std::vector<float>{12});
  for (CUgraphExec each : launchable) cuGraphExecDestroy(each);
}

// Operations of one communicator on two streams of each rank.
class NcclOrder : public NcclTest {
 protected:
  void SetUp() override {
    NcclTest::SetUp();
    Connect();
    for (int rank = 0; rank < kRanks; ++rank) {
      cuCtxSetCurrent(contexts_[rank]);
      ASSERT_EQ(cuStreamCreate(&others_[rank], CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
      ASSERT_EQ(cuEventCreate(&events_[rank], CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
      const auto value = static_cast<float>(rank + 1);
      first_[rank] = std::make_unique<RankMemory<float>>(contexts_[rank], Many(value));
      second_[rank] = std::make_unique<RankMemory<float>>(contexts_[rank], Many(10 * value));
    }
  }

  void TearDown() override {
    for (int rank = 0; rank < kRanks; ++rank) {
      cuCtxSetCurrent(contexts_[rank]);
      if (launchable_[rank] != nullptr) cuGraphExecDestroy(launchable_[rank]);
      cuEventDestroy(events_[rank]);
      cuStreamDestroy(others_[rank]);
      first_[rank].reset();
      second_[rank].reset();
    }
    NcclTest::TearDown();
  }

  static std::vector<float> Many(float value) { return std::vector<float>(100, value); }

  void Add(const RankMemory<float>& memory, int rank, CUstream stream) {
    cuCtxSetCurrent(contexts_[rank]);
    EXPECT_EQ(
        ncclAllReduce(memory.data(), memory.data(), 100, ncclFloat, ncclSum, comms_[rank], stream),
        ncclSuccess);
  }

  // Makes a graph of each rank from what `function(rank)` submits to its first stream.
  template <typename Function>
  void Capture(const Function& function) {
    for (int rank = 0; rank < kRanks; ++rank) {
      cuCtxSetCurrent(contexts_[rank]);
      CUgraph graph = nullptr;
      ASSERT_EQ(cuStreamBeginCapture(streams_[rank], CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
      function(rank);
      ASSERT_EQ(cuStreamEndCapture(streams_[rank], &graph), CUDA_SUCCESS);
      ASSERT_EQ(cuGraphInstantiate(&launchable_[rank], graph, 0), CUDA_SUCCESS);
      cuGraphDestroy(graph);
    }
  }

  void Launch(int rank) {
    cuCtxSetCurrent(contexts_[rank]);
    EXPECT_EQ(cuGraphLaunch(launchable_[rank], streams_[rank]), CUDA_SUCCESS);
  }

  // Lets the stream of rank 0 run its later work long after that of rank 1.
  static void Delay(int rank, CUstream stream) {
    if (rank == 0)
      cuLaunchHostFunc(
          stream, [](void*) { usleep(50000); }, nullptr);
  }

  void ExpectSums() {
    for (int rank = 0; rank < kRanks; ++rank) {
      cuCtxSetCurrent(contexts_[rank]);
      ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
      EXPECT_EQ(first_[rank]->Read(), Many(3));
      EXPECT_EQ(second_[rank]->Read(), Many(30));
    }
  }

  CUstream others_[kRanks] = {};
  CUevent events_[kRanks] = {};
  CUgraphExec launchable_[kRanks] = {};
  std::unique_ptr<RankMemory<float>> first_[kRanks];
  std::unique_ptr<RankMemory<float>> second_[kRanks];
};

TEST_F(NcclOrder, AGraphWaitsForTheOperationBeforeIt) {
  Capture([&](int rank) { Add(*second_[rank], rank, streams_[rank]); });
  for (int rank = 0; rank < kRanks; ++rank) {
    cuCtxSetCurrent(contexts_[rank]);
    Delay(rank, others_[rank]);
    Add(*first_[rank], rank, others_[rank]);
    Launch(rank);
  }
  ExpectSums();
}

TEST_F(NcclOrder, AnOperationWaitsForTheGraphBeforeIt) {
  Capture([&](int rank) { Add(*first_[rank], rank, streams_[rank]); });
  for (int rank = 0; rank < kRanks; ++rank) {
    cuCtxSetCurrent(contexts_[rank]);
    Delay(rank, streams_[rank]);
    Launch(rank);
    Add(*second_[rank], rank, others_[rank]);
  }
  ExpectSums();
}

TEST_F(NcclOrder, ADestroyedCommunicatorRunsTheGraphThatWasLaunchedBefore) {
  Capture([&](int rank) {
    Add(*first_[rank], rank, streams_[rank]);
    Add(*second_[rank], rank, streams_[rank]);
  });
  for (int rank = 0; rank < kRanks; ++rank) {
    cuCtxSetCurrent(contexts_[rank]);
    Delay(rank, streams_[rank]);
    Launch(rank);
    EXPECT_EQ(cuGraphExecDestroy(launchable_[rank]), CUDA_SUCCESS);
    launchable_[rank] = nullptr;
  }
  for (ncclComm_t& comm : comms_) {
    EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
    comm = nullptr;
  }
  ExpectSums();
}

TEST_F(NcclOrder, OperationsOfOneGraphOnTwoStreamsRunInTheOrderOfTheirCalls) {
  constexpr int kPairs = 8;
  Capture([&](int rank) {
    for (int pair = 0; pair < kPairs; ++pair) {
      EXPECT_EQ(cuEventRecord(events_[rank], streams_[rank]), CUDA_SUCCESS);
      EXPECT_EQ(cuStreamWaitEvent(others_[rank], events_[rank], 0), CUDA_SUCCESS);
      Add(*first_[rank], rank, streams_[rank]);
      Add(*second_[rank], rank, others_[rank]);
      EXPECT_EQ(cuEventRecord(events_[rank], others_[rank]), CUDA_SUCCESS);
      EXPECT_EQ(cuStreamWaitEvent(streams_[rank], events_[rank], 0), CUDA_SUCCESS);
    }
  });
  for (int rank = 0; rank < kRanks; ++rank) Launch(rank);
  for (int rank = 0; rank < kRanks; ++rank) {
    cuCtxSetCurrent(contexts_[rank]);
    ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
    EXPECT_EQ(first_[rank]->Read(), Many(3 << (kPairs - 1)));
    EXPECT_EQ(second_[rank]->Read(), Many(30 << (kPairs - 1)));
  }
}

TEST_F(NcclCollectives, WrongArgumentsAreRefusedAndAGroupWithOneDoesNothing) {
  Connect();
  RankMemory<float> memory(contexts_[0], {1});
  EXPECT_EQ(ncclAllReduce(nullptr, memory.data(), 1, ncclFloat, ncclSum, comms_[0], streams_[0]),
            ncclInvalidArgument);
  EXPECT_EQ(
      ncclAllReduce(memory.data(), memory.data(), 1, ncclNumTypes, ncclSum, comms_[0], streams_[0]),
      ncclInvalidArgument);
  EXPECT_EQ(ncclBroadcast(memory.data(), memory.data(), 1, ncclFloat, 2, comms_[0], streams_[0]),
            ncclInvalidArgument);
  EXPECT_EQ(ncclAllReduce(nullptr, nullptr, 0, ncclFloat, ncclSum, comms_[0], streams_[0]),
            ncclSuccess);
  EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage);
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  EXPECT_EQ(ncclSend(memory.data(), 1, ncclFloat, 1, comms_[0], streams_[0]), ncclSuccess);
  EXPECT_EQ(ncclSend(memory.data(), 1, ncclFloat, 9, comms_[0], streams_[0]), ncclInvalidArgument);
  EXPECT_EQ(ncclGroupEnd(), ncclInvalidArgument);
  Wait();  // nothing was queued that no rank receives
}

}  // namespace
}  // namespace vramstow
