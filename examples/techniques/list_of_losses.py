"""A list of losses: each loss references its whole autograd graph.

Group: lifetime
Claim: the most frequent leak in tutorials.
Do: Store loss.item(), or loss.detach() if waiting for the device in each step costs too much time.
Note: After backward() the activations are freed, but not the graph and the objects that it
references. Without backward(), as in this evaluation, all activations stay.
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
