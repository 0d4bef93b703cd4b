#include "adapters/torch/census/walk.h"

#include <algorithm>

#include "adapters/torch/census/generations.h"

namespace vramstow::torch_census {
namespace {

constexpr int kMaxHandled = 64;
constexpr int kMaxDepth = 2000;
constexpr uint64_t kStepsBetweenLooks = 256;
constexpr uint32_t kVisitsBetweenLooks = 4096;

// True for the code of a comprehension or a lambda. A list over which a comprehension iterates has
// a better name in the function around it.
bool IsNameless(const Code& code) { return code.name().starts_with('<') && !code.is_module(); }

bool IsUsersModule(Object* dict, Object* name) {
  const std::string_view file = TextOf(PyDict_GetItemString(dict, "__file__"));
  return file.empty() ? TextOf(name) == "__main__" : IsUsersFile(file);
}

}  // namespace

Walk::Walk(PyThreadState* failing, int working, uint64_t held_bytes, const Deadline& deadline)
    : failing_(failing), working_(working), held_bytes_(held_bytes), deadline_(deadline) {}

Walk::Of Walk::OfCode(const Code& code) {
  if (!code.is_users()) return Of::kLibraries;
  return IsNameless(code) ? Of::kComprehensions : Of::kProgram;
}

const char* Walk::why_stopped() const {
  if (is_late_) return "its time was over";
  if (all_.is_full()) return "its memory was used up";
  return nullptr;
}

ObjectKind Walk::KindOf(Type* type) {
  const auto [place, is_new] = kinds_.try_emplace(type, ObjectKind::kPlain);
  if (!is_new) return place->second;
  ObjectKind& kind = place->second;
  if ((type->flags & kIsType) != 0 || type == &PyModule_Type ||
      PyType_IsSubtype(type, &PyModule_Type) != 0) {
    kind = ObjectKind::kApart;
  } else if (Graph::IsTensor(type)) {
    kind = ObjectKind::kTensor;
  } else if (Graph::IsModule(type)) {
    kind = ObjectKind::kModel;
  } else if (Graph::IsOptimizer(type)) {
    kind = ObjectKind::kOptimizer;
  } else if (Graph::IsContext(type)) {
    kind = ObjectKind::kContext;
  }
  return kind;
}

bool Walk::IsOver() {
  if (is_late_ || all_.is_full()) return true;
  if (held_bytes_ > 0 && found_bytes_ >= held_bytes_) return true;
  if (++steps_ % kStepsBetweenLooks == 0 && deadline_.is_over()) is_late_ = true;
  return is_late_;
}

int Walk::VisitObject(Object* child, void* self) {
  auto* walk = static_cast<Walk*>(self);
  if (++walk->nth_ % kVisitsBetweenLooks == 0 && walk->deadline_.is_over()) {
    walk->is_late_ = true;
  }
  if (child != nullptr) walk->AddObject(child);
  return walk->is_late_ ? 1 : 0;  // ends the visit
}

// Adds an object. Objects that the collector does not track lead to no tensor, except arrays of
// objects.
void Walk::AddObject(Object* child) {
  if (!Is(child, kHasCollector)) {
    const bool is_array = seen_ == &all_ && arrays_.IsArray(child);
    if (is_array) seen_->Add(child, What::kObject, from_, nth_);
    return;
  }
  const ObjectKind kind = KindOf(child->type);
  if (kind == ObjectKind::kApart) {
    const bool is_named = Is(child, kIsType) && (from_ & Entry::kIsRoot) == 0 &&
                          (*seen_)[from_].what() == What::kObject &&
                          Is((*seen_)[from_].as<Object>(), kIsDict);
    if (!is_named || seen_ == &models_) return;
  }
  if (seen_ == &models_ && !MayLeadToModel(child, kind)) return;
  if (!is_history_next_ && history_.IsPart(child)) {
    if (seen_ == &models_) return;
    parts_of_history_.push_back({reinterpret_cast<uint64_t>(child), from_, nth_});
    return;
  }
  if (PyObject_GC_IsTracked(child) == 0) return;
  seen_->Add(child, What::kObject, from_, nth_);
}

bool Walk::MayLeadToModel(Object* child, ObjectKind kind) const {
  if (kind == ObjectKind::kTensor) return IsPartOfModel();
  // Before the history, `all_` contains only the dicts of modules, which are not followed. At the
  // history it contains what was followed already.
  return child->type != &PyFunction_Type && all_.Find(child, What::kObject) == kNowhere;
}

// True if the dict that is expanded now contains the parameters or buffers of a module.
bool Walk::IsPartOfModel() const {
  if ((from_ & Entry::kIsRoot) != 0) return false;
  const EntryIndex owner = (*seen_)[from_].from;
  if ((owner & Entry::kIsRoot) != 0) return false;
  return Graph::IsModule((*seen_)[owner].as<Object>()->type);
}

void Walk::AddImpl(Impl* impl) {
  if (impl == nullptr || !seen_->Add(impl, What::kImpl, from_, ++nth_)) return;
  const Memory memory = Graph::MemoryOf(impl);
  if (memory.address == 0 || memory.bytes == 0) return;
  const EntryIndex place = static_cast<EntryIndex>(seen_->size() - 1);
  if (found_.try_emplace(memory.address, Found{memory, place, seen_ == &models_}).second) {
    found_bytes_ += memory.bytes;
  }
}

void Walk::ExpandImpl(Impl* impl) {
  AddImpl(Graph::GradientOf(impl));
  if (seen_ == &models_) return;
  if (Node* node = Graph::NodeOf(impl)) seen_->Add(node, What::kNode, from_, ++nth_);
}

void Walk::ExpandModel(Object* model) {
  Object* dict = PyObject_GenericGetDict(model, nullptr);
  if (dict == nullptr) return PyErr_Clear();
  for (const char* part : {"_parameters", "_buffers", "_modules"}) {
    ++nth_;
    Object* found = PyDict_GetItemString(dict, part);
    if (found != nullptr && Is(found, kIsDict)) seen_->Add(found, What::kObject, from_, nth_);
  }
  Py_DecRef(dict);
}

void Walk::ExpandObject(Object* object) {
  Type* type = object->type;
  const ObjectKind kind = KindOf(type);
  if (seen_ == &models_) {
    if (kind == ObjectKind::kModel) return ExpandModel(object);
    if (kind == ObjectKind::kTensor) return AddImpl(Graph::ImplOf(object));
    if (kind == ObjectKind::kOptimizer) optimizers_.push_back(object);
  }
  if (kind == ObjectKind::kTensor) AddImpl(Graph::ImplOf(object));
  if (kind == ObjectKind::kContext) {
    Graph::ExpandContext(object, [this](Impl* impl) { AddImpl(impl); });
  }
  if (history_.HasNamesIn(object)) {
    history_.Visit(object, false, &VisitObject, this);
  } else if (type->traverse != nullptr) {
    type->traverse(object, &VisitObject, this);
  }
  if (arrays_.IsArray(object)) ObjectArrays::Visit(object, &VisitObject, this);
}

void Walk::Expand(EntryIndex place) {
  const Entry entry = (*seen_)[place];
  from_ = place;
  nth_ = 0;
  switch (entry.what()) {
    case What::kObject:
      return ExpandObject(entry.as<Object>());
    case What::kImpl:
      return ExpandImpl(entry.as<Impl>());
    case What::kNode:
      break;
  }
  const Graph::Visit visit = {[this](Node* node) { seen_->Add(node, What::kNode, from_, ++nth_); },
                              [this](Impl* impl) { AddImpl(impl); },
                              [this](Object* context) { AddObject(context); }};
  if (!Graph::Expand(entry.as<Node>(), working_, visit)) ++busy_nodes_;
}

void Walk::Follow() {
  while (head_ < seen_->size() && !IsOver()) Expand(head_++);
}

void Walk::AddRoot(Root root, Object* value) {
  from_ = static_cast<EntryIndex>(roots_.size()) | Entry::kIsRoot;
  roots_.push_back(root);
  nth_ = 0;
  AddObject(value);
}

// Adds the variables of the functions that a thread runs, the outermost first.
void Walk::AddFrames(PyThreadState* thread, Of of) {
  std::vector<Frame> frames;
  Frame frame = Interpreter::FrameOf(thread);
  for (int i = 0; frame && i < kMaxDepth; ++i, frame = frame.caller()) {
    if (frame.has_code() && OfCode(frame.code()) == of) frames.push_back(frame);
  }
  for (auto place = frames.rbegin(); place != frames.rend(); ++place) AddVariables(*place, of);
}

void Walk::AddVariables(const Frame& frame, Of of) {
  const Code code = frame.code();
  if (code.is_module()) return;  // its variables are globals
  const RootKind kind = of == Of::kLibraries ? RootKind::kLibraryLocal : RootKind::kLocal;
  for (int i = 0; i < code.variables(); ++i) {
    Object* value = frame.variable(i);
    if (value == nullptr) continue;
    AddRoot({kind, nullptr, i, frame}, value);
  }
}

void Walk::AddThreads(Of of) {
  if (!Interpreter::has_frames()) return;
  if (failing_ != nullptr) AddFrames(failing_, of);
  for (PyThreadState* thread = PyInterpreterState_ThreadHead(PyInterpreterState_Main());
       thread != nullptr; thread = PyThreadState_Next(thread)) {
    if (thread != failing_) AddFrames(thread, of);
  }
}

void Walk::AddHandled() {
  for (PyThreadState* thread = PyInterpreterState_ThreadHead(PyInterpreterState_Main());
       thread != nullptr; thread = PyThreadState_Next(thread)) {
    Object* handled[kMaxHandled];
    const int count = Interpreter::Handled(thread, handled, kMaxHandled);
    for (int i = 0; i < count; ++i) AddRoot({RootKind::kHandled, handled[i]}, handled[i]);
  }
}

// Adds lists that comprehensions fill, and values that are computed before the rest of a line. It
// is unknown which stack slots are in use, and an unused slot may refer to a destroyed object. So a
// value counts only under two conditions: the collector tracks it, and it is not dead.
void Walk::AddExpressions(const std::unordered_set<const Object*>& dead) {
  if (!Interpreter::has_frames()) return;
  std::unordered_map<const void*, Frame> frames;
  for (PyThreadState* thread = PyInterpreterState_ThreadHead(PyInterpreterState_Main());
       thread != nullptr; thread = PyThreadState_Next(thread)) {
    Frame frame = Interpreter::FrameOf(thread);
    for (int i = 0; frame && i < kMaxDepth; ++i, frame = frame.caller()) {
      if (!frame.has_code()) continue;
      for (int k = 0; k < frame.expression_places(); ++k) {
        frames.try_emplace(frame.expression_place(k), frame);
      }
    }
  }
  uint64_t steps = 0;
  Generations::ForEach(Generations::kCount, [&](Object* object) {
    const auto found = frames.find(object);
    if (found != frames.end() && !dead.contains(object)) {
      AddRoot({RootKind::kExpression, nullptr, 0, found->second}, object);
    }
    if (++steps % kVisitsBetweenLooks == 0 && deadline_.is_over()) is_late_ = true;
    return !is_late_;
  });
}

// Adds the dicts of all modules first, so that they are expanded separately. Otherwise every
// function would lead to its module, and from there to all other modules.
void Walk::MarkModules() {
  Object* modules = PyImport_GetModuleDict();
  intptr_t place = 0;
  Object* name = nullptr;
  Object* module = nullptr;
  while (PyDict_Next(modules, &place, &name, &module) != 0) {
    if (PyType_IsSubtype(module->type, &PyModule_Type) == 0) continue;
    Object* dict = PyModule_GetDict(module);
    if (dict == nullptr) {
      PyErr_Clear();
      continue;
    }
    const RootKind kind = IsUsersModule(dict, name) ? RootKind::kGlobal : RootKind::kLibraryGlobal;
    const EntryIndex from = static_cast<EntryIndex>(roots_.size()) | Entry::kIsRoot;
    roots_.push_back({kind, name});
    if (all_.Add(dict, What::kObject, from, 0)) {
      module_dicts_.push_back(static_cast<EntryIndex>(all_.size() - 1));
    }
  }
  head_ = static_cast<EntryIndex>(all_.size());
}

void Walk::ExpandModules(RootKind kind) {
  for (const EntryIndex place : module_dicts_) {
    if (roots_[(*seen_)[place].from & ~Entry::kIsRoot].kind == kind) Expand(place);
  }
}

// Finds the models first, because a tensor in a model is named by the model, no matter which other
// objects hold it.
void Walk::FindModels() {
  seen_ = &models_;
  AddThreads(Of::kProgram);
  const auto count = static_cast<EntryIndex>(roots_.size());
  for (EntryIndex i = 0; i < count; ++i) {
    if (roots_[i].kind != RootKind::kGlobal) continue;
    // The dict of this module has the same root number in `all_`.
    for (const EntryIndex place : module_dicts_) {
      if (all_[place].from == (i | Entry::kIsRoot)) {
        models_.Add(all_[place].as<Object>(), What::kObject, i | Entry::kIsRoot, 0);
      }
    }
  }
  head_ = 0;
  Follow();
  knows_optimizers_ = head_ >= models_.size() && !models_.is_full();
  seen_ = &all_;
  head_ = static_cast<EntryIndex>(module_dicts_.size());
}

// Adds what the history's names in this dict refer to.
void Walk::AddHistoryOf(Object* dict) {
  from_ = seen_->Find(dict, What::kObject);
  nth_ = 0;
  if (from_ != kNowhere) history_.Visit(dict, true, &VisitObject, this);
}

// Follows the references that end when a notebook's history is forgotten, those to models first.
// An optimizer that only the history holds is added to the optimizers if the search comes this far.
void Walk::FollowHistory() {
  if (history_.globals() == nullptr || IsOver()) return;
  is_history_next_ = true;
  const EntryIndex head = head_;
  seen_ = &models_;
  head_ = static_cast<EntryIndex>(models_.size());
  AddHistoryOf(history_.globals());
  Follow();
  seen_ = &all_;
  head_ = head;
  for (const EntryIndex place : module_dicts_) {
    Object* dict = all_[place].as<Object>();
    if (history_.HasNamesIn(dict)) AddHistoryOf(dict);
  }
  for (const Entry& part : parts_of_history_) {
    all_.Add(part.as<Object>(), What::kObject, part.from, part.nth);
  }
  Follow();
}

void Walk::Run() {
  MarkModules();
  FindModels();
  AddThreads(Of::kProgram);
  Follow();
  ExpandModules(RootKind::kGlobal);
  Follow();
  AddThreads(Of::kComprehensions);
  Follow();
  AddHandled();
  Follow();
  AddThreads(Of::kLibraries);
  Follow();
  ExpandModules(RootKind::kLibraryGlobal);
  Follow();
  FollowHistory();
}

void Walk::RunExpressions(const std::vector<Object*>& dead) {
  MarkModules();
  FindModels();
  AddExpressions({dead.begin(), dead.end()});
  Follow();
}

}  // namespace vramstow::torch_census
