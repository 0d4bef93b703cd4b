#include "tools/exports/parquet.h"

#include <filesystem>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tools/base/progress.h"
#include "tools/exports/column_stream.h"
#include "tools/exports/python_helper.h"

namespace vramstow {
namespace {

int64_t RankOf(const EventSource& source, size_t position) {
  int64_t rank = static_cast<int64_t>(position);
  const auto fact = source.facts().find("process.rank");
  if (fact != source.facts().end() && !absl::SimpleAtoi(fact->second, &rank)) {
    rank = static_cast<int64_t>(position);
  }
  return rank;
}

absl::Status SendAll(const ParquetJob& job, int to_helper, bool* lost) {
  ColumnStream stream(to_helper);
  for (size_t i = 0; i < job.files.size(); ++i) {
    Progress::OfProcess().Begin(
        absl::StrCat("writing ", std::filesystem::path(job.files[i]).filename().string()), i,
        job.files.size());
    auto source = job.open(job.files[i]);
    if (!source.ok()) return source.status();
    const std::string name = std::filesystem::path(job.files[i]).stem().string();
    if (!stream.Write(source->get(), RankOf(**source, i), name)) {
      *lost = true;
      return absl::OkStatus();
    }
    job.finished(job.files[i], **source);
  }
  *lost = !stream.End();
  return absl::OkStatus();
}

}  // namespace

absl::Status WriteParquet(const ParquetJob& job) {
  std::error_code error;
  if (std::filesystem::exists(job.folder, error) && !std::filesystem::is_empty(job.folder, error)) {
    return absl::AlreadyExistsError(
        absl::StrCat(job.folder, " exists already and is not empty: name another folder."));
  }
  auto helper = PythonHelper::Start({.file = job.helper,
                                     .arguments = {job.folder},
                                     .package = "pyarrow",
                                     .what = "Parquet",
                                     .target = job.folder});
  if (!helper.ok()) return helper.status();
  bool lost = false;
  const absl::Status sent = SendAll(job, (*helper)->input(), &lost);
  const absl::Status helped = (*helper)->Finish();
  if (!sent.ok()) return sent;
  if (!helped.ok() || !lost) return helped;
  return absl::UnavailableError(absl::StrCat("cannot write ", job.folder, "."));
}

}  // namespace vramstow
