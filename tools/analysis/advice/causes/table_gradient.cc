// A cause of an out-of-memory: the gradient of an embedding, which is as large as its table.
#include <algorithm>
#include <string>
#include <vector>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/changes.h"
#include "tools/analysis/advice/places.h"
#include "tools/analysis/advice/rule.h"

namespace vramstow {
namespace {

bool MakesTableGradient(const FailureMoment& moment, const SiteDetail& site) {
  return site.in_backward && std::ranges::any_of(site.frames, [&](uint32_t number) {
           const std::string& frame = moment.detail().frames[number];
           return frame.starts_with("EmbeddingBackward") ||
                  frame.find("embedding_dense_backward") != std::string::npos;
         });
}

// Finds the gradient of an embedding, which has as many rows as its table.
Found FindTableGradient(const FailureMoment& moment) {
  // If an optimizer allocates blocks for this gradient, other causes report them.
  if (moment.request_site().in_optimizer) return std::nullopt;
  std::vector<const Life*> held;
  for (const Life* life : moment.live()) {
    if (life->tensor && MakesTableGradient(moment, moment.site_of(*life))) held.push_back(life);
  }
  const bool asks = MakesTableGradient(moment, moment.request_site());
  Cause cause;
  cause.bytes = BytesOf(held) + (asks ? moment.requested() : 0);
  // moment.room() is 0 if the memory that the process can have is unknown.
  if (cause.bytes == 0 || cause.bytes * 4 < moment.room()) return std::nullopt;
  cause.change = Without(moment.detail(), held);
  if (asks) cause.change.requested = 0;
  cause.held = held;
  cause.is_estimate = true;
  cause.title = "The gradient of an embedding is as large as its table";
  cause.place = asks ? PlaceOfRequest(moment) : PlaceInProgram(moment, held);
  cause.evidence = "The backward pass of an embedding allocated " + AdviceText(cause.bytes) +
                   ": a row for each row of the table, although a batch reads only a few of them.";
  cause.cost = "Not every optimizer supports sparse gradients.";
  cause.action =
      "Use nn.Embedding(..., sparse=True) with an optimizer that supports it (SparseAdam, SGD, "
      "Adagrad), or keep the table on the host.";
  return cause;
}

}  // namespace

constinit const Rule kTableGradient = {
    .rank = Rank::kTrade,
    .meaning = "the gradient of an embedding, which is as large as its table",
    .help =
        "The backward pass of an embedding allocated a gradient with a row for each row of the "
        "table, although a batch reads only a few of them. Use nn.Embedding(..., sparse=True) with "
        "an optimizer that supports it, or keep the table on the host.",
    .needs = {kNeedsBackwardPass, kNeedsRequestOfProgram},
    .cause = FindTableGradient,
};

}  // namespace vramstow
