"""Finding the operation of a model that needs most memory: here an embedding by one-hot vectors.

Group: monitoring
Claim: tutorials run a model with hooks and print the difference of memory for each module.
Do: Use vramstow run --stacks=all, then vramstow analyze: it lists operators and source lines by
their memory at the peak. Replace the first one.
"""

from torch import Tensor, nn
from torch.nn import functional
from workload import VOCABULARY, LanguageModel, main, train


class OneHotEmbedding(nn.Embedding):
    """Computes an embedding by a matrix product."""

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
