"""Trains an LSTM language model with a loop that updates the weights without an optimizer.

The state continues from piece to piece of the text, and each epoch ends with an evaluation.
"""

from __future__ import annotations

import torch
from tell import parameters_of, tell, trained_of
from torch import nn

WORDS = 4000
WIDTH = 256
BATCH = 20
PIECE = 35
PIECES = 5  # pieces of text in an epoch
EPOCHS = 2


class Language(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Embedding(WORDS, WIDTH)
        self.rnn = nn.LSTM(WIDTH, WIDTH, 2)
        self.decoder = nn.Linear(WIDTH, WORDS)

    def forward(
        self, words: torch.Tensor, state: tuple[torch.Tensor, ...]
    ) -> tuple[torch.Tensor, tuple[torch.Tensor, ...]]:
        output, state = self.rnn(self.encoder(words), state)
        decoded = self.decoder(output).view(-1, WORDS)
        return torch.log_softmax(decoded, dim=1), state

    def first_state(self) -> tuple[torch.Tensor, torch.Tensor]:
        weight = next(self.parameters())
        return weight.new_zeros(2, BATCH, WIDTH), weight.new_zeros(2, BATCH, WIDTH)


def pieces_of(text: torch.Tensor) -> list[tuple[torch.Tensor, torch.Tensor]]:
    begins = range(0, len(text) - 1, PIECE)
    return [(text[i : i + PIECE], text[i + 1 : i + 1 + PIECE].reshape(-1)) for i in begins]


def evaluate(model: Language, text: torch.Tensor) -> None:
    model.eval()
    state = model.first_state()
    with torch.no_grad():
        for words, wanted in pieces_of(text)[:2]:
            output, state = model(words, state)
            nn.functional.nll_loss(output, wanted)


def train(model: Language, text: torch.Tensor) -> None:
    model.train()
    state = model.first_state()
    for words, wanted in pieces_of(text):
        model.zero_grad()
        state = tuple(part.detach() for part in state)
        output, state = model(words, state)
        nn.functional.nll_loss(output, wanted).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        for parameter in model.parameters():
            parameter.data.add_(parameter.grad, alpha=-20)


text = torch.randint(0, WORDS, (PIECE * PIECES + 1, BATCH)).cuda()
model = Language().cuda()
for _ in range(EPOCHS):
    train(model, text)
    evaluate(model, text)
tell(
    steps=PIECES * EPOCHS,
    parameters=parameters_of(model),
    gradients=trained_of(model),
)
