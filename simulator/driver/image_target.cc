#include "simulator/driver/image_target.h"

namespace vramstow::simulator {
namespace {

// The newest PTX version of each version of CUDA. For a version of CUDA without a row, the row of
// the next older version is used.
constexpr struct {
  int cuda;
  uint32_t ptx;
} kPtxVersions[] = {
    {11000, 70}, {11010, 71}, {11020, 72}, {11030, 73}, {11040, 74}, {11050, 75}, {11060, 76},
    {11070, 77}, {11080, 78}, {12000, 80}, {12010, 81}, {12020, 82}, {12030, 83}, {12040, 84},
    {12050, 85}, {12070, 86}, {12080, 87}, {12090, 88}, {13000, 90}, {13010, 91}, {13020, 92},
};

uint32_t NewestPtxOf(int cuda_version) {
  uint32_t newest = 0;
  for (const auto& row : kPtxVersions) {
    if (row.cuda <= cuda_version) newest = row.ptx;
  }
  // If CUDA is newer than this table, no PTX version is refused.
  const auto& last = kPtxVersions[sizeof(kPtxVersions) / sizeof(kPtxVersions[0]) - 1];
  return cuda_version > last.cuda ? UINT32_MAX : newest;
}

}  // namespace

ImageTarget::ImageTarget(uint32_t capability, int cuda_version)
    : capability_(capability), ptx_version_(NewestPtxOf(cuda_version)) {}

bool ImageTarget::Runs(Architecture code) const {
  if (code.number == 0) return true;
  return code.number / 10 == capability_ / 10 && code.number <= capability_;
}

bool ImageTarget::Compiles(Architecture ptx) const {
  if (ptx.suffix == 'a') return ptx.number == capability_;
  if (ptx.suffix == 'f') return Runs(ptx);
  return ptx.number <= capability_;
}

}  // namespace vramstow::simulator
