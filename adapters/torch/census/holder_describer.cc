#include "adapters/torch/census/holder_describer.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "adapters/torch/census/naming.h"
#include "adapters/torch/census/qualified_name.h"

namespace vramstow::torch_census {
namespace {

constexpr size_t kLongestChain = 100'000;
constexpr size_t kLongestKey = 60;
constexpr size_t kLongestText = 400;
constexpr std::string_view kFrameOfGenerator = " → its frame";

// Returns a name for objects of Python's own library that hold values without naming them, for
// example the cache of functools.lru_cache. Returns an empty text for all other objects.
std::string_view KeeperOf(Object* holder) {
  const std::string_view type = holder->type->name;
  if (type == "functools._lru_cache_wrapper") return "functools.lru_cache";
  if (type == "itertools.cycle") return type;
  return "";
}

// True if `held` is a key in the cache of a function. Such a cache stores the result of each call
// under the call's arguments.
bool IsKeyOfCache(Object* function, const Object* held) {
  return std::ranges::any_of(ChildrenOf(function), [&](Object* child) {
    return Is(child, kIsDict) && IsKeyOf(child, held);
  });
}

}  // namespace

// Describes one chain of holders, from its root to the tensor.
class HolderDescriber::Chain {
 public:
  Chain(const Walk& walk, const Seen& seen, EntryIndex place) : walk_(walk), seen_(seen) {
    for (EntryIndex at = place; (at & Entry::kIsRoot) == 0 && entries_.size() < kLongestChain;
         at = seen_[at].from) {
      entries_.push_back(seen_[at]);
    }
    std::ranges::reverse(entries_);
  }

  HolderDescription Describe() {
    DescribeRoot();
    for (size_t i = 0; i + 1 < entries_.size(); ++i) DescribeStep(i);
    if (description_.chain.size() > kLongestText) {
      description_.chain = description_.chain.substr(0, kLongestText) + "…";
    }
    return std::move(description_);
  }

 private:
  // The role of a dict in the object that holds it, which was described before.
  enum class Dict : uint8_t { kPlain, kAttributes, kParts, kModuleGlobals };

  std::string& text() { return description_.chain; }
  Object* object(size_t i) const { return entries_[i].as<Object>(); }
  bool IsObject(size_t i) const {
    return i < entries_.size() && entries_[i].what() == What::kObject;
  }

  void DescribeRoot() {
    if (entries_.empty()) return;
    const Root& root = walk_.root(entries_.front().from & ~Entry::kIsRoot);
    switch (root.kind) {
      case RootKind::kLocal:
      case RootKind::kLibraryLocal:
        return DescribeVariable(root);
      case RootKind::kGlobal:
      case RootKind::kLibraryGlobal: {
        const std::string_view module = TextOf(root.where);
        text() = "global ";
        if (module != "__main__") text() += std::string(module) + ".";
        dict_ = Dict::kModuleGlobals;
        return;
      }
      case RootKind::kExpression:
        text() = NameOfFrame(root.frame) + ": " + VRAMSTOW_EXPRESSION;
        return;
      case RootKind::kHandled:
        text() = "exception being handled";
        return;
    }
  }

  void DescribeVariable(const Root& root) {
    const std::string_view variable = root.frame.code().variable(root.variable);
    if (variable == "self" && IsObject(0)) {
      text() = NameOfType(object(0)->type);
      return;
    }
    text() = NameOfFrame(root.frame) + ": " + std::string(variable);
  }

  void DescribeStep(size_t i) {
    const Dict dict = dict_;
    dict_ = Dict::kPlain;
    switch (entries_[i].what()) {
      case What::kObject:
        return DescribeObjectStep(i, dict);
      case What::kNode:
        return DescribeNodeStep(i);
      case What::kImpl:
        break;
    }
    if (entries_[i + 1].what() == What::kNode) {
      text() += ".grad_fn";
    } else {
      text() += ".grad";
      description_.role = Role::kGradient;
    }
  }

  void DescribeNodeStep(size_t i) {
    if (entries_[i + 1].what() == What::kNode) return;
    Node* node = entries_[i].as<Node>();
    if (entries_[i + 1].what() == What::kObject) {
      text() += " → " + Graph::NameOf(node);
      return;
    }
    const std::string name = Graph::NameOf(node);
    const bool is_leaf = name.find("AccumulateGrad") != std::string::npos;
    text() += (is_leaf ? " → leaf of " : " → saved by ") + name;
    if (!is_leaf) description_.role = Role::kSaved;
  }

  void DescribeObjectStep(size_t i, Dict dict) {
    Object* holder = object(i);
    const ObjectKind kind = const_cast<Walk&>(walk_).KindOf(holder->type);
    if (entries_[i + 1].what() == What::kImpl) {
      if (kind == ObjectKind::kContext) {
        text() += " → saved";
        description_.role = Role::kSaved;
      }
      return;
    }
    Object* held = object(i + 1);
    if (Is(holder, kIsDict)) return DescribeKey(holder, held, dict);
    if (is_table_ && !walk_.arrays().IsArray(holder)) return;
    if (Is(holder, kIsList) || (Is(holder, kIsTuple) && !is_closure_)) {
      const intptr_t index = IndexOf(holder, held);
      text() += index < 0 ? "[…]" : "[" + std::to_string(index) + "]";
      return;
    }
    if (Is(holder, kIsTuple)) return DescribeClosure(i);
    is_closure_ = false;
    if (walk_.arrays().IsArray(holder)) return DescribeElement(holder, held);
    if (holder->type == &PyCell_Type) return;
    if (holder->type == &PyFunction_Type) return DescribeFunction(holder, held);
    if (holder->type == &PyTraceBack_Type) return;
    if (holder->type == &PyFrame_Type) return DescribeFrame(holder, held);
    if (Is(holder, kIsException)) return DescribeException(held);
    if (holder->type == &PyMethod_Type) return;
    if (holder->type == &PyGen_Type || holder->type == &PyCoro_Type) {
      text() += kFrameOfGenerator;
      return;
    }
    DescribeAttribute(i, kind);
  }

  void DescribeElement(Object* array, const Object* held) {
    is_table_ = false;
    if (walk_.arrays().IsArray(held)) return;  // the array of which this one is a view
    text() += "[" + std::to_string(ObjectArrays::IndexOf(array, held)) + "]";
  }

  // Describes the step from an instance to an object that it holds in its __dict__ or in a field.
  void DescribeAttribute(size_t i, ObjectKind kind) {
    Object* holder = object(i);
    Object* held = object(i + 1);
    if (kind == ObjectKind::kModel && Is(held, kIsDict) && &seen_ == &walk_.models()) {
      description_.evaluates = Evaluates(holder);
      return DescribePart(entries_[i + 1].nth);
    }
    if (Graph::IsOptimizer(holder->type)) is_optimizer_ = true;
    Object* attributes = AttributesOf(holder);
    if (attributes == held) {
      dict_ = Dict::kAttributes;
      is_model_ = kind == ObjectKind::kModel;
      return;
    }
    Object* key = attributes == nullptr ? nullptr : KeyOf(attributes, held);
    if (key == nullptr) {
      const char* field = FieldOf(holder, held);
      if (field != nullptr) {
        text() += std::string(".") + field;
        return;
      }
      if (const std::string_view keeper = KeeperOf(holder); !keeper.empty()) {
        DescribeKeeper(i, keeper);
        return;
      }
      if (Graph::IsGradFn(holder, held)) {
        text() += ".grad_fn → " + std::string(NameOfType(held->type));
        return;
      }
      text() += Is(holder, kIsType) ? "" : "[…]";
      if (Is(holder, kIsType)) dict_ = Dict::kAttributes;
      return;
    }
    is_model_ = kind == ObjectKind::kModel;
    DescribeName(TextOf(key));
  }

  // Describes the step from an object of Python's library that KeeperOf names to a value that it
  // holds. In a cache without a size limit there is a dict between the two.
  void DescribeKeeper(size_t i, std::string_view keeper) {
    const size_t kept = Is(object(i + 1), kIsDict) && IsObject(i + 2) ? i + 2 : i + 1;
    const bool is_key = IsKeyOfCache(object(i), object(kept));
    is_arguments_ = is_key && kept == i + 2;
    text() += (is_key ? " → arguments kept by " : " → kept by ") + std::string(keeper);
  }

  static bool Evaluates(Object* module) {
    Object* attributes = AttributesOf(module);
    return attributes != nullptr &&
           PyDict_GetItemString(attributes, "training") == &_Py_FalseStruct;
  }

  // Notes that the chain now enters a module's dict of parameters (1), buffers (2) or modules (3).
  void DescribePart(uint32_t which) {
    dict_ = Dict::kParts;
    if (which == 1) description_.role = Role::kParameter;
    if (which == 2) description_.role = Role::kBuffer;
  }

  void DescribeName(std::string_view name) {
    if (is_model_ && (name == "_modules" || name == "_parameters" || name == "_buffers")) {
      is_model_ = false;
      return DescribePart(name == "_parameters" ? 1 : name == "_buffers" ? 2 : 3);
    }
    if (is_model_ && name.find("_hooks") != std::string_view::npos) {
      text() = "hook of " + text();
      is_hook_ = true;
    }
    is_model_ = false;
    // A DataFrame or Series of pandas holds its columns through the attribute _mgr, whose name
    // means nothing to the user.
    if (name == "_mgr") {
      is_table_ = true;
      name = "values";
    }
    if (is_optimizer_ && name == "state") description_.role = Role::kOptimizerState;
    is_optimizer_ = false;
    if (!is_hook_) text() += "." + std::string(name);
  }

  void DescribeKey(Object* dict, const Object* held, Dict kind) {
    if (std::exchange(is_arguments_, false)) return;
    const History& history = walk_.history();
    Object* key = history.HasNamesIn(dict) ? history.NameOf(dict, held) : KeyOf(dict, held);
    if (is_hook_) return;  // the number of the hook
    if (key == nullptr) {
      text() += "[…]";
      return;
    }
    const std::string_view name = TextOf(key);
    if (kind == Dict::kModuleGlobals) {
      text() += std::string(name);
    } else if (kind == Dict::kParts) {
      text() += "." + std::string(name);
    } else if (kind == Dict::kAttributes && !name.empty()) {
      DescribeName(name);
    } else {
      text() += "[" + TextOfKey(key) + "]";
    }
  }

  std::string TextOfKey(Object* key) {
    if (Is(key, kIsText)) {
      std::string name(TextOf(key).substr(0, kLongestKey));
      return "\"" + name + "\"";
    }
    if (Is(key, kIsLong)) {
      int overflow = 0;
      const long number = PyLong_AsLongAndOverflow(key, &overflow);
      PyErr_Clear();
      return overflow != 0 ? "…" : std::to_string(number);
    }
    if (!Graph::IsTensor(key->type)) return "…";
    // The state of an optimizer is stored under the parameter that it belongs to.
    const EntryIndex parameter = walk_.models().Find(key, What::kObject);
    if (parameter == kNowhere) {
      return description_.role == Role::kOptimizerState ? "…" : "a tensor";
    }
    Chain chain(walk_, walk_.models(), parameter);
    std::string name = chain.Describe().chain;
    if (name.starts_with("global ")) name.erase(0, 7);
    return name;
  }

  void DescribeFunction(Object* function, const Object* held) {
    is_closure_ = held == PyFunction_GetClosure(function);
    if (is_closure_) {
      closure_ = PyFunction_GetCode(function);
      text() += is_hook_ ? "" : " → " + NameOfFunction(function);
      return;
    }
    text() += (is_hook_ ? ": default of " : " → default of ") + NameOfFunction(function);
    is_hook_ = false;
  }

  void DescribeClosure(size_t i) {
    is_closure_ = false;
    is_hook_ = false;
    const Code code(closure_);
    const auto index = static_cast<int>(IndexOf(object(i), object(i + 1)));
    if (index < 0 || !Interpreter::has_frames()) {
      text() += ": closure";
      return;
    }
    const int first = code.variables() - code.outer_variables();
    text() += ": closure " + std::string(code.variable(first + index));
  }

  void DescribeFrame(Object* frame_object, const Object* held) {
    const Frame frame = Interpreter::FrameOf(frame_object);
    if (!frame || !frame.has_code()) {
      text() += ": a frame";
      return;
    }
    // The frame of a generator was described together with the generator. From CPython 3.11 on
    // there is no object for such a frame.
    if (text().ends_with(kFrameOfGenerator)) return;
    const Code code = frame.code();
    text() += ": frame " + NameOfFrame(frame);
    for (int i = 0; i < code.variables(); ++i) {
      if (frame.variable(i) != held) continue;
      text() += ", variable " + std::string(code.variable(i));
      return;
    }
  }

  void DescribeException(const Object* held) {
    if (held->type == &PyTraceBack_Type) {
      Object* frame_object = Interpreter::FrameObjectOf(const_cast<Object*>(held));
      const Frame frame = Interpreter::FrameOf(frame_object);
      if (frame && frame.has_code() && text() == "exception being handled") {
        text() += " in " + NameOfFrame(frame);
      }
      return;
    }
    text() += Is(held, kIsException) ? ", raised from another" : ".args";
  }

  const Walk& walk_;
  const Seen& seen_;
  std::vector<Entry> entries_;
  HolderDescription description_;
  Dict dict_ = Dict::kPlain;
  Object* closure_ = nullptr;
  bool is_closure_ = false;
  bool is_model_ = false;
  bool is_hook_ = false;
  bool is_optimizer_ = false;
  bool is_table_ = false;
  bool is_arguments_ = false;  // the next dict is a cache, whose keys are arguments
};

HolderDescription HolderDescriber::Describe(const Found& found) const {
  Chain chain(walk_, found.is_in_models ? walk_.models() : walk_.all(), found.place);
  return chain.Describe();
}

}  // namespace vramstow::torch_census
