"""A small network for synthetic clicks, whose tables are on parameter servers. An ordinary program,
except for the Member: it makes the program one process of a job, or the only one.

    python clicks_by_processes.py [examples]
    trireme launch --program "python clicks_by_processes.py" --trainers 2 --servers 2 [-- examples]
"""

import sys

import trireme as tr


def main() -> None:
    examples = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    clicks = tr.datasets.synthetic_clicks(examples=examples, ids=1000)
    others = tr.datasets.synthetic_clicks(examples=10_000, first=1_000_000_000, ids=1000)

    program = tr.Program("clicks")
    numbers = program.input("features", tr.f32, ("batch", 13))
    clicked = program.input("target", tr.f32, ("batch", 1))
    # Only a table with a sparse gradient can be stored on servers.
    rows = [tr.nn.embedding(program.input(column.name, tr.i64, ("batch",)),
                            num_embeddings=column.ids, dim=8, sparse_gradient=True)
            for column in clicks.columns if column.ids > 0]
    x = tr.nn.linear(tr.concat([numbers, *rows], axis=1), 32, activation="relu")
    score = tr.nn.linear(x, 1)
    loss = tr.losses.binary_cross_entropy_with_logits(score, clicked).mean()

    how = tr.distributed.Distribution(mode="asynchronous", task_batches=8)
    with tr.distributed.join(how) as member:
        trainer = member.trainer(loss, tr.optim.Adagrad(0.05, initial=1e-4),
                                 [tr.metrics.auc(score, clicked)])
        member.train(trainer, clicks.shuffle(1).batch(128))
        if member.is_chief:  # true in one of the trainers
            print(f"test auc: {trainer.evaluate(others.batch(1000))['auc']:.4f}")
            member.save(trainer, "clicks_by_processes", outputs=[tr.sigmoid(score)],
                        target="target")


if __name__ == "__main__":
    main()
