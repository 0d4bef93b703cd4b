"""PPO learns a task with random rewards. With `graphs` its network then acts from a CUDA graph."""

from __future__ import annotations

import sys

import gymnasium
import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.policies import ActorCriticPolicy
from tell import captured, parameters_of, state_of, tell_client

SEEN, ACTIONS, ROUNDS, STEPS, ROWS, EPOCHS = 256, 4, 2, 64, 32, 3


class Task(gymnasium.Env):
    """A task whose observations do not depend on the agent's actions."""

    observation_space = gymnasium.spaces.Box(-1, 1, (SEEN,), np.float32)
    action_space = gymnasium.spaces.Discrete(ACTIONS)

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple:
        super().reset(seed=seed)
        return self._look(), {}

    def step(self, action: int) -> tuple:
        return (
            self._look(),
            float(self.np_random.random()),
            self.np_random.random() < 0.1,
            False,
            {},
        )

    def _look(self) -> np.ndarray:
        return self.np_random.uniform(-1, 1, SEEN).astype(np.float32)


class Counting:
    """Counts the steps of the optimizer."""

    steps = 0

    def __call__(self, *_: object) -> None:
        self.steps += 1


agent = PPO(
    ActorCriticPolicy,
    Task(),
    n_steps=STEPS,
    batch_size=ROWS,
    n_epochs=EPOCHS,
    policy_kwargs={"net_arch": [1024, 1024]},
    device="cuda",
    seed=1,
)
counting = Counting()
policy = agent.policy
policy.optimizer.register_step_post_hook(counting)
agent.learn(ROUNDS * STEPS)
if "graphs" in sys.argv[1:]:
    seen = torch.rand(1, SEEN, device="cuda")
    assert captured(lambda: policy.mlp_extractor.forward_actor(seen)) == [1, 1024]
tell_client(
    end=agent.num_timesteps,
    iterations=counting.steps,
    parameters=parameters_of(policy),
    optimizer_state=state_of(policy.optimizer),
)
