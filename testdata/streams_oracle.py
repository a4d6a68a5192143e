#!/usr/bin/python3
"""A tiny model of several streams (qwen4exp) with answers computed in float64, as those of family_oracles.py.

  streams_oracle.py write FOLDER          writes qwen4exp-small.gguf and .json
  streams_oracle.py check FILE.json ...   computes the answers of such files anew and prints how far off they are

Written from a description of the family and not from the engine. `check` on a file whose answers are another program's shows that
it is right. Needs numpy.
"""
import json
import os
import sys

import numpy as np

import family_oracles as plain

NAME, LENGTH, LEAST_BLOCK_LEAD = "qwen4exp-small", 61, 1e-3
plain.FAMILIES["qwen4exp"] = dict(rope="halves", norm="head", renorm=True, shared="gated")


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def shifted(x, places):
    """The rows so many places before; zeros before the first."""
    return np.concatenate([np.zeros((min(places, len(x)),) + x.shape[1:]), x[: max(len(x) - places, 0)]])


class Streams(plain.Model):
    def __init__(self, keys, tensors):
        super().__init__(keys, tensors)
        self.streams = self.key("hyper_connection.count")

    def mix(self, x, stem):
        """x: positions, streams, values. What a part sees, and each stream's share of its result."""
        weight = lambda name: self.tensors[stem + name + ".weight"]
        seen = self.norm(x, weight("_norm").reshape(self.streams, -1)).reshape(len(x), -1)
        low = plain.silu(seen @ weight("_down").T / self.streams)
        gated = (seen * sigmoid(low @ weight("_up").T)).reshape(x.shape).mean(1)
        if stem + "_inject.weight" not in self.tensors:
            return gated, None
        return gated, 2 * sigmoid(seen @ weight("_inject").T / self.streams)

    def delta_net(self, x, layer):
        key_heads, heads, size = (self.key("ssm." + n) for n in ("group_count", "time_step_rank", "state_size"))
        channels = self.linear(x, layer, "attn_qkv")
        taps = self.tensor(layer, "ssm_conv1d.weight")
        count = taps.shape[1]
        channels = plain.silu(sum(taps[:, i] * shifted(channels, count - 1 - i) for i in range(count)))
        q, k, v = np.split(channels, [key_heads * size, 2 * key_heads * size], 1)
        q, k = (a.reshape(len(x), key_heads, size) for a in (q, k))
        q, k = (a / np.sqrt((a * a).sum(-1, keepdims=True) + self.eps) for a in (q, k))
        v = v.reshape(len(x), heads, size)
        step = np.log1p(np.exp(self.linear(x, layer, "ssm_alpha") + self.tensor(layer, "ssm_dt.bias")))
        decay, beta = np.exp(self.tensor(layer, "ssm_a") * step), sigmoid(self.linear(x, layer, "ssm_beta"))
        out = np.zeros_like(v)
        for head in range(heads):
            memory = np.zeros((size, size))
            for t in range(len(x)):
                key, query = k[t, head % key_heads], q[t, head % key_heads] / np.sqrt(size)
                memory = decay[t, head] * memory
                memory = memory + np.outer(key, beta[t, head] * (v[t, head] - key @ memory))
                out[t, head] = query @ memory
        out = self.norm(out, self.tensor(layer, "ssm_norm.weight")).reshape(len(x), -1)
        return self.linear(out * sigmoid(self.linear(x, layer, "attn_gate")), layer, "ssm_out")

    def turned(self, x, layer, positions):
        """x: positions, heads, values."""
        cos, sin = (a[:, None, :] for a in self.angles(layer, positions))
        half = cos.shape[-1]
        a, b = x[..., :half], x[..., half : 2 * half]
        return np.concatenate([a * cos - b * sin, a * sin + b * cos, x[..., 2 * half :]], -1)

    def seen_by(self, x, layer):
        """Which positions each sees."""
        count, size = len(x), self.key("attention.compress_ratios")[layer]
        seen = np.tril(np.ones((count, count), bool))
        kept = self.key("attention.indexer.top_k") // size
        raw = self.linear(x, layer, "indexer.k_proj")
        blocks = raw[: count // size * size].reshape(count // size, size, -1).mean(1)
        blocks = self.norm(blocks, self.tensor(layer, "indexer.k_norm.weight"))[:, None, :]
        blocks = self.turned(blocks, layer, size * np.arange(len(blocks)))[:, 0]
        queries = self.linear(x, layer, "indexer.q_proj").reshape(count, self.key("attention.indexer.head_count"), -1)
        queries = self.norm(queries, self.tensor(layer, "indexer.q_norm.weight"))
        queries = self.turned(queries, layer, np.arange(count))
        for position in range(count):
            complete = (position + 1) // size
            if complete <= kept:
                continue
            scores = np.maximum(queries[position] @ blocks[:complete].T, 0).sum(0)
            order = np.argsort(-scores)
            self.block_leads.append(scores[order[kept - 1]] - scores[order[kept]])
            self.blocks[position] = sorted(order[:kept].tolist())
            for block in order[kept:]:
                seen[position, size * block : size * (block + 1)] = False
        return seen

    def gated_attention(self, x, layer):
        heads, kv_heads, count = self.key("attention.head_count"), self.key("attention.head_count_kv"), len(x)
        q, gate = np.split(self.linear(x, layer, "attn_q").reshape(count, heads, -1), 2, -1)
        k, v = (self.linear(x, layer, "attn_" + name).reshape(count, kv_heads, -1) for name in "kv")
        q, k = (self.norm(a, self.tensor(layer, "attn_%s_norm.weight" % n)) for a, n in ((q, "q"), (k, "k")))
        q, k = (self.turned(a, layer, np.arange(count)) for a in (q, k))
        k, v = (np.repeat(a, heads // kv_heads, 1) for a in (k, v))
        scores = np.einsum("ihd,jhd->hij", q, k) / np.sqrt(q.shape[-1])
        weights = plain.softmax(np.where(self.seen_by(x, layer), scores, -np.inf))
        out = np.einsum("hij,jhd->ihd", weights, v) * sigmoid(gate)
        return self.linear(out.reshape(count, -1), layer, "attn_output")

    def rows(self, ids):
        """Of the table, for each position."""
        end, longest = self.key("ple.eos_token_id"), self.key("ple.ngram_size")
        chosen = []
        for position in range(len(ids)):
            tokens = [int(ids[position])]
            for back in range(1, longest):
                before = int(ids[position - back]) if back <= position else end
                tokens.append(end if before == end or end in tokens[1:] else before)
            parts = [(t * m) % (1 << 64) for t, m in zip(tokens, self.key("ple.layer_multipliers"))]
            heads, of_position = self.key("ple.heads_per_ngram"), []
            for n in range(2, longest + 1):
                mixed = 0
                for part in parts[:n]:
                    mixed ^= part
                for j in range((n - 2) * heads, (n - 1) * heads):
                    of_position.append(mixed % self.key("ple.head_vocab_sizes")[j] + self.key("ple.head_offsets")[j])
            chosen.append(of_position)
        return np.array(chosen)

    def ngrams(self, x, ids, layer):
        joined = self.tensors["per_layer_token_embd.weight"][self.rows(ids)].reshape(len(x), -1)
        weight = lambda name: self.tensor(layer, "ple_norm_%s.weight" % name).reshape(self.streams, -1)
        key = self.norm(self.linear(joined, layer, "ple_key").reshape(x.shape), weight("key"))
        score = (key * self.norm(x, weight("query"))).sum(-1) / np.sqrt(x.shape[-1])
        gate = sigmoid(np.sign(score) * np.sqrt(np.maximum(np.abs(score), 1e-6)))
        added = gate[..., None] * self.linear(joined, layer, "ple_value")[:, None, :]
        inputs = self.norm(added, weight("conv")).reshape(len(x), -1)
        taps, dilation = self.tensor(layer, "ple_conv1d.weight"), self.key("ple.ngram_size")
        count = taps.shape[1]
        mixed = sum(taps[:, i] * shifted(inputs, (count - 1 - i) * dilation) for i in range(count))
        return added + plain.silu(mixed).reshape(x.shape)

    def run(self, ids):
        self.margins, self.block_leads, self.blocks = [], [], {}
        x = np.repeat(self.tensors["token_embd.weight"][ids][:, None, :], self.streams, 1)
        experts, outputs = {}, {}
        for layer in range(self.layers):
            if layer in self.key("ple.layers"):
                x = x + self.ngrams(x, ids, layer)
            seen, shares = self.mix(x, "blk.%d.hc_attn" % layer)
            is_full = (layer + 1) % self.key("full_attention_interval") == 0
            y = (self.gated_attention if is_full else self.delta_net)(seen, layer)
            x = x + shares[..., None] * y[:, None, :]
            seen, shares = self.mix(x, "blk.%d.hc_ffn" % layer)
            y, experts[layer] = self.experts(seen, layer)
            x = x + shares[..., None] * y[:, None, :]
            outputs[layer] = x[-1].reshape(-1)
        return self.mix(x, "output_hc")[0] @ self.tensors["output.weight"].T, experts, outputs


def build(seed):
    random = np.random.default_rng(seed)
    width, streams, rank, layers = plain.WIDTH, 3, 8, 3
    inner, channels = 4 * 8, 2 * 2 * 8 + 4 * 8
    sizes = [17, 19, 23, 29]
    keys, tensors = {"general.architecture": "qwen4exp"}, {}
    for key, value in {
        "context_length": 4096, "embedding_length": width, "block_count": layers, "attention.head_count": 4,
        "attention.head_count_kv": 2, "attention.key_length": 8, "attention.value_length": 8,
        "attention.layer_norm_rms_epsilon": 5e-3, "rope.freq_base": 10000.0, "rope.dimension_count": 4,
        "expert_count": plain.EXPERTS, "expert_used_count": 3, "expert_feed_forward_length": 16,
        "expert_shared_feed_forward_length": 16, "full_attention_interval": 3, "ssm.conv_kernel": 4,
        "ssm.state_size": 8, "ssm.group_count": 2, "ssm.time_step_rank": 4, "ssm.inner_size": inner,
        "hyper_connection.count": streams, "hyper_connection.low_rank": rank, "attention.indexer.head_count": 2,
        "attention.indexer.key_length": 8, "attention.indexer.top_k": 16, "attention.compress_ratios": [0, 0, 4],
        "ple.layers": [1], "ple.ngram_size": 3, "ple.heads_per_ngram": 2, "ple.conv_kernel": 3, "ple.eos_token_id": 5,
        "embedding_length_per_layer_input": 8,
        "ple.layer_multipliers": [291959220988793, 27448217319671349, 23288516139689575],
        "ple.head_offsets": [0, 17, 36, 59], "ple.head_vocab_sizes": sizes,
    }.items():
        keys["qwen4exp." + key] = value

    def matrix(stem, *dims):  # The last dimension is that of the columns.
        tensors[stem + ".weight"] = (random.standard_normal(dims) / np.sqrt(dims[-1])).astype(np.float32)

    def vector(stem, length, center, spread=0.2):
        tensors[stem] = (center + spread * random.standard_normal(length)).astype(np.float32)

    def mixer(stem, has_inject):
        vector(stem + "_norm.weight", streams * width, 1)
        matrix(stem + "_down", rank, streams * width)
        matrix(stem + "_up", streams * width, rank)
        if has_inject:
            matrix(stem + "_inject", streams, streams * width)

    matrix("token_embd", plain.VOCABULARY, width)
    tensors["token_embd.weight"] *= 4
    matrix("per_layer_token_embd", 96, 8)
    mixer("output_hc", False)
    matrix("output", plain.VOCABULARY, width)
    tensors["output.weight"] *= 2
    for layer in range(layers):
        block = "blk.%d." % layer
        mixer(block + "hc_attn", True)
        mixer(block + "hc_ffn", True)
        if layer == 1:
            matrix(block + "ple_key", streams * width, width)
            matrix(block + "ple_value", width, width)
            for name in ("key", "query", "conv"):
                vector(block + "ple_norm_%s.weight" % name, streams * width, 1)
            matrix(block + "ple_conv1d", streams * width, 3)
        if layer == 2:
            for name, rows in (("attn_q", 64), ("attn_k", 16), ("attn_v", 16), ("indexer.q_proj", 16), ("indexer.k_proj", 8)):
                matrix(block + name, rows, width)
            matrix(block + "attn_output", width, 32)
            for name in ("attn_q_norm", "attn_k_norm", "indexer.q_norm", "indexer.k_norm"):
                vector(block + name + ".weight", 8, 1)
        else:
            for name, rows in (("attn_qkv", channels), ("attn_gate", inner), ("ssm_alpha", 4), ("ssm_beta", 4)):
                matrix(block + name, rows, width)
            matrix(block + "ssm_conv1d", channels, 4)
            tensors[block + "ssm_a"] = -np.exp(random.uniform(-3, 1, 4)).astype(np.float32)
            vector(block + "ssm_dt.bias", 4, 0, 0.5)
            vector(block + "ssm_norm.weight", 8, 1)
            matrix(block + "ssm_out", width, inner)
        matrix(block + "ffn_gate_inp", plain.EXPERTS, width)
        for part, dims in (("gate", (16, width)), ("up", (16, width)), ("down", (width, 16))):
            matrix(block + "ffn_%s_exps" % part, plain.EXPERTS, *dims)
            matrix(block + "ffn_%s_shexp" % part, *dims)
        vector(block + "ffn_gate_inp_shexp.weight", width, 0, 0.5)
    return keys, tensors


def write(folder):
    # Random weights whose answers do not hang on a rounding.
    for seed in range(2000):
        keys, tensors = build(seed)
        model = Streams(keys, {key: tensor.astype(np.float64) for key, tensor in tensors.items()})
        prompt = np.random.default_rng(seed + 7).integers(0, plain.VOCABULARY, LENGTH).tolist()
        prompt[20:22] = [5, 5]
        logits = model.run(np.array(prompt))[0]
        if min(model.block_leads) < LEAST_BLOCK_LEAD or min(model.margins) < plain.LEAST_MARGIN:
            continue
        if plain.gap(logits) < plain.LEAST_LEAD:
            continue
        answers = plain.answer(model, prompt)
        if answers and answers["router"]["min_margin"] >= plain.LEAST_MARGIN:
            if answers["argmax_gap_min"] >= plain.LEAST_LEAD and min(model.block_leads) >= LEAST_BLOCK_LEAD:
                break
    path = os.path.join(folder, NAME)
    plain.write_gguf(path + ".gguf", keys, tensors)
    note = "three streams, delta nets, attention to 4 blocks of 4 from position 19 on, a table of 88 rows"
    head = {"arch": "qwen4exp", "source": "testdata/streams_oracle.py, float64", "exercises": note}
    with open(path + ".json", "w") as out:
        json.dump({**head, **answers}, out, separators=(",", ":"))
        out.write("\n")
    print("%s: seed %d, smallest router margin %g" % (path, seed, answers["router"]["min_margin"]))


def check_long(path):
    """The second prompt, where there is one, and the blocks that it keeps."""
    stored = json.load(open(path)).get("long")
    if stored is None:
        return
    model = Streams(*plain.read_gguf(path[: -len(".json")] + ".gguf"))
    logits = model.run(np.array(stored["prompt"]))[0]
    off = max(np.abs(logits[int(p)] - np.array(row)).max() for p, row in stored["logits"].items())
    same = all(model.blocks[int(p)] == blocks for p, blocks in stored["qsa"]["kept_blocks"].items())
    print("  long prompt: greatest difference %.2g, blocks %s" % (off, "equal" if same else "DIFFER"))


def main(arguments):
    if len(arguments) > 1 and arguments[0] == "check":
        for path in arguments[1:]:
            plain.check(path, Streams)
            check_long(path)
    elif len(arguments) == 2 and arguments[0] == "write":
        write(arguments[1])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
