"""Finding the costliest operation of a model: here an embedding by one-hot vectors.

Group: monitoring
Claim: tutorials go through a model with hooks and print each module's difference.
Do: vramstow run --stacks=all, then vramstow analyze: it lists operators and lines by what they
held at the peak. Replace the first.
"""

from torch import Tensor, nn
from torch.nn import functional
from workload import VOCABULARY, LanguageModel, main, train


class OneHotEmbedding(nn.Embedding):
    """The same as an embedding, by a matrix product."""

    def forward(self, tokens: Tensor) -> Tensor:
        return functional.one_hot(tokens, VOCABULARY).to(self.weight.dtype) @ self.weight


def before() -> None:
    model = LanguageModel()
    model.tokens = OneHotEmbedding(VOCABULARY, model.tokens.embedding_dim)
    train(model.to("cuda"))


def after() -> None:
    train(LanguageModel().to("cuda"))


if __name__ == "__main__":
    main(before=before, after=after)
