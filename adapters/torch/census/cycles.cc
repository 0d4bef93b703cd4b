#include "adapters/torch/census/cycles.h"

#include <algorithm>
#include <deque>
#include <map>

#include "adapters/torch/census/interpreter.h"
#include "adapters/torch/census/naming.h"
#include "adapters/torch/census/qualified_name.h"

namespace vramstow::torch_census {
namespace {

constexpr size_t kMaxSteps = 12;  // the most steps of a ring that are described

bool IsContainer(const Object* object) {
  return Is(object, kIsDict) || Is(object, kIsList) || Is(object, kIsTuple);
}

// True for objects that have no name in a report: they only connect a named object with another
// one.
bool IsLink(const Object* object) {
  return IsContainer(object) || object->type == &PyCell_Type || object->type == &PyTraceBack_Type;
}

// True for a leaf of the autograd graph, for example a parameter.
bool IsLeaf(const Impl* impl) { return impl->requires_grad() && Graph::NodeOf(impl) == nullptr; }

// Writes a reference cycle as text. Each step leads from a holder to the object that it holds.
class Steps {
 public:
  explicit Steps(Object* first) : text_(NameOf(first)) {}

  void Add(Object* holder, Object* held) {
    const bool is_attributes = std::exchange(is_attributes_, false);
    if (Is(holder, kIsDict)) return AddKey(holder, held, is_attributes);
    if (Is(holder, kIsList) || Is(holder, kIsTuple)) {
      const intptr_t index = IndexOf(holder, held);
      text_ += index < 0 ? "[…]" : "[" + std::to_string(index) + "]";
    } else if (holder->type == &PyFrame_Type) {
      AddVariable(holder, held);
    } else if (holder->type == &PyFunction_Type) {
      text_ += held == PyFunction_GetClosure(holder) ? ".__closure__" : "…";
    } else if (Is(holder, kIsException) && held->type == &PyTraceBack_Type) {
      text_ += ".__traceback__";
    } else if (holder->type != &PyCell_Type && holder->type != &PyTraceBack_Type) {
      AddAttribute(holder, held);
    }
  }
  void Arrive(Object* at, bool is_first) {
    if (is_first) {
      text_ += " → itself";
    } else if (!IsLink(at)) {
      text_ += " → " + NameOf(at);
    }
  }
  const std::string& text() const { return text_; }

 private:
  static std::string NameOf(Object* object) {
    if (object->type == &PyFunction_Type) return NameOfFunction(object);
    const Frame frame =
        object->type == &PyFrame_Type ? Interpreter::FrameOf(object) : Frame(nullptr);
    if (frame && frame.has_code()) return "frame " + NameOfFrame(frame);
    return std::string(
        NameOfType(Is(object, kIsType) ? reinterpret_cast<Type*>(object) : object->type));
  }
  void AddKey(Object* dict, Object* held, bool is_attributes) {
    Object* key = KeyOf(dict, held);
    const std::string_view name = key == nullptr ? "" : TextOf(key);
    constexpr size_t kLongestKey = 60;
    if (name.empty()) {
      text_ += "[…]";
    } else {
      text_ += is_attributes ? "." : "[\"";
      text_ += name.substr(0, kLongestKey);
      text_ += is_attributes ? "" : "\"]";
    }
  }
  void AddVariable(Object* frame_object, const Object* held) {
    const Frame frame = Interpreter::FrameOf(frame_object);
    if (!frame || !frame.has_code()) return;
    const Code code = frame.code();
    for (int i = 0; i < code.variables(); ++i) {
      if (frame.variable(i) != held) continue;
      text_ += ", variable " + std::string(code.variable(i));
      return;
    }
  }
  void AddAttribute(Object* holder, Object* held) {
    Object* attributes = AttributesOf(holder);
    if (attributes == held) {
      is_attributes_ = true;
      return;
    }
    Object* key = attributes == nullptr ? nullptr : KeyOf(attributes, held);
    const char* field = key == nullptr ? FieldOf(holder, held) : nullptr;
    if (key != nullptr) {
      text_ += "." + std::string(TextOf(key));
    } else if (field != nullptr) {
      text_ += "." + std::string(field);
    } else if (Graph::IsGradFn(holder, held)) {
      text_ += ".grad_fn";
    } else {
      text_ += "[…]";
    }
  }

  std::string text_;
  bool is_attributes_ = false;  // the holder was just described by its dict
};

}  // namespace

Cycles::Cycles(const std::vector<Object*>& dead) : dead_(dead) {
  for (Number i = 0; i < dead_.size(); ++i) {
    Held held = HeldBy(i);
    if (held.bytes == 0) continue;
    bytes_ += held.bytes;
    held_.push_back(std::move(held));
  }
}

// Adds the memory of a tensor once. If living objects also hold the memory, it must not be added,
// because it will not be freed. A parameter, for example, is saved by many graphs.
void Cycles::AddMemory(const Impl* impl, Held* held) {
  const Memory memory = Graph::MemoryOf(impl);
  if (memory.address == 0 || memory.bytes == 0 || !counted_.insert(memory.address).second) return;
  held->bytes += memory.bytes;
  if (pieces_ < kMaxPieces) {
    held->pieces.push_back(memory);
    ++pieces_;
  }
  if (memory.bytes <= held->largest.bytes) return;
  held->largest = memory;
  held->impl = impl;
}

void Cycles::AddGraph(Node* first, Held* held) {
  std::vector<Node*> waiting;
  const auto visit = [this, &waiting](Node* node) {
    if (nodes_.size() < kMaxNodes && nodes_.insert(node).second) waiting.push_back(node);
  };
  if (first != nullptr) visit(first);
  while (!waiting.empty()) {
    Node* node = waiting.back();
    waiting.pop_back();
    constexpr int kNobody = 0;
    Graph::Expand(node, kNobody,
                  {visit,
                   [this, held](Impl* impl) {
                     if (impl != nullptr && !impl->requires_grad()) AddMemory(impl, held);
                   },
                   [this, held](Object* context) { AddContext(context, held); }});
  }
}

void Cycles::AddContext(Object* context, Held* held) {
  Graph::ExpandContext(context, [this, held](Impl* impl) {
    if (!impl->requires_grad()) AddMemory(impl, held);
  });
  AddAttributes(context, held);
}

// Adds the tensors in the attributes of an autograd context ("ctx.out = out"). The collector does
// not see that they are dead as long as another node of the graph leads to the context's node.
void Cycles::AddAttributes(Object* context, Held* held) {
  constexpr size_t kMaxContainers = 64;
  std::vector<Object*> containers = {context};
  for (size_t i = 0; i < containers.size(); ++i) {
    for (Object* child : ChildrenOf(containers[i])) {
      if (Graph::IsTensor(child->type)) {
        const Impl* impl = Graph::ImplOf(child);
        if (impl != nullptr && !IsLeaf(impl)) AddMemory(impl, held);
      } else if (IsContainer(child) && containers.size() < kMaxContainers) {
        containers.push_back(child);
      }
    }
  }
}

Cycles::Held Cycles::HeldBy(Number number) {
  Held held;
  held.tensor = number;
  Object* object = dead_[number];
  if (Graph::IsContext(object->type)) AddContext(object, &held);
  if (!Graph::IsTensor(object->type)) return held;
  Impl* impl = Graph::ImplOf(object);
  if (impl == nullptr) return held;
  AddMemory(impl, &held);
  if (Impl* gradient = Graph::GradientOf(impl)) AddMemory(gradient, &held);
  AddGraph(Graph::NodeOf(impl), &held);
  return held;
}

int Cycles::VisitDead(Object* child, void* self) {
  auto* cycles = static_cast<Cycles*>(self);
  const auto place = cycles->numbers_.find(child);
  if (place != cycles->numbers_.end()) cycles->edges_.push_back(place->second);
  return 0;
}

void Cycles::FindEdges() {
  for (Number i = 0; i < dead_.size(); ++i) numbers_.emplace(dead_[i], i);
  for (Object* object : dead_) {
    first_edge_.push_back(edges_.size());
    if (object->type->traverse != nullptr) object->type->traverse(object, &VisitDead, this);
  }
  first_edge_.push_back(edges_.size());
}

// Finds the strongly connected components by Tarjan's algorithm, without recursion.
void Cycles::FindParts() {
  const size_t count = dead_.size();
  std::vector<Number> order(count, kNone);
  std::vector<Number> low(count, 0);
  std::vector<bool> is_open(count, false);
  std::vector<size_t> next(first_edge_.begin(), first_edge_.end() - 1);
  std::vector<Number> open;
  std::vector<Number> path;
  Number clock = 0;
  part_.assign(count, kNone);
  const auto enter = [&](Number at) {
    order[at] = low[at] = clock++;
    is_open[at] = true;
    open.push_back(at);
    path.push_back(at);
  };
  for (Number root = 0; root < count; ++root) {
    if (order[root] == kNone) enter(root);
    while (!path.empty()) {
      const Number at = path.back();
      if (next[at] < first_edge_[at + 1]) {
        const Number to = edges_[next[at]++];
        if (order[to] == kNone) {
          enter(to);
        } else if (is_open[to]) {
          low[at] = std::min(low[at], order[to]);
        }
        continue;
      }
      path.pop_back();
      if (!path.empty()) low[path.back()] = std::min(low[path.back()], low[at]);
      if (low[at] != order[at]) continue;
      std::vector<Number> items;
      do {
        items.push_back(open.back());
        is_open[open.back()] = false;
        open.pop_back();
      } while (items.back() != at);
      const bool holds_itself =
          std::find(edges_.begin() + static_cast<ptrdiff_t>(first_edge_[at]),
                    edges_.begin() + static_cast<ptrdiff_t>(first_edge_[at + 1]),
                    at) != edges_.begin() + static_cast<ptrdiff_t>(first_edge_[at + 1]);
      if (items.size() == 1 && !holds_itself) continue;
      for (const Number item : items) part_[item] = static_cast<Number>(part_items_.size());
      part_items_.push_back(std::move(items));
    }
  }
}

void Cycles::FindNearest() {
  nearest_ = part_;
  std::deque<Number> queue;
  for (Number i = 0; i < dead_.size(); ++i) {
    if (part_[i] != kNone) queue.push_back(i);
  }
  while (!queue.empty()) {
    const Number at = queue.front();
    queue.pop_front();
    for (size_t edge = first_edge_[at]; edge < first_edge_[at + 1]; ++edge) {
      const Number to = edges_[edge];
      if (nearest_[to] != kNone) continue;
      nearest_[to] = nearest_[at];
      queue.push_back(to);
    }
  }
}

// Returns the object by which a cycle is named: an instance of a class, preferably of one of the
// program's own classes.
Cycles::Number Cycles::FaceOf(Number part) const {
  Number face = part_items_[part].back();
  int best = -1;
  for (const Number item : part_items_[part]) {
    const Object* object = dead_[item];
    constexpr unsigned long kIsMadeByCode = 1ul << 9;
    const bool is_class = (object->type->flags & kIsMadeByCode) != 0;
    const bool is_plain = IsLink(object) || object->type == &PyFunction_Type ||
                          object->type == &PyMethod_Type || object->type == &PyFrame_Type;
    const int rank = is_plain ? 0 : is_class && !Graph::IsTensor(object->type) ? 2 : 1;
    // Of several objects of equal rank the oldest is chosen.
    if (rank > best || (rank == best && item < face)) face = item;
    best = std::max(best, rank);
  }
  return face;
}

// Returns the shortest path from the component's naming object back to itself.
std::vector<Cycles::Number> Cycles::RingOf(Number part) const {
  const Number face = FaceOf(part);
  std::unordered_map<Number, Number> from;
  std::deque<Number> queue = {face};
  while (!queue.empty()) {
    const Number at = queue.front();
    queue.pop_front();
    for (size_t edge = first_edge_[at]; edge < first_edge_[at + 1]; ++edge) {
      const Number to = edges_[edge];
      if (part_[to] != part) continue;
      if (to == face) {
        std::vector<Number> ring = {face};
        for (Number back = at; back != face; back = from[back]) ring.push_back(back);
        if (ring.size() > 1 || at == face) ring.push_back(face);
        std::ranges::reverse(ring);
        return ring;
      }
      if (from.try_emplace(to, at).second) queue.push_back(to);
    }
  }
  return {face};
}

std::string Cycles::DescribeRing(const std::vector<Number>& ring) const {
  Steps steps(dead_[ring.front()]);
  for (size_t i = 0; i + 1 < ring.size(); ++i) {
    if (i == kMaxSteps) return steps.text() + " → … → itself";
    steps.Add(dead_[ring[i]], dead_[ring[i + 1]]);
    steps.Arrive(dead_[ring[i + 1]], i + 2 == ring.size());
  }
  return steps.text();
}

std::vector<Cycle> Cycles::Largest() {
  if (held_.empty() || dead_.size() > kMaxObjects) return {};
  FindEdges();
  FindParts();
  FindNearest();
  std::unordered_map<Number, std::vector<const Held*>> by_part;
  for (const Held& held : held_) {
    const Number part = nearest_[held.tensor];
    if (part != kNone) by_part[part].push_back(&held);
  }
  std::map<std::string, Cycle> by_chain;
  std::map<std::string, uint64_t> largest;
  size_t parts = 0;
  for (const auto& [part, holdings] : by_part) {
    if (++parts > kMaxParts) break;
    const std::string chain = DescribeRing(RingOf(part));
    Cycle& cycle = by_chain[chain];
    cycle.chain = chain;
    for (const Held* held : holdings) {
      cycle.bytes += held->bytes;
      cycle.pieces.insert(cycle.pieces.end(), held->pieces.begin(), held->pieces.end());
      if (held->largest.bytes <= largest[chain]) continue;
      largest[chain] = held->largest.bytes;
      cycle.device = held->largest.device;
      cycle.about = Graph::Describe(held->impl);
    }
  }
  std::vector<Cycle> cycles;
  for (auto& [chain, cycle] : by_chain) {
    std::ranges::stable_sort(cycle.pieces, std::ranges::greater(), &Memory::bytes);
    cycles.push_back(std::move(cycle));
  }
  std::ranges::stable_sort(cycles,
                           [](const Cycle& a, const Cycle& b) { return a.bytes > b.bytes; });
  if (cycles.size() > kMaxReported) cycles.resize(kMaxReported);
  return cycles;
}

}  // namespace vramstow::torch_census
