// Rules for recurrent layers: cuDNN's, and the fused cells.
#include "adapters/values/rules.h"

namespace vramstow::values {
namespace {

enum Mode : int64_t { kRelu = 0, kTanh = 1, kLstm = 2, kGru = 3 };  // cuDNN's numbers

at::Tensor OfSigmoid(const at::Tensor& value) { return value * (1 - value); }
at::Tensor OfTanh(const at::Tensor& value) { return 1 - value * value; }
at::Tensor Plus(const at::Tensor& value, const at::Tensor& bias) {
  return bias.defined() ? value + bias : value;
}
at::Tensor OrZero(const at::Tensor& value, const at::Tensor& like) {
  return value.defined() ? value : at::zeros_like(like);
}

// --- One step -----------------------------------------------------------------------------------
// The result of a step: the activated gates side by side, and for a GRU the hidden part of the new
// value.
struct Step {
  at::Tensor gates;
  at::Tensor hidden_new;
  at::Tensor hidden;
  at::Tensor cell;
};

Step Advance(int64_t mode, const at::Tensor& from_input, const at::Tensor& from_hidden,
             const at::Tensor& hidden, const at::Tensor& cell) {
  Step step;
  if (mode == kLstm) {
    const auto parts = (from_input + from_hidden).chunk(4, -1);
    const at::Tensor in = at::sigmoid(parts[0]);
    const at::Tensor forget = at::sigmoid(parts[1]);
    const at::Tensor value = at::tanh(parts[2]);
    const at::Tensor out = at::sigmoid(parts[3]);
    step.cell = forget * cell + in * value;
    step.hidden = out * at::tanh(step.cell);
    step.gates = at::cat({in, forget, value, out}, -1);
  } else if (mode == kGru) {
    const auto a = from_input.chunk(3, -1);
    const auto b = from_hidden.chunk(3, -1);
    const at::Tensor reset = at::sigmoid(a[0] + b[0]);
    const at::Tensor update = at::sigmoid(a[1] + b[1]);
    const at::Tensor value = at::tanh(a[2] + reset * b[2]);
    step.hidden = value + update * (hidden - value);
    step.hidden_new = b[2];
    step.gates = at::cat({reset, update, value}, -1);
  } else {
    const at::Tensor sum = from_input + from_hidden;
    step.hidden = mode == kRelu ? at::relu(sum) : at::tanh(sum);
    step.gates = step.hidden;
  }
  return step;
}

struct StepGradients {
  at::Tensor from_input;   // gradient of the input's part of the gates
  at::Tensor from_hidden;  // gradient of the hidden state's part
  at::Tensor hidden;       // gradient of the earlier state, without its path through the gates
  at::Tensor cell;
};

StepGradients Return(int64_t mode, const Step& step, const at::Tensor& hidden_before,
                     const at::Tensor& cell_before, const at::Tensor& of_hidden,
                     const at::Tensor& of_cell) {
  StepGradients gradients;
  if (mode == kLstm) {
    const auto gates = step.gates.chunk(4, -1);
    const at::Tensor squashed = at::tanh(step.cell);
    const at::Tensor all = of_cell + of_hidden * gates[3] * OfTanh(squashed);
    gradients.from_input =
        at::cat({all * gates[2] * OfSigmoid(gates[0]), all * cell_before * OfSigmoid(gates[1]),
                 all * gates[0] * OfTanh(gates[2]), of_hidden * squashed * OfSigmoid(gates[3])},
                -1);
    gradients.from_hidden = gradients.from_input;
    gradients.hidden = at::zeros_like(of_hidden);
    gradients.cell = all * gates[1];
  } else if (mode == kGru) {
    const auto gates = step.gates.chunk(3, -1);
    const at::Tensor of_value = of_hidden * (1 - gates[1]) * OfTanh(gates[2]);
    const at::Tensor of_update = of_hidden * (hidden_before - gates[2]) * OfSigmoid(gates[1]);
    const at::Tensor of_reset = of_value * step.hidden_new * OfSigmoid(gates[0]);
    gradients.from_input = at::cat({of_reset, of_update, of_value}, -1);
    gradients.from_hidden = at::cat({of_reset, of_update, of_value * gates[0]}, -1);
    gradients.hidden = of_hidden * gates[1];
  } else {
    const at::Tensor slope =
        mode == kRelu ? step.gates.gt(0).to(step.gates.scalar_type()) : OfTanh(step.gates);
    gradients.from_input = of_hidden * slope;
    gradients.from_hidden = gradients.from_input;
    gradients.hidden = at::zeros_like(of_hidden);
  }
  return gradients;
}

// --- One direction of a layer, over all steps ---------------------------------------------------
struct Weights {
  at::Tensor input;
  at::Tensor hidden;
  at::Tensor input_bias;  // undefined if there is none
  at::Tensor hidden_bias;
};

class Direction {
 public:
  Direction(int64_t mode, const Weights& weights, bool backwards)
      : mode_(mode), weights_(weights), backwards_(backwards) {}

  // Converts [steps, batch, features] to [steps, batch, hidden].
  at::Tensor Run(const at::Tensor& input, const at::Tensor& hidden, const at::Tensor& cell) {
    input_ = backwards_ ? input.flip(0) : input;
    hidden_ = {hidden};
    cell_ = {cell};
    const at::Tensor projected = Plus(at::matmul(input_, weights_.input.t()), weights_.input_bias);
    std::vector<at::Tensor> outputs;
    for (int64_t t = 0; t < input_.size(0); ++t) {
      steps_.push_back(
          Advance(mode_, projected[t],
                  Plus(at::matmul(hidden_.back(), weights_.hidden.t()), weights_.hidden_bias),
                  hidden_.back(), cell_.back()));
      hidden_.push_back(steps_.back().hidden);
      cell_.push_back(steps_.back().cell);
      outputs.push_back(hidden_.back());
    }
    const at::Tensor output = at::stack(outputs);
    return backwards_ ? output.flip(0) : output;
  }

  // Returns the gradient of the input, and stores the other gradients.
  at::Tensor Return(const at::Tensor& of_output, at::Tensor of_hidden, at::Tensor of_cell) {
    const at::Tensor ordered = backwards_ ? of_output.flip(0) : of_output;
    std::vector<at::Tensor> from_input(steps_.size());
    std::vector<at::Tensor> from_hidden(steps_.size());
    for (size_t t = steps_.size(); t-- > 0;) {
      const StepGradients gradients =
          values::Return(mode_, steps_[t], hidden_[t], cell_[t],
                         ordered[static_cast<int64_t>(t)] + of_hidden, of_cell);
      from_input[t] = gradients.from_input;
      from_hidden[t] = gradients.from_hidden;
      of_hidden = gradients.hidden + at::matmul(gradients.from_hidden, weights_.hidden);
      of_cell = gradients.cell;
    }
    of_first_hidden = of_hidden;
    of_first_cell = of_cell;
    const at::Tensor inputs = at::stack(from_input);
    const at::Tensor hiddens = at::stack(from_hidden);
    hidden_.pop_back();
    of_weights.input = at::matmul(inputs.flatten(0, 1).t(), input_.flatten(0, 1));
    of_weights.hidden = at::matmul(hiddens.flatten(0, 1).t(), at::stack(hidden_).flatten(0, 1));
    of_weights.input_bias = inputs.flatten(0, 1).sum(0);
    of_weights.hidden_bias = hiddens.flatten(0, 1).sum(0);
    const at::Tensor of_input = at::matmul(inputs, weights_.input);
    return backwards_ ? of_input.flip(0) : of_input;
  }

  const at::Tensor& last_hidden() const { return hidden_.back(); }
  const at::Tensor& last_cell() const { return cell_.back(); }

  at::Tensor of_first_hidden;
  at::Tensor of_first_cell;
  Weights of_weights;

 private:
  int64_t mode_;
  const Weights weights_;
  bool backwards_;
  at::Tensor input_;
  std::vector<Step> steps_;
  std::vector<at::Tensor> hidden_;  // the states before each step, and after the last one
  std::vector<at::Tensor> cell_;
};

// --- All layers ---------------------------------------------------------------------------------
class Network {
 public:
  explicit Network(const OperatorCall& call)
      : mode_(call.Count("mode", kLstm)),
        layers_(call.Count("num_layers", 1)),
        ways_(call.Flag("bidirectional", false) ? 2 : 1),
        batch_first_(call.Flag("batch_first", false)),
        per_direction_(call.Count("weight_stride0", 4)) {
    TORCH_CHECK(call.Count("proj_size", 0) == 0, "projections are not known here");
    TORCH_CHECK(call.Get("batch_sizes").toIntVector().empty(),
                "packed sequences are not known here");
    const auto weights = call.Get("weight").toTensorVector();
    const at::Tensor hidden = call.Tensor("hx");
    const at::Tensor cell = OrZero(call.MaybeTensor("cx"), hidden);
    at::Tensor layer = InSteps(call.Tensor("input"));
    for (int64_t i = 0; i < layers_; ++i) {
      std::vector<at::Tensor> outputs;
      for (int64_t way = 0; way < ways_; ++way) {
        const int64_t number = i * ways_ + way;
        directions_.emplace_back(mode_, WeightsOf(weights, number), way == 1);
        outputs.push_back(directions_.back().Run(layer, hidden[number], cell[number]));
      }
      layer = at::cat(outputs, -1);
    }
    output_ = layer;
  }

  at::Tensor Output() const { return InSteps(output_); }

  at::Tensor LastHidden() const {
    std::vector<at::Tensor> all;
    for (const Direction& direction : directions_) all.push_back(direction.last_hidden());
    return at::stack(all);
  }
  at::Tensor LastCell() const {
    std::vector<at::Tensor> all;
    for (const Direction& direction : directions_) {
      all.push_back(OrZero(direction.last_cell(), direction.last_hidden()));
    }
    return at::stack(all);
  }

  // Returns the gradient of the input.
  at::Tensor Return(const at::Tensor& of_output, const at::Tensor& of_hidden,
                    const at::Tensor& of_cell) {
    at::Tensor layer = of_output.defined() ? InSteps(of_output) : at::zeros_like(output_);
    const at::Tensor last = LastHidden();
    const at::Tensor hidden = OrZero(of_hidden, last);
    const at::Tensor cell = OrZero(of_cell, last);
    for (int64_t i = layers_; i-- > 0;) {
      const auto parts = layer.chunk(ways_, -1);
      at::Tensor of_input;
      for (int64_t way = 0; way < ways_; ++way) {
        const int64_t number = i * ways_ + way;
        const at::Tensor of_one = directions_[static_cast<size_t>(number)].Return(
            parts[static_cast<size_t>(way)], hidden[number], cell[number]);
        of_input = of_input.defined() ? of_input + of_one : of_one;
      }
      layer = of_input;
    }
    return InSteps(layer);
  }

  at::Tensor OfFirstHidden() const {
    std::vector<at::Tensor> all;
    for (const Direction& direction : directions_) all.push_back(direction.of_first_hidden);
    return at::stack(all);
  }
  at::Tensor OfFirstCell() const {
    if (mode_ != kLstm) return {};
    std::vector<at::Tensor> all;
    for (const Direction& direction : directions_) all.push_back(direction.of_first_cell);
    return at::stack(all);
  }
  c10::List<at::Tensor> OfWeights() const {
    c10::List<at::Tensor> all;
    for (const Direction& direction : directions_) {
      all.push_back(direction.of_weights.input);
      all.push_back(direction.of_weights.hidden);
      if (per_direction_ < 4) continue;
      all.push_back(direction.of_weights.input_bias);
      all.push_back(direction.of_weights.hidden_bias);
    }
    return all;
  }

 private:
  at::Tensor InSteps(const at::Tensor& tensor) const {
    return batch_first_ ? tensor.transpose(0, 1) : tensor;
  }

  Weights WeightsOf(const std::vector<at::Tensor>& all, int64_t number) const {
    const auto first = static_cast<size_t>(number * per_direction_);
    Weights weights{all.at(first), all.at(first + 1), {}, {}};
    if (per_direction_ >= 4) {
      weights.input_bias = all.at(first + 2);
      weights.hidden_bias = all.at(first + 3);
    }
    return weights;
  }

  int64_t mode_;
  int64_t layers_;
  int64_t ways_;
  bool batch_first_;
  int64_t per_direction_;
  std::vector<Direction> directions_;
  at::Tensor output_;
};

void RecurrentLayers(const OperatorCall& call) {
  const Network network(call);
  const bool has_cell = call.Count("mode", kLstm) == kLstm;
  call.Return(
      {network.Output(), network.LastHidden(), has_cell ? network.LastCell() : at::Tensor()});
}

void RecurrentLayersBackward(const OperatorCall& call) {
  Network network(call);
  const at::Tensor of_input = network.Return(
      call.MaybeTensor("grad_output"), call.MaybeTensor("grad_hy"), call.MaybeTensor("grad_cy"));
  call.Return({of_input, network.OfFirstHidden(), network.OfFirstCell(), network.OfWeights()});
}

// --- Fused cells --------------------------------------------------------------------------------
Step CellOf(int64_t mode, const OperatorCall& call, const at::Tensor& hidden,
            const at::Tensor& cell) {
  return Advance(mode, Plus(call.Tensor("input_gates"), call.MaybeTensor("input_bias")),
                 Plus(call.Tensor("hidden_gates"), call.MaybeTensor("hidden_bias")), hidden, cell);
}

void LstmCell(const OperatorCall& call) {
  const Step step = CellOf(kLstm, call, {}, call.Tensor("cx"));
  call.Return({step.hidden, step.cell, step.gates});
}

void LstmCellBackward(const OperatorCall& call) {
  const at::Tensor after = call.Tensor("cy");
  const Step step{call.Tensor("workspace"), {}, {}, after};
  const StepGradients gradients =
      Return(kLstm, step, {}, call.Tensor("cx"), OrZero(call.MaybeTensor("grad_hy"), after),
             OrZero(call.MaybeTensor("grad_cy"), after));
  at::Tensor of_bias;
  if (call.Flag("has_bias", false)) of_bias = gradients.from_input.sum(0);
  call.Return({gradients.from_input, gradients.cell, of_bias});
}

// The layout of the workspace is free, because only the backward rule below reads it.
void GruCell(const OperatorCall& call) {
  const at::Tensor hidden = call.Tensor("hx");
  const Step step = CellOf(kGru, call, hidden, {});
  call.Return({step.hidden, at::cat({step.gates, hidden, step.hidden_new}, -1)});
}

void GruCellBackward(const OperatorCall& call) {
  const auto kept = call.Tensor("workspace").chunk(5, -1);
  const Step step{at::cat({kept[0], kept[1], kept[2]}, -1), kept[4], {}, {}};
  const StepGradients gradients = Return(kGru, step, kept[3], {}, call.Tensor("grad_hy"), {});
  at::Tensor of_input_bias;
  at::Tensor of_hidden_bias;
  if (call.Flag("has_bias", false)) {
    of_input_bias = gradients.from_input.sum(0);
    of_hidden_bias = gradients.from_hidden.sum(0);
  }
  call.Return({gradients.from_input, gradients.from_hidden, gradients.hidden, of_input_bias,
               of_hidden_bias});
}

}  // namespace

Rule FindRecurrentRule(std::string_view name) {
  if (name == "aten::_cudnn_rnn") return RecurrentLayers;
  if (name == "aten::_cudnn_rnn_backward") return RecurrentLayersBackward;
  if (name == "aten::_thnn_fused_lstm_cell") return LstmCell;
  if (name == "aten::_thnn_fused_lstm_cell_backward_impl") return LstmCellBackward;
  if (name == "aten::_thnn_fused_gru_cell") return GruCell;
  if (name == "aten::_thnn_fused_gru_cell_backward") return GruCellBackward;
  return nullptr;
}

}  // namespace vramstow::values
