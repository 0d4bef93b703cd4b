// The effects of the cuSOLVER stand-in's kernels: argument words to matrices to factors.h.
#include "simulator/runtime/libraries/common/emulation.h"

#include "simulator/runtime/libraries/common/kernels.h"
#include "simulator/runtime/libraries/cusolver/emulations.h"
#include "simulator/runtime/libraries/cusolver/factors.h"

namespace vramstow::simulator {

// NOLINTNEXTLINE(readability-identifier-naming): as common/device.h declares it
extern const char kKernelModule[];
const char kKernelModule[] = VRAMSTOW_KERNEL_MODULE_HEAD VRAMSTOW_KERNEL("cusolver_potrf")
    VRAMSTOW_KERNEL("cusolver_potrf_batched") VRAMSTOW_KERNEL("cusolver_potrs")
        VRAMSTOW_KERNEL("cusolver_potrs_batched") VRAMSTOW_KERNEL("cusolver_getrf")
            VRAMSTOW_KERNEL("cusolver_getrs");

namespace {

constexpr uint64_t kDurationNs = 20000;

int64_t Number(uint64_t word) { return static_cast<int64_t>(word); }

// The matrix at a device address; its data are null if that is no memory.
Matrix MatrixAt(int type, uint64_t address, int64_t rows, int64_t columns, uint64_t leading) {
  Matrix matrix;
  matrix.type = type;
  matrix.leading = Number(leading);
  const size_t bytes = BytesOfMatrix(type, rows, columns, matrix.leading);
  matrix.data = bytes == 0 ? nullptr : DeviceBytes(address, bytes, true);
  return matrix;
}

void Report(uint64_t address, int64_t index, int info) {
  if (address == 0) return;
  void* target =
      DeviceBytes(address + static_cast<uint64_t>(index) * sizeof(int32_t), sizeof(int32_t), true);
  if (target != nullptr) *static_cast<int32_t*>(target) = info;
}

// type, uplo, n, A, lda, info
void Potrf(const EmulationLaunch* launch) {
  const uint64_t* w = WordsOf(launch);
  const Matrix a = MatrixAt(static_cast<int>(w[0]), w[3], Number(w[2]), Number(w[2]), w[4]);
  if (a.data != nullptr) Report(w[5], 0, FactorCholesky(a, w[1] != 0, Number(w[2])));
}

// type, uplo, n, array of A, lda, infos, batch
void PotrfBatched(const EmulationLaunch* launch) {
  const uint64_t* w = WordsOf(launch);
  const auto* addresses =
      static_cast<const uint64_t*>(DeviceBytes(w[3], w[6] * sizeof(uint64_t), false));
  if (addresses == nullptr) return;
  for (int64_t i = 0; i < Number(w[6]); ++i) {
    const Matrix a =
        MatrixAt(static_cast<int>(w[0]), addresses[i], Number(w[2]), Number(w[2]), w[4]);
    if (a.data != nullptr) Report(w[5], i, FactorCholesky(a, w[1] != 0, Number(w[2])));
  }
}

// type, uplo, n, columns, A, lda, B, ldb, info
void Potrs(const EmulationLaunch* launch) {
  const uint64_t* w = WordsOf(launch);
  const int type = static_cast<int>(w[0]);
  const Matrix a = MatrixAt(type, w[4], Number(w[2]), Number(w[2]), w[5]);
  const Matrix b = MatrixAt(type, w[6], Number(w[2]), Number(w[3]), w[7]);
  if (a.data == nullptr || b.data == nullptr) return;
  SolveCholesky(a, w[1] != 0, Number(w[2]), Number(w[3]), b);
  Report(w[8], 0, 0);
}

// type, uplo, n, columns, array of A, lda, array of B, ldb, info, batch
void PotrsBatched(const EmulationLaunch* launch) {
  const uint64_t* w = WordsOf(launch);
  const int type = static_cast<int>(w[0]);
  const size_t bytes = w[9] * sizeof(uint64_t);
  const auto* as = static_cast<const uint64_t*>(DeviceBytes(w[4], bytes, false));
  const auto* bs = static_cast<const uint64_t*>(DeviceBytes(w[6], bytes, false));
  if (as == nullptr || bs == nullptr) return;
  for (int64_t i = 0; i < Number(w[9]); ++i) {
    const Matrix a = MatrixAt(type, as[i], Number(w[2]), Number(w[2]), w[5]);
    const Matrix b = MatrixAt(type, bs[i], Number(w[2]), Number(w[3]), w[7]);
    if (a.data == nullptr || b.data == nullptr) return;
    SolveCholesky(a, w[1] != 0, Number(w[2]), Number(w[3]), b);
  }
  Report(w[8], 0, 0);
}

size_t PivotBytes(int64_t count, uint64_t wide) {
  return static_cast<size_t>(count) * (wide != 0 ? sizeof(int64_t) : sizeof(int32_t));
}

// type, rows, columns, A, lda, pivots, wide, info
void Getrf(const EmulationLaunch* launch) {
  const uint64_t* w = WordsOf(launch);
  const int64_t rows = Number(w[1]);
  const int64_t columns = Number(w[2]);
  const Matrix a = MatrixAt(static_cast<int>(w[0]), w[3], rows, columns, w[4]);
  void* pivots = nullptr;
  if (w[5] != 0) {
    pivots = DeviceBytes(w[5], PivotBytes(rows < columns ? rows : columns, w[6]), true);
    if (pivots == nullptr) return;
  }
  if (a.data != nullptr) Report(w[7], 0, FactorLu(a, rows, columns, pivots, w[6] != 0));
}

// type, transposition, n, columns, A, lda, pivots, wide, B, ldb, info
void Getrs(const EmulationLaunch* launch) {
  const uint64_t* w = WordsOf(launch);
  const int type = static_cast<int>(w[0]);
  const int64_t n = Number(w[2]);
  const Matrix a = MatrixAt(type, w[4], n, n, w[5]);
  const Matrix b = MatrixAt(type, w[8], n, Number(w[3]), w[9]);
  void* pivots = nullptr;
  if (w[6] != 0) {
    pivots = DeviceBytes(w[6], PivotBytes(n, w[7]), false);
    if (pivots == nullptr) return;
  }
  if (a.data == nullptr || b.data == nullptr) return;
  SolveLu(a, static_cast<Transposition>(w[1]), n, pivots, w[7] != 0, Number(w[3]), b);
  Report(w[10], 0, 0);
}

bool RegisterAll() {
  return RegisterEmulation("cusolver_potrf", Potrf, kDurationNs) &&
         RegisterEmulation("cusolver_potrf_batched", PotrfBatched, kDurationNs) &&
         RegisterEmulation("cusolver_potrs", Potrs, kDurationNs) &&
         RegisterEmulation("cusolver_potrs_batched", PotrsBatched, kDurationNs) &&
         RegisterEmulation("cusolver_getrf", Getrf, kDurationNs) &&
         RegisterEmulation("cusolver_getrs", Getrs, kDurationNs);
}

}  // namespace

void RegisterSolverEmulations() {
  static const bool registered = RegisterAll();
  static_cast<void>(registered);  // without them outputs stay as they are
}

}  // namespace vramstow::simulator
