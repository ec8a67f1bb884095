"""The sequence cases of train_case.cc in PaddlePaddle.

Variants: padded (computes all padding and selects the last real state), masked (sequence_length of
nn.LSTM) and loop (calls a cell step by step). With "-jit" the network runs under to_static.
PaddlePaddle has no packed sequences.
"""

import numpy as np
import paddle
from paddle import nn
from paddle.nn import functional as F

from batches import PIECES, WORDS, batches, padded

HIDDEN = 256


def last_states(states, length):
    return paddle.gather_nd(states, paddle.stack([paddle.arange(len(length)), length - 1], 1))


def run_lstm(lstm, x, length, form):
    if form.startswith("masked"):
        return lstm(x, sequence_length=length)[1][0][0]
    return last_states(lstm(x)[0], length)


class LstmCell(nn.Layer):
    def __init__(self, width, units):
        super().__init__()
        self.gates = nn.Linear(width + units, 4 * units)

    def forward(self, x, h, c):
        i, f, g, o = paddle.chunk(self.gates(paddle.concat([x, h], 1)), 4, 1)
        c = F.sigmoid(f + 1) * c + F.sigmoid(i) * paddle.tanh(g)
        return F.sigmoid(o) * paddle.tanh(c), c


class Sentiment(nn.Layer):
    def __init__(self, form):
        super().__init__()
        self.form = form
        self.embedding = nn.Embedding(WORDS, 128)
        self.lstm = LstmCell(128, 128) if form == "loop" else nn.LSTM(128, 128)
        self.logits = nn.Linear(128, 2)

    def forward(self, words, length):
        x = self.embedding(words)
        if self.form != "loop":
            return self.logits(run_lstm(self.lstm, x, length, self.form))
        h = c = paddle.zeros([x.shape[0], 128])
        states = []
        for now in paddle.unbind(x, 1):
            h, c = self.lstm(now, h, c)
            states.append(h)
        return self.logits(last_states(paddle.stack(states, 1), length))


class Translation(nn.Layer):
    def __init__(self, form):
        super().__init__()
        self.form = form
        self.source = nn.Embedding(PIECES, HIDDEN)
        self.gru = nn.GRU(HIDDEN, HIDDEN)
        self.keys = nn.Linear(HIDDEN, HIDDEN, bias_attr=False)
        self.target = nn.Embedding(PIECES, HIDDEN)
        self.first = nn.Linear(HIDDEN, HIDDEN)
        self.query = nn.Linear(HIDDEN, HIDDEN)
        self.score = nn.Linear(HIDDEN, 1, bias_attr=False)
        self.cell = nn.GRUCell(2 * HIDDEN, HIDDEN)
        self.logits = nn.Linear(HIDDEN, PIECES)

    def forward(self, source, length, hidden, target, real):
        x = self.source(source)
        if self.form.startswith("masked"):
            read, end = self.gru(x, sequence_length=length)
            end = end[0]
        else:
            read, _ = self.gru(x)
            end = last_states(read, length)
        keys, said = self.keys(read), self.target(target)
        h = paddle.tanh(self.first(end))
        states = []
        for now in paddle.unbind(said, 1):
            score = self.score(paddle.tanh(keys + self.query(h).unsqueeze(1))).squeeze(2)
            weights = F.softmax(score + hidden, 1)
            context = paddle.bmm(weights.unsqueeze(1), read).squeeze(1)
            h, _ = self.cell(paddle.concat([now, context], 1), h)
            states.append(h)
        flat = paddle.stack(states, 1).reshape([-1, HIDDEN])
        return self.logits(paddle.gather(flat, real))


class Documents(nn.Layer):
    def __init__(self, form):
        super().__init__()
        self.form = form
        self.embedding = nn.Embedding(WORDS, 128)
        self.words = nn.LSTM(128, 128)
        self.sentences = nn.LSTM(128, 128)
        self.logits = nn.Linear(128, 2)

    def forward(self, words, length, place, count):
        sentences = run_lstm(self.words, self.embedding(words), length, self.form)
        rows = paddle.gather(sentences, place.flatten()).reshape([*place.shape, 128])
        return self.logits(run_lstm(self.sentences, rows, count, self.form))


def sentence_batch(i):
    flat, length, label = batches("sentiment")[i]
    return (padded(flat, length), length), label


def translation_batch(i):
    source, length, target, target_length, label = batches("translation")[i]
    source, target = padded(source, length), padded(target, target_length)
    hidden = np.where(np.arange(source.shape[1]) >= length[:, None], -1e9, 0).astype(np.float32)
    real = np.flatnonzero(np.arange(target.shape[1]) < target_length[:, None])
    return (source, length, hidden, target, real), label


def document_batch(i):
    flat, outer, inner, label = batches("documents")[i]
    place = padded(np.arange(len(inner)), outer)
    return (padded(flat, inner), inner, place, outer), label


CASES = {"sentiment": (Sentiment, sentence_batch), "own_lstm": (Sentiment, sentence_batch),
         "translation": (Translation, translation_batch),
         "documents": (Documents, document_batch)}


def make_step(case, variant):
    network, batch = CASES[case]
    form, _, jit = variant.partition("-")
    net = network(form)
    data = []
    for i in range(8):
        inputs, label = batch(i)
        data.append(([paddle.to_tensor(a) for a in inputs], paddle.to_tensor(label)))
    optimizer = paddle.optimizer.Adam(1e-3, parameters=net.parameters(), use_multi_tensor=True)
    if jit:
        net = paddle.jit.to_static(net, full_graph=True)

    def step(i):
        inputs, label = data[i]
        loss = F.cross_entropy(net(*inputs), label)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad(set_to_zero=False)
        return loss

    return step, len(data)
