"""The sequence cases of train_case.cc in PyTorch, with parameters in the same order.

Variants: padded (to the longest of the batch; padding is masked where it would change the result),
packed (pack_padded_sequence), loop (calls cells step by step on padded batches, as a custom step
requires) and loop-compile (the same with the cell under torch.compile). Batches are padded, and
sorted by decreasing length where that is faster, before the clock starts.
"""

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from batches import PIECES, WORDS, batches, padded

HIDDEN = 256


def tensors(*arrays):
    return [torch.from_numpy(np.ascontiguousarray(a)) for a in arrays]


def last_states(states, length):
    """The state at each sequence's end, of states [n, longest, width]."""
    return states[torch.arange(len(length)), length - 1]


def run_lstm(lstm, x, length, form):
    """The last state of each sequence of x [n, longest, width], sorted by length if packed."""
    if form == "packed":
        packed = pack_padded_sequence(x, length, batch_first=True, enforce_sorted=True)
        return lstm(packed)[1][0][0]
    return last_states(lstm(x)[0], length)


class LstmCell(nn.Module):
    """One step of an LSTM, written with basic operations."""

    def __init__(self, width, units):
        super().__init__()
        self.gates = nn.Linear(width + units, 4 * units)

    def forward(self, x, h, c):
        i, f, g, o = self.gates(torch.cat([x, h], 1)).chunk(4, 1)
        c = torch.sigmoid(f + 1) * c + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(c), c


class Sentiment(nn.Module):
    def __init__(self, form):
        super().__init__()
        self.form = form
        self.embedding = nn.Embedding(WORDS, 128)
        custom = form.startswith("loop")
        self.lstm = LstmCell(128, 128) if custom else nn.LSTM(128, 128, batch_first=True)
        self.logits = nn.Linear(128, 2)
        self.cell = torch.compile(self.lstm) if form == "loop-compile" else self.lstm

    def loop(self, x, length):
        h = c = x.new_zeros(x.shape[0], 128)
        states = []
        for now in x.unbind(1):
            h, c = self.cell(now, h, c)
            states.append(h)
        return last_states(torch.stack(states, 1), length)

    def forward(self, words, length):
        x = self.embedding(words)
        if self.form.startswith("loop"):
            return self.logits(self.loop(x, length))
        return self.logits(run_lstm(self.lstm, x, length, self.form))


class DecoderStep(nn.Module):
    def __init__(self):
        super().__init__()
        self.query = nn.Linear(HIDDEN, HIDDEN)
        self.score = nn.Linear(HIDDEN, 1, bias=False)
        self.cell = nn.GRUCell(2 * HIDDEN, HIDDEN)

    def forward(self, now, h, read, keys, hidden):
        score = self.score(torch.tanh(keys + self.query(h)[:, None])).squeeze(2)
        weights = score.masked_fill(hidden, float("-inf")).softmax(1)
        context = torch.bmm(weights[:, None], read)[:, 0]
        return self.cell(torch.cat([now, context], 1), h)


class Translation(nn.Module):
    def __init__(self, form):
        super().__init__()
        self.form = form
        self.source = nn.Embedding(PIECES, HIDDEN)
        self.gru = nn.GRU(HIDDEN, HIDDEN, batch_first=True)
        self.keys = nn.Linear(HIDDEN, HIDDEN, bias=False)
        self.target = nn.Embedding(PIECES, HIDDEN)
        self.first = nn.Linear(HIDDEN, HIDDEN)
        self.step = DecoderStep()
        self.logits = nn.Linear(HIDDEN, PIECES)
        self.run = torch.compile(self.step) if form.endswith("compile") else self.step

    def forward(self, source, length, hidden, target, real):
        x = self.source(source)
        if self.form.startswith("packed"):
            packed = pack_padded_sequence(x, length, batch_first=True, enforce_sorted=True)
            states, end = self.gru(packed)
            read, _ = pad_packed_sequence(states, batch_first=True)
            end = end[0]
        else:
            read, _ = self.gru(x)
            end = last_states(read, length)
        keys, said = self.keys(read), self.target(target)
        h = torch.tanh(self.first(end))
        states = []
        for now in said.unbind(1):
            h = self.run(now, h, read, keys, hidden)
            states.append(h)
        return self.logits(torch.stack(states, 1)[real])  # without padding


class Documents(nn.Module):
    def __init__(self, form):
        super().__init__()
        self.form = form
        self.embedding = nn.Embedding(WORDS, 128)
        self.words = nn.LSTM(128, 128, batch_first=True)
        self.sentences = nn.LSTM(128, 128, batch_first=True)
        self.logits = nn.Linear(128, 2)

    def forward(self, words, length, place, count):
        """`place` is the index of each document's sentences, [documents, max sentences]."""
        sentences = run_lstm(self.words, self.embedding(words), length, self.form)
        return self.logits(run_lstm(self.sentences, sentences[place], count, self.form))


# --- Batches: (arguments of the network, labels) -------------------------------------------------


def sentence_batch(i):
    flat, length, label = batches("sentiment")[i]
    order = np.argsort(-length, kind="stable")
    words, length, label = tensors(padded(flat, length)[order], length[order], label[order])
    return (words, length), label


def translation_batch(i):
    source, length, target, target_length, following = batches("translation")[i]
    order = np.argsort(-length, kind="stable")
    source, target = padded(source, length)[order], padded(target, target_length)[order]
    following = padded(following, target_length)[order]
    length, target_length = length[order], target_length[order]
    hidden = np.arange(source.shape[1]) >= length[:, None]
    real = np.arange(target.shape[1]) < target_length[:, None]
    *inputs, label = tensors(source, length, hidden, target, real, following[real])
    return tuple(inputs), label


def document_batch(i):
    flat, outer, inner, label = batches("documents")[i]
    order = np.argsort(-inner, kind="stable")  # sentences
    by_count = np.argsort(-outer, kind="stable")  # documents
    rank = np.argsort(order, kind="stable")
    place = padded(rank, outer)[by_count]
    *inputs, label = tensors(padded(flat, inner)[order], inner[order], place, outer[by_count],
                             label[by_count])
    return tuple(inputs), label


CASES = {"sentiment": (Sentiment, sentence_batch), "own_lstm": (Sentiment, sentence_batch),
         "translation": (Translation, translation_batch),
         "documents": (Documents, document_batch)}


def make_step(case, form, net=None):
    """Returns step(i), and the number of batches."""
    network, batch = CASES[case]
    net = network(form) if net is None else net
    data = [batch(i) for i in range(8)]
    optimizer = torch.optim.Adam([p for p in net.parameters() if p.requires_grad], 1e-3, fused=True)

    def step(i):
        inputs, label = data[i]
        loss = F.cross_entropy(net(*inputs), label)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step, len(data)


# --- Trireme's parameters in these networks ------------------------------------------------------


def put(parameter, array):
    with torch.no_grad():
        parameter.copy_(torch.from_numpy(np.ascontiguousarray(array)))


def put_linear(layer, weights, name):
    put(layer.weight, weights[name + ".weight"].T)
    if layer.bias is not None:
        put(layer.bias, weights[name + ".bias"])


def put_lstm(lstm, weights, name):
    """Trireme has one bias and adds 1 to that of the forget gate. PyTorch's second bias stays 0."""
    bias = weights[name + ".bias"].copy()
    bias[128:256] += 1
    put(lstm.weight_ih_l0, weights[name + ".weight"].T)
    put(lstm.weight_hh_l0, weights[name + ".recurrent"].T)
    put(lstm.bias_ih_l0, bias)
    put(lstm.bias_hh_l0, 0 * bias)
    lstm.bias_hh_l0.requires_grad_(False)


def put_gru(weight_ih, weight_hh, bias_ih, bias_hh, weights, name):
    """PyTorch's second bias of the first two gates stays 0, because Trireme does not have it."""
    inner = weights[name + ".recurrent_bias"]
    put(weight_ih, weights[name + ".weight"].T)
    put(weight_hh, weights[name + ".recurrent"].T)
    put(bias_ih, weights[name + ".bias"])
    put(bias_hh, np.concatenate([np.zeros(2 * HIDDEN, np.float32), inner]))
    used = torch.arange(3 * HIDDEN) >= 2 * HIDDEN
    bias_hh.register_hook(lambda gradient: gradient * used)


def with_our_weights(case, weights):
    """The network with Trireme's parameters and the name of its variant, for check.py."""
    if case == "own_lstm":
        net = Sentiment("loop")
        put(net.embedding.weight, weights["embedding_0.weight"])
        put_linear(net.lstm.gates, weights, "linear_0")
        put_linear(net.logits, weights, "linear_1")
        return net, "loop"
    if case == "sentiment":
        net = Sentiment("packed")
        put(net.embedding.weight, weights["embedding_0.weight"])
        put_lstm(net.lstm, weights, "lstm_0/layer_0")
        put_linear(net.logits, weights, "linear_0")
        return net, "packed"
    if case == "documents":
        net = Documents("packed")
        put(net.embedding.weight, weights["embedding_0.weight"])
        put_lstm(net.words, weights, "lstm_0/layer_0")
        put_lstm(net.sentences, weights, "lstm_1/layer_0")
        put_linear(net.logits, weights, "linear_0")
        return net, "packed"
    net = Translation("packed")
    put(net.source.weight, weights["source.weight"])
    put(net.target.weight, weights["target.weight"])
    g = net.gru
    put_gru(g.weight_ih_l0, g.weight_hh_l0, g.bias_ih_l0, g.bias_hh_l0, weights, "gru_0/layer_0")
    put_linear(net.keys, weights, "keys")
    put_linear(net.first, weights, "first")
    put_linear(net.step.query, weights, "query")
    put_linear(net.step.score, weights, "score")
    g = net.step.cell
    put_gru(g.weight_ih, g.weight_hh, g.bias_ih, g.bias_hh, weights, "gru_1")
    put_linear(net.logits, weights, "logits")
    return net, "packed"
