// Trains a small network in C++, without Python in the process. Usage: train [STEPS]
#include <torch/torch.h>

#include <cstdlib>
#include <iostream>

int main(int argc, char** argv) {
  const int steps = argc > 1 ? std::atoi(argv[1]) : 4;
  torch::manual_seed(0);
  const torch::Device device(torch::kCUDA);
  torch::nn::Sequential model(torch::nn::Linear(64, 256), torch::nn::ReLU(),
                              torch::nn::Linear(256, 10));
  model->to(device);
  torch::optim::Adam optimizer(model->parameters(), torch::optim::AdamOptions(1e-3));
  for (int step = 0; step < steps; ++step) {
    const torch::Tensor batch = torch::randn({32, 64}).to(device);
    const torch::Tensor wanted = torch::randn({32, 10}).to(device);
    optimizer.zero_grad();
    const torch::Tensor loss = torch::mse_loss(model->forward(batch), wanted);
    loss.backward();
    optimizer.step();
    std::cout << "step " << step << ": loss " << loss.item<float>() << std::endl;
  }
  return 0;
}
