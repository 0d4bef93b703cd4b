// Tests a rank whose peers do not exist (world= in the SPEC): it continues as if its peers did the
// same as the rank itself.
#include "tests/libraries/nccl_fixture.h"

namespace vramstow {
namespace {

constexpr int kWorld = 8;
constexpr int kOwn = 2;  // this rank; the first is absent

class NcclAbsent : public NcclTest {
 protected:
  void SetUp() override {
    NcclTest::SetUp();
    ncclUniqueId id;
    ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
    ASSERT_EQ(cuCtxSetCurrent(contexts_[0]), CUDA_SUCCESS);
    ASSERT_EQ(ncclCommInitRank(&comms_[0], kWorld, id, kOwn), ncclSuccess);
  }

  // Calls call(send, receive) with `own` as the data to send, and a receive buffer of `elements`
  // elements that are all 9 before the call. Returns the receive buffer.
  template <typename Function>
  std::vector<float> After(const std::vector<float>& own, size_t elements, const Function& call) {
    RankMemory<float> send(contexts_[0], own);
    RankMemory<float> receive(contexts_[0], std::vector<float>(elements, 9));
    EXPECT_EQ(call(send.data(), receive.data()), ncclSuccess);
    EXPECT_EQ(cuStreamSynchronize(streams_[0]), CUDA_SUCCESS);
    EXPECT_EQ(AsyncError(0), ncclSuccess);
    return receive.Read();
  }
};

TEST_F(NcclAbsent, AReductionIsThatOfEqualParts) {
  const auto reduce = [&](ncclRedOp_t operation) {
    return After({3, 2}, 2, [&](float* send, float* receive) {
      return ncclAllReduce(send, receive, 2, ncclFloat, operation, comms_[0], streams_[0]);
    });
  };
  EXPECT_EQ(reduce(ncclSum), std::vector<float>({24, 16}));
  EXPECT_EQ(reduce(ncclProd), std::vector<float>({6561, 256}));
  EXPECT_EQ(reduce(ncclMax), std::vector<float>({3, 2}));
  EXPECT_EQ(reduce(ncclAvg), std::vector<float>({3, 2}));
  ncclRedOp_t half = ncclSum;
  float scalar = 0.5;
  ASSERT_EQ(ncclRedOpCreatePreMulSum(&half, &scalar, ncclFloat, ncclScalarHostImmediate, comms_[0]),
            ncclSuccess);
  EXPECT_EQ(reduce(half), std::vector<float>({12, 8}));
}

TEST_F(NcclAbsent, GathersHaveTheOwnPartAndScattersIt) {
  EXPECT_EQ(After({1, 2}, 2 * kWorld,
                  [&](float* send, float* receive) {
                    return ncclAllGather(send, receive, 2, ncclFloat, comms_[0], streams_[0]);
                  }),
            std::vector<float>({1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2}));
  EXPECT_EQ(After(Count(0, kWorld), 1,
                  [&](float* send, float* receive) {
                    return ncclReduceScatter(send, receive, 1, ncclFloat, ncclSum, comms_[0],
                                             streams_[0]);
                  }),
            std::vector<float>({kWorld * kOwn}));
  EXPECT_EQ(After(Count(0, kWorld), kWorld,
                  [&](float* send, float* receive) {
                    return ncclAlltoAll(send, receive, 1, ncclFloat, comms_[0], streams_[0]);
                  }),
            std::vector<float>(kWorld, kOwn));
}

TEST_F(NcclAbsent, LargeOperationsAreTasks) {
  constexpr size_t kElements = 300'000;  // more than a slot
  const std::vector<float> sum =
      After(std::vector<float>(kElements, 2), kElements, [&](float* send, float* receive) {
        return ncclAllReduce(send, receive, kElements, ncclFloat, ncclSum, comms_[0], streams_[0]);
      });
  EXPECT_EQ(sum, std::vector<float>(kElements, 2 * kWorld));
}

TEST_F(NcclAbsent, WhatTheFirstRankBroadcastsIsThereAlready) {
  EXPECT_EQ(After({1}, 1,
                  [&](float* send, float* receive) {
                    return ncclBroadcast(send, receive, 1, ncclFloat, 0, comms_[0], streams_[0]);
                  }),
            std::vector<float>({9}));
  EXPECT_EQ(After({1}, 1,
                  [&](float* send, float* receive) {
                    return ncclBroadcast(send, receive, 1, ncclFloat, kOwn, comms_[0], streams_[0]);
                  }),
            std::vector<float>({1}));
}

TEST_F(NcclAbsent, AMessageIsTheOneThatGoesThereElseZeros) {
  EXPECT_EQ(After({5}, 1,
                  [&](float* send, float* receive) {
                    ncclGroupStart();
                    ncclSend(send, 1, ncclFloat, 7, comms_[0], streams_[0]);
                    ncclRecv(receive, 1, ncclFloat, 7, comms_[0], streams_[0]);
                    return ncclGroupEnd();
                  }),
            std::vector<float>({5}));
  EXPECT_EQ(After({5}, 2,
                  [&](float*, float* receive) {
                    return ncclRecv(receive, 2, ncclFloat, 1, comms_[0], streams_[0]);
                  }),
            std::vector<float>({0, 0}));
}

TEST_F(NcclAbsent, NobodyKnowsWhoElseHasAColor) {
  ncclComm_t child = nullptr;
  EXPECT_EQ(ncclCommSplit(comms_[0], 0, kOwn, &child, nullptr), ncclInvalidUsage);
  EXPECT_EQ(child, nullptr);
  int excluded[] = {0, 1};
  ASSERT_EQ(ncclCommShrink(comms_[0], excluded, 2, &child, nullptr, NCCL_SHRINK_DEFAULT),
            ncclSuccess);
  int count = 0;
  EXPECT_EQ(ncclCommCount(child, &count), ncclSuccess);
  EXPECT_EQ(count, kWorld - 2);
  EXPECT_EQ(ncclCommDestroy(child), ncclSuccess);
}

TEST_F(NcclAbsent, RanksOfOneProcessAreThere) {
  ncclComm_t both[kRanks] = {};
  ASSERT_EQ(ncclCommInitAll(both, kRanks, nullptr), ncclSuccess);
  RankMemory<float> one(contexts_[0], {1});
  RankMemory<float> other(contexts_[1], {10});
  ncclGroupStart();
  ncclAllReduce(one.data(), one.data(), 1, ncclFloat, ncclSum, both[0], streams_[0]);
  ncclAllReduce(other.data(), other.data(), 1, ncclFloat, ncclSum, both[1], streams_[1]);
  ASSERT_EQ(ncclGroupEnd(), ncclSuccess);
  Wait();
  EXPECT_EQ(one.Read(), std::vector<float>({11}));
  for (ncclComm_t comm : both) EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
}

}  // namespace
}  // namespace vramstow
