// Walk searches from everything that a program can reach to the memory of its tensors, by the
// shortest chains.
//
// Idea: this is a breadth-first search in several stages. Chains from the variables of the
// program's own functions are the easiest to read, so everything that they lead to is found first;
// then come the program's globals, handled exceptions, and libraries, and a notebook's history
// last. Classes and modules are not followed from their objects, because everything leads to them.
// Objects report their references by tp_traverse, as they do to the collector, so no code of the
// program runs. A tensor that is not found in this way may be a value of an unfinished expression;
// a separate search finds such tensors.
//
// Ownership: borrowed pointers, valid while the interpreter's lock is held. Threads: one. Errors:
// if time or memory runs out, why_stopped() returns the reason. Units: bytes, nanoseconds.
#ifndef VRAMSTOW_ADAPTERS_TORCH_CENSUS_WALK_H_
#define VRAMSTOW_ADAPTERS_TORCH_CENSUS_WALK_H_

#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "adapters/torch/census/deadline.h"
#include "adapters/torch/census/graph.h"
#include "adapters/torch/census/history.h"
#include "adapters/torch/census/interpreter.h"
#include "adapters/torch/census/object_arrays.h"
#include "adapters/torch/census/seen.h"

namespace vramstow::torch_census {

enum class RootKind : uint8_t {
  kLocal,
  kGlobal,
  kHandled,
  kLibraryLocal,
  kLibraryGlobal,
  kExpression  // a value that no variable holds yet
};

struct Root {
  RootKind kind;
  Object* where;     // a module's name or an exception; null for a frame
  int variable = 0;  // the variable's number in the frame
  Frame frame{nullptr};
};

enum class ObjectKind : uint8_t { kPlain, kTensor, kModel, kOptimizer, kContext, kApart };

// A piece of memory, and the entry of the tensor through which the search found it.
struct Found {
  Memory memory;
  EntryIndex place;
  bool is_in_models = false;  // the entry is one of models()
};

class Walk {
 public:
  // `failing` is a thread that does not run during the search, or null if there is no such thread;
  // `working` is the id of that thread. `held_bytes` is the memory of all tensors, as requested, or
  // 0 if it is unknown. The search ends when it has found this much memory.
  Walk(PyThreadState* failing, int working, uint64_t held_bytes, const Deadline& deadline);
  Walk(const Walk&) = delete;
  Walk& operator=(const Walk&) = delete;

  // Searches for tensors from the program's variables on.
  void Run();
  // Searches for tensors from intermediate values on: values of expressions that Python is
  // computing and that no variable holds yet. Call either this function or Run. The objects in
  // `dead` do not count as intermediate values. Python's garbage collector must not be running.
  void RunExpressions(const std::vector<Object*>& dead);

  const std::unordered_map<uint64_t, Found>& found() const { return found_; }
  const Seen& all() const { return all_; }
  // Returns the parts of models, which are found before anything else.
  const Seen& models() const { return models_; }
  // Returns the optimizers that the program holds outside its models. If knows_optimizers() is
  // true, the program has no other ones.
  const std::vector<Object*>& optimizers() const { return optimizers_; }
  bool knows_optimizers() const { return knows_optimizers_; }
  const Root& root(EntryIndex number) const { return roots_[number]; }
  uint64_t found_bytes() const { return found_bytes_; }
  uint64_t objects() const { return all_.size(); }
  uint64_t busy_nodes() const { return busy_nodes_; }
  // Returns null if everything was visited, or enough was found.
  const char* why_stopped() const;

  ObjectKind KindOf(Type* type);
  const ObjectArrays& arrays() const { return arrays_; }
  const History& history() const { return history_; }

 private:
  static constexpr size_t kMaxOfModels = 60'000;
  // The owner of a function: the program, comprehensions and lambdas in it, or libraries.
  enum class Of : uint8_t { kProgram, kComprehensions, kLibraries };

  static int VisitObject(Object* child, void* self);
  void AddObject(Object* child);
  void AddRoot(Root root, Object* value);
  static Of OfCode(const Code& code);
  void AddFrames(PyThreadState* thread, Of of);
  void AddVariables(const Frame& frame, Of of);
  void AddThreads(Of of);
  void AddHandled();
  void AddExpressions(const std::unordered_set<const Object*>& dead);
  void MarkModules();
  void ExpandModules(RootKind kind);
  void FindModels();
  void AddHistoryOf(Object* dict);
  void FollowHistory();
  void Follow();
  void Expand(EntryIndex place);
  void ExpandObject(Object* object);
  void ExpandModel(Object* model);
  void ExpandImpl(Impl* impl);
  void AddImpl(Impl* impl);
  bool IsPartOfModel() const;
  bool MayLeadToModel(Object* child, ObjectKind kind) const;
  bool IsOver();

  PyThreadState* const failing_;
  const int working_;
  const uint64_t held_bytes_;
  const Deadline deadline_;
  const ObjectArrays arrays_;
  const History history_;
  Seen all_;
  Seen models_{kMaxOfModels};
  Seen* seen_ = &all_;  // the object to which entries are added now
  std::vector<Root> roots_;
  std::vector<Object*> optimizers_;
  bool knows_optimizers_ = false;
  std::vector<EntryIndex> module_dicts_;
  std::unordered_map<uint64_t, Found> found_;
  std::unordered_map<Type*, ObjectKind> kinds_;
  uint64_t found_bytes_ = 0;
  uint64_t busy_nodes_ = 0;
  uint64_t steps_ = 0;
  bool is_late_ = false;
  bool is_history_next_ = false;         // everything else was followed
  std::vector<Entry> parts_of_history_;  // to be followed last
  EntryIndex head_ = 0;
  EntryIndex from_ = kNowhere;  // the entry that is expanded now, or a root
  uint32_t nth_ = 0;
};

}  // namespace vramstow::torch_census

#endif  // VRAMSTOW_ADAPTERS_TORCH_CENSUS_WALK_H_
