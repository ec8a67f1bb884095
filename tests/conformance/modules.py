"""PyTorch's modules with Trireme's parameters, which are given in creation order."""

import math

import torch
from torch.nn.utils.stateless import functional_call


def _attention(prefix, p, same_width=True):
    """Takes Trireme's weights [in, out] and biases of query, key, value and out. The key has no
    bias."""
    query, query_bias, key, value, value_bias, out, out_bias = p
    none = torch.zeros_like(query_bias)
    state = {prefix + "in_proj_bias": torch.cat([query_bias, none, value_bias]),
             prefix + "out_proj.weight": out.T, prefix + "out_proj.bias": out_bias}
    if same_width:
        state[prefix + "in_proj_weight"] = torch.cat([query.T, key.T, value.T])
    else:
        state.update({prefix + "q_proj_weight": query.T, prefix + "k_proj_weight": key.T,
                      prefix + "v_proj_weight": value.T})
    return state


def _norm(prefix, p):
    return {prefix + "weight": p[0], prefix + "bias": p[1]}


def _linear(prefix, p):
    return {prefix + "weight": p[0].T, prefix + "bias": p[1]}


def attention(query, key, value, p, heads, mask=None, key_mask=None):
    """Boolean masks follow Trireme: true where a query may attend."""
    module = torch.nn.MultiheadAttention(query.shape[2], heads, batch_first=True,
                                         kdim=key.shape[2], vdim=value.shape[2]).double()
    same = query.shape[2] == key.shape[2] == value.shape[2]
    if mask is not None and mask.dtype == torch.bool:
        mask = ~mask
    masked = None if key_mask is None else ~key_mask
    result, _ = functional_call(module, _attention("", p, same), (query, key, value),
                                {"attn_mask": mask, "key_padding_mask": masked})
    return result


def rotary(x, heads, base=10000.0, interleaved=True):
    """Su et al. 2021: pairs of columns as complex numbers, x [batch, steps, heads * width]."""
    split = x.unflatten(-1, (heads, -1))
    half = split.shape[-1] // 2
    if interleaved:
        pairs = split.unflatten(-1, (half, 2))
    else:
        pairs = split.unflatten(-1, (2, half)).transpose(-1, -2)
    steps = torch.arange(x.shape[1], dtype=x.dtype)
    angles = steps[:, None] * base ** (-torch.arange(half, dtype=x.dtype) / half)
    turned = torch.view_as_complex(pairs.contiguous()) * torch.exp(1j * angles)[:, None]
    turned = torch.view_as_real(turned)
    return (turned if interleaved else turned.transpose(-1, -2)).reshape(x.shape)


def _bucket(distance, buckets, largest, before):
    """The bucket of Raffel et al. 2020 of a key `distance` steps after the query."""
    first = 0
    if before:
        distance = max(-distance, 0)
    else:
        buckets //= 2
        first = buckets if distance > 0 else 0
        distance = abs(distance)
    exact = buckets // 2
    if distance < exact:
        return first + distance
    share = math.log(distance / exact) / math.log(largest / exact)
    return first + min(exact + math.floor(share * (buckets - exact) + 1e-9), buckets - 1)


def buckets_bias(table, queries, keys, largest, before):
    """[heads, queries, keys]."""
    rows = [[_bucket(k - q, len(table), largest, before) for k in range(keys)]
            for q in range(queries)]
    return table[torch.tensor(rows)].permute(2, 0, 1)


def linear_bias(heads, queries, keys):
    """Press et al. 2022: slopes of the next smaller power of two, then of the next larger one."""
    def slopes(n):
        return [2 ** (-8 * (i + 1) / n) for i in range(n)]
    power = 2 ** int(math.log2(heads))
    all_slopes = torch.tensor(slopes(power) + slopes(2 * power)[::2][:heads - power],
                              dtype=torch.float64)
    distance = (torch.arange(queries)[:, None] - torch.arange(keys)).abs()
    return -all_slopes[:, None, None] * distance


def grouped_attention(x, p, heads, key_heads, causal=False, turn=None, bias=None):
    """Self-attention whose heads of keys are shared; `turn` is a function of rows and heads."""
    p = list(p)
    names = ["query", "key", "value", "out"]
    q, k, v = (x @ p.pop(0) + (p.pop(0) if name != "key" or turn else 0) for name in names[:3])
    if turn:
        q, k = turn(q, heads), turn(k, key_heads)
    q, k, v = (part.unflatten(-1, (n, -1)).transpose(1, 2)
               for part, n in ((q, heads), (k, key_heads), (v, key_heads)))
    k, v = (part.repeat_interleave(heads // key_heads, 1) for part in (k, v))
    scores = q @ k.transpose(2, 3) / q.shape[-1] ** 0.5
    if bias is not None:
        scores = scores + bias
    if causal:
        scores = scores.masked_fill(torch.ones(scores.shape[2:]).triu(1) > 0, -math.inf)
    return (scores.softmax(-1) @ v).transpose(1, 2).flatten(2) @ p[0] + p[1]


def grouped_product(query, key, value, used, causal):
    """Queries without keys get zeros."""
    key, value = (x.repeat_interleave(query.shape[1] // x.shape[1], 1) for x in (key, value))
    allowed = used[:, None, None, :].expand(-1, 1, query.shape[2], -1)
    allowed = allowed.tril() if causal else allowed
    scores = query @ key.transpose(2, 3) / query.shape[-1] ** 0.5
    weights = scores.masked_fill(~allowed, -1e30).softmax(-1)
    return (weights * allowed) @ value


def _take(p, kinds):
    """Renames the parameters of one block for PyTorch; `kinds` is in Trireme's order."""
    state, rest = {}, list(p)
    for kind, prefix in kinds:
        count = 7 if kind is _attention else 2
        state.update(kind(prefix, rest[:count]))
        rest = rest[count:]
    return state, rest


def _branch(norm_first, norm, parts):
    return [(_norm, norm)] + parts if norm_first else parts + [(_norm, norm)]


FEED_FORWARD = [(_linear, "linear1."), (_linear, "linear2.")]


def encoder_layer(x, p, heads, inner, norm_first, activation="relu", mask=None, masked=None):
    """Returns the result and the remaining parameters. `mask` and `masked` follow PyTorch."""
    module = torch.nn.TransformerEncoderLayer(
        x.shape[2], heads, inner, dropout=0.0, activation=activation, batch_first=True,
        norm_first=norm_first).double()
    kinds = _branch(norm_first, "norm1.", [(_attention, "self_attn.")])
    state, rest = _take(p, kinds + _branch(norm_first, "norm2.", FEED_FORWARD))
    options = {"src_mask": mask, "src_key_padding_mask": masked}
    return functional_call(module, state, (x,), options), rest


def decoder_layer(x, memory, p, heads, inner, norm_first, masked=None):
    module = torch.nn.TransformerDecoderLayer(
        x.shape[2], heads, inner, dropout=0.0, batch_first=True, norm_first=norm_first).double()
    kinds = (_branch(norm_first, "norm1.", [(_attention, "self_attn.")])
             + _branch(norm_first, "norm2.", [(_attention, "multihead_attn.")])
             + _branch(norm_first, "norm3.", FEED_FORWARD))
    state, rest = _take(p, kinds)
    steps = x.shape[1]
    causal = torch.ones(steps, steps, dtype=torch.bool).triu(1)
    options = {"tgt_mask": causal, "memory_key_padding_mask": masked}
    return functional_call(module, state, (x, memory), options), rest


def encoder(x, p, layers, heads, inner, norm_first):
    """Has a final layer norm if norm_first."""
    for _ in range(layers):
        x, p = encoder_layer(x, p, heads, inner, norm_first)
    return torch.nn.functional.layer_norm(x, x.shape[2:], *p) if norm_first else x


def decoder(x, memory, p, layers, heads, inner):
    for _ in range(layers):
        x, p = decoder_layer(x, memory, p, heads, inner, True)
    return torch.nn.functional.layer_norm(x, x.shape[2:], *p)


def positions(steps, width):
    """Vaswani et al. 2017, section 3.5."""
    angle = torch.arange(steps)[:, None] / 10000 ** (torch.arange(0, width, 2).double() / width)
    return torch.stack([angle.sin(), angle.cos()], 2).reshape(steps, width)


def recurrent(kind, x, lengths, p, units, layers=1, ways=1, projection=0):
    """Applies PyTorch's function to each sequence of x and concatenates the results."""
    weights, p = [], list(p)
    for _ in range(layers * ways):
        weight, hidden, bias = p.pop(0), p.pop(0), p.pop(0)
        hidden_bias = torch.zeros_like(bias)
        if kind == "GRU":  # only the candidate has it, after the product
            hidden_bias = torch.cat([hidden_bias[:2 * units], p.pop(0)])
        weights += [weight.T, hidden.T, bias, hidden_bias]
        if projection:
            weights.append(p.pop(0).T)
    initial = torch.zeros(layers * ways, 1, projection or units).double()
    function = {"RNN": torch.rnn_tanh, "GRU": torch.gru, "LSTM": torch.lstm}[kind]
    if kind == "LSTM":
        initial = (initial, torch.zeros(layers * ways, 1, units).double())
    rows = [function(part[None], initial, weights, True, layers, 0.0, False, ways == 2, True)[0][0]
            for part in x.split(lengths)]
    return torch.cat(rows)


def dense_recurrent(kind, x, states, p, units, layers=1, ways=1, projection=0):
    """The outputs and the final states of PyTorch's function for x [n, steps, width], flat."""
    weights, p = [], list(p)
    for _ in range(layers * ways):
        weight, hidden, bias = p.pop(0), p.pop(0), p.pop(0)
        hidden_bias = torch.zeros_like(bias)
        if kind == "GRU":
            hidden_bias = torch.cat([hidden_bias[:2 * units], p.pop(0)])
        weights += [weight.T, hidden.T, bias, hidden_bias]
        if projection:
            weights.append(p.pop(0).T)
    function = {"RNN": torch.rnn_tanh, "GRU": torch.gru, "LSTM": torch.lstm}[kind]
    first = tuple(states) if kind == "LSTM" else states[0]
    results = function(x, first, weights, True, layers, 0.0, False, ways == 2, True)
    return torch.cat([result.flatten() for result in results])


def simple_cell(x, h, p):
    weight, hidden, bias = p
    return torch.rnn_tanh_cell(x, h, weight.T, hidden.T, bias, torch.zeros_like(bias))


def peephole_lstm(x, lengths, p, units, forget_bias):
    """The formula of an LSTM whose gates see the cell state."""
    weight, hidden, bias, peepholes = p
    rows = []
    for part in x.split(lengths):
        h = c = torch.zeros(units).double()
        for now in part:
            i, f, g, o = (now @ weight + h @ hidden + bias).split(units)
            i, f = torch.sigmoid(i + peepholes[0] * c), torch.sigmoid(f + peepholes[1] * c + forget_bias)
            c = f * c + i * torch.tanh(g)
            h = torch.sigmoid(o + peepholes[2] * c) * torch.tanh(c)
            rows.append(h)
    return torch.stack(rows)
