"""A list of losses: each one keeps its whole graph alive.

Group: lifetime
Claim: the leak that tutorials name most.
Do: Keep loss.item(), or loss.detach() where waiting for the device in each step costs too much.
Note: After backward() the activations are gone, but not the graph with what it refers to; without
backward(), as here in an evaluation, all activations stay.
"""

from workload import LanguageModel, iteration, loss_of, main, text

BATCHES = 5


def before() -> None:
    model = LanguageModel().to("cuda")
    losses = []
    for number in range(BATCHES):
        iteration(number)
        losses.append(loss_of(model, text(8).to("cuda")))
    print(sum(loss.item() for loss in losses))


def after() -> None:
    model = LanguageModel().to("cuda")
    losses = []
    for number in range(BATCHES):
        iteration(number)
        losses.append(loss_of(model, text(8).to("cuda")).item())
    print(sum(losses))


if __name__ == "__main__":
    main(before=before, after=after)
