#!/usr/bin/python3
"""Tiny models of random weights with answers computed in float64, for families that testdata/oracles/arch lacks.

  family_oracles.py write FOLDER [NAME ...]   writes NAME.gguf and NAME.json (all of them without a name)
  family_oracles.py check FILE.json ...       computes the answers of such files anew and prints how far off they are

The forward pass below is written from descriptions of the families and shares nothing with the engine: whole prompts as
matrices, float64, plain softmax. `check` on the files of testdata/oracles/arch, whose answers are another program's,
shows that it is right; then `write` gives answers of the same form. Needs numpy.
"""
import json
import os
import struct
import sys

import numpy as np

WIDTH, VOCABULARY, EXPERTS = 32, 64, 8
LEAST_MARGIN, LEAST_LEAD = 5e-4, 2e-3  # Between the last expert chosen and the next; the best token and the second.
U32, F32, STRING, BOOL, ARRAY, U64 = 4, 6, 8, 7, 9, 10
FORMATS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}


# ---------------------------------------------------------------------------------------------------- files


def read_gguf(path):
    """Keys and tensors (F32 alone) of a file; a tensor's first index is its last dimension."""
    data = open(path, "rb").read()
    at = 24
    num_tensors, num_keys = struct.unpack_from("<QQ", data, 8)

    def take(form):
        nonlocal at
        value = struct.unpack_from("<" + form, data, at)[0]
        at += struct.calcsize("<" + form)
        return value

    def text():
        nonlocal at
        size = take("Q")
        at += size
        return data[at - size : at].decode("utf-8", "replace")

    def value(kind):
        if kind == STRING:
            return text()
        if kind == ARRAY:
            inner, count = take("I"), take("Q")
            return [value(inner) for _ in range(count)]
        return take(FORMATS[kind])

    keys = {}
    for _ in range(num_keys):
        name = text()
        keys[name] = value(take("I"))
    records = []
    for _ in range(num_tensors):
        name = text()
        dims = [take("Q") for _ in range(take("I"))]
        assert take("I") == 0, name + " is not F32"
        records.append((name, dims, take("Q")))
    begin = (at + 31) // 32 * 32
    tensors = {}
    for name, dims, offset in records:
        values = np.frombuffer(data, "<f4", int(np.prod(dims)), begin + offset)
        tensors[name] = values.reshape(dims[::-1]).astype(np.float64)
    return keys, tensors


def write_gguf(path, keys, tensors):
    def text(string):
        return struct.pack("<Q", len(string.encode())) + string.encode()

    def value(item):
        if isinstance(item, bool):
            return struct.pack("<I?", BOOL, item)
        if isinstance(item, int):
            return struct.pack("<II", U32, item)
        if isinstance(item, float):
            return struct.pack("<If", F32, item)
        if isinstance(item, list):
            kind, form = (BOOL, "?") if isinstance(item[0], bool) else (U32, "I") if max(item) < 1 << 32 else (U64, "Q")
            return struct.pack("<IIQ", ARRAY, kind, len(item)) + struct.pack("<%d%s" % (len(item), form), *item)
        return struct.pack("<I", STRING) + text(item)

    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(keys))
    for name, item in keys.items():
        head += text(name) + value(item)
    body = b""
    for name, tensor in tensors.items():
        dims = tensor.shape[::-1]
        head += text(name) + struct.pack("<I%dQIQ" % len(dims), len(dims), *dims, 0, len(body))
        body += tensor.astype("<f4").tobytes()
        body += b"\0" * (-len(body) % 32)
    head += b"\0" * (-len(head) % 32)
    with open(path, "wb") as out:
        out.write(head + body)


# ---------------------------------------------------------------------------------------------------- families

# What a file leaves unsaid. norm: queries and keys are normed per "head", over "all" heads, per head after rotation
# ("late"), or not. bias: on q, k and v. Gating 1 is softmax, 2 sigmoid, 3 softmax of the chosen. `shared`: ungated shared
# expert, "gated" one, or none. period: every so manyth layer sees all, the others a window.
FAMILIES = {
    "bailingmoe": dict(rope="norm", shared="plain"),
    "bailingmoe2": dict(rope="halves", norm="head", gating=2, shared="plain", fused=True),
    "deepseek": dict(rope="norm", shared="plain"),
    "deepseek2": dict(rope="norm", shared="plain"),
    "dots1": dict(rope="halves", norm="head", gating=2, shared="plain"),
    "ernie4_5": dict(rope="norm"),
    "ernie4_5-moe": dict(rope="norm", renorm=True, shared="plain"),
    "exaone-moe": dict(rope="halves", norm="head", gating=2, shared="plain", period=4, windows_rotate=True),
    "glm4moe": dict(rope="halves", norm="head", gating=2, shared="plain", ffn_norm="post_attention_norm"),
    "gpt-oss": dict(rope="halves", gating=3, period=2, ffn_norm="post_attention_norm", clamped=True),
    "granitemoe": dict(rope="norm", renorm=True, shared="plain"),
    "hunyuan-moe": dict(rope="halves", norm="late", renorm=True, shared="plain"),
    "hy_v3": dict(rope="halves", norm="head", gating=2, shared="plain"),
    "llama": dict(rope="norm", renorm=True),
    "mellum": dict(rope="halves", norm="head", renorm=True, period=4, windows_unstretched=True),
    "minimax-m2": dict(rope="halves", norm="all", gating=2, renorm=True),
    "olmoe": dict(rope="halves", norm="all"),
    "qwen2": dict(rope="halves", bias=True),
    "qwen2moe": dict(rope="halves", bias=True, shared="gated"),
    "qwen3": dict(rope="halves", norm="head"),
    "qwen3moe": dict(rope="halves", norm="head", renorm=True),
    "qwen3vl": dict(rope="halves", norm="head"),
    "qwen3vlmoe": dict(rope="halves", norm="head", renorm=True),
}


def silu(x):
    return x / (1 + np.exp(-x))


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def stretch(factor, multiplier=1.0):
    return 0.1 * multiplier * np.log(factor) + 1 if factor > 1 else 1.0


class Model:
    def __init__(self, keys, tensors):
        self.arch = keys["general.architecture"]
        self.keys, self.tensors, self.family = keys, tensors, FAMILIES[self.arch]
        self.layers = self.key("block_count") - self.key("nextn_predict_layers", 0)
        self.eps = self.key("attention.layer_norm_rms_epsilon")

    def key(self, name, default=None):
        value = self.keys.get(self.arch + "." + name, default)
        assert value is not None, name
        return value

    def tensor(self, layer, stem):
        return self.tensors.get("blk.%d.%s" % (layer, stem))

    def norm(self, x, weight):
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + self.eps) * weight

    def linear(self, x, layer, stem):
        y = x @ self.tensor(layer, stem + ".weight").T
        bias = self.tensor(layer, stem + ".bias")
        return y if bias is None else y + bias

    def has_window(self, layer):
        if "period" not in self.family:
            return False
        pattern = self.key("attention.sliding_window_pattern", self.family["period"])
        return pattern[layer] if isinstance(pattern, list) else layer % pattern < pattern - 1

    def angles(self, layer, positions):
        """Cosines and sines, a row for each position."""
        windowed = self.has_window(layer)
        dims = self.key("rope.dimension_count")
        base = self.key("rope.freq_base", 10000.0)
        if windowed:
            dims = self.key("rope.dimension_count_swa", dims)
            base = self.key("rope.freq_base_swa", base)
        frequency = base ** (-np.arange(0, dims, 2) / dims)
        magnitude = 1.0
        if self.key("rope.scaling.type", "none") == "yarn" and not (
            windowed and self.family.get("windows_unstretched")
        ):
            factor = self.key("rope.scaling.factor")
            original = self.key("rope.scaling.original_context_length")

            def turning(turns):  # The pair that turns so often within the original context.
                return dims * np.log(original / (turns * 2 * np.pi)) / (2 * np.log(base))

            low = max(np.floor(turning(32.0)), 0)
            high = min(np.ceil(turning(1.0)), dims - 1)
            ramp = 1 - np.clip((np.arange(dims // 2) - low) / max(high - low, 1e-3), 0, 1)
            frequency = frequency / factor * (1 - ramp) + frequency * ramp
            if not self.key("rope.scaling.yarn_log_multiplier", 0.0):
                magnitude = stretch(factor)
        turn = positions[:, None] * frequency
        return np.cos(turn) * magnitude, np.sin(turn) * magnitude

    def rotate(self, x, layer):
        """x: positions, heads, values."""
        if self.family.get("windows_rotate") and not self.has_window(layer):
            return x
        cos, sin = (a[:, None, :] for a in self.angles(layer, np.arange(len(x))))
        half = cos.shape[-1]
        out = x.copy()
        if self.family["rope"] == "norm":
            a, b = x[..., 0 : 2 * half : 2], x[..., 1 : 2 * half : 2]
            out[..., 0 : 2 * half : 2], out[..., 1 : 2 * half : 2] = a * cos - b * sin, a * sin + b * cos
        else:
            a, b = x[..., :half], x[..., half : 2 * half]
            out[..., :half], out[..., half : 2 * half] = a * cos - b * sin, a * sin + b * cos
        return out

    def attend(self, layer, q, k, v, scale):
        """q, k, v: positions, heads, values."""
        count = len(q)
        group = q.shape[1] // k.shape[1]
        k, v = np.repeat(k, group, 1), np.repeat(v, group, 1)
        scores = np.einsum("ihd,jhd->hij", q, k) * scale
        distance = np.arange(count)[:, None] - np.arange(count)[None, :]
        hidden = distance < 0
        if self.has_window(layer):
            hidden = hidden | (distance >= self.key("attention.sliding_window"))
        scores = np.where(hidden, -np.inf, scores)
        sinks = self.tensor(layer, "attn_sinks.weight")
        if sinks is not None:
            column = np.broadcast_to(sinks[:, None, None], scores.shape[:2] + (1,))
            weights = softmax(np.concatenate([scores, column], -1))[..., :-1]
        else:
            weights = softmax(scores)
        return np.einsum("hij,jhd->ihd", weights, v).reshape(count, -1)

    def attention(self, x, layer):
        heads = self.key("attention.head_count")
        kv_heads = self.key("attention.head_count_kv", heads)
        count = len(x)
        if self.tensor(layer, "attn_qkv.weight") is not None:
            whole = self.linear(x, layer, "attn_qkv")
            size = whole.shape[1] // (heads + 2 * kv_heads)
            q, k, v = np.split(whole, [heads * size, (heads + kv_heads) * size], 1)
        else:
            q, k, v = (self.linear(x, layer, "attn_" + name) for name in "qkv")
        kind = self.family.get("norm")
        if self.tensor(layer, "attn_q_norm.weight") is None:
            kind = None
        weights = [self.tensor(layer, "attn_%s_norm.weight" % name) for name in "qk"]
        if kind == "all":
            q, k = self.norm(q, weights[0]), self.norm(k, weights[1])
        q, k, v = q.reshape(count, heads, -1), k.reshape(count, kv_heads, -1), v.reshape(count, kv_heads, -1)
        if kind == "head":
            q, k = self.norm(q, weights[0]), self.norm(k, weights[1])
        if self.key("rope.scaling.finetuned", True):
            q, k = self.rotate(q, layer), self.rotate(k, layer)
        if kind == "late":
            q, k = self.norm(q, weights[0]), self.norm(k, weights[1])
        scale = self.key("attention.scale", 0.0) or 1 / np.sqrt(q.shape[-1])
        return self.linear(self.attend(layer, q, k, v, scale), layer, "attn_output")

    def latent_attention(self, x, layer):
        """Keys and values are made in full, whatever the form of the file."""
        heads, count = self.key("attention.head_count"), len(x)
        rank, turned = self.key("attention.kv_lora_rank"), self.key("rope.dimension_count")
        if self.tensor(layer, "attn_q.weight") is not None:
            q = self.linear(x, layer, "attn_q")
        else:
            q = self.norm(self.linear(x, layer, "attn_q_a"), self.tensor(layer, "attn_q_a_norm.weight"))
            q = self.linear(q, layer, "attn_q_b")
        q = q.reshape(count, heads, -1)
        plain = q.shape[-1] - turned
        q = np.concatenate([q[..., :plain], self.rotate(q[..., plain:], layer)], -1)
        row = self.linear(x, layer, "attn_kv_a_mqa")
        c = self.norm(row[:, :rank], self.tensor(layer, "attn_kv_a_norm.weight"))
        shared = self.rotate(row[:, None, rank:], layer)
        both = self.tensor(layer, "attn_kv_b.weight")
        if both is not None:
            kv = (c @ both.T).reshape(count, heads, -1)
            k, v = kv[..., :plain], kv[..., plain:]
        else:
            k = np.einsum("ir,hrp->ihp", c, self.tensor(layer, "attn_k_b.weight"))
            v = np.einsum("ir,hvr->ihv", c, self.tensor(layer, "attn_v_b.weight"))
        k = np.concatenate([k, np.repeat(shared, heads, 1)], -1)
        scale = 1 / np.sqrt(q.shape[-1])
        multiplier = self.key("rope.scaling.yarn_log_multiplier", 0.0)
        if multiplier:
            scale *= stretch(self.key("rope.scaling.factor"), multiplier / 0.1) ** 2
        return self.linear(self.attend(layer, q, k, v, scale), layer, "attn_output")

    def feed_forward(self, x, layer, suffix=""):
        gate = self.linear(x, layer, "ffn_gate" + suffix)
        return self.linear(silu(gate) * self.linear(x, layer, "ffn_up" + suffix), layer, "ffn_down" + suffix)

    def expert(self, x, layer, index):
        def product(stem, x):
            y = x @ self.tensor(layer, stem + ".weight")[index].T
            bias = self.tensor(layer, stem + ".bias")
            return y if bias is None else y + bias[index]

        gate, up = product("ffn_gate_exps", x), product("ffn_up_exps", x)
        if self.family.get("clamped"):
            gate, up = np.minimum(gate, 7), np.clip(up, -7, 7)
            return product("ffn_down_exps", gate / (1 + np.exp(-1.702 * gate)) * (up + 1))
        return product("ffn_down_exps", silu(gate) * up)

    def experts(self, x, layer):
        """The sum for each token, and whom it chose, best first."""
        used = self.key("expert_used_count")
        logits = self.linear(x, layer, "ffn_gate_inp")
        gating = self.key("expert_gating_func", 0) or self.family.get("gating", 1)
        probabilities = {1: softmax, 2: lambda z: 1 / (1 + np.exp(-z)), 3: lambda z: z}[gating](logits)
        bias = self.tensor(layer, "exp_probs_b.bias")
        scores = probabilities if bias is None else probabilities + bias
        groups = self.key("expert_group_count", 1)
        if groups > 1:
            by_group = scores.reshape(len(x), groups, -1)
            best = np.sort(by_group, -1)[..., -2:].sum(-1)
            order = np.argsort(-best, -1)
            kept = self.key("expert_group_used_count")
            ranked = np.take_along_axis(best, order, -1)
            self.margins.extend(ranked[:, kept - 1] - ranked[:, kept])
            mask = np.zeros_like(best, bool)
            np.put_along_axis(mask, order[:, :kept], True, -1)
            scores = np.where(mask[..., None], by_group, -np.inf).reshape(scores.shape)
        order = np.argsort(-scores, -1)
        ranked = np.take_along_axis(scores, order, -1)
        self.margins.extend(ranked[:, used - 1] - ranked[:, used])
        chosen = order[:, :used]
        weights = np.take_along_axis(probabilities, chosen, -1)
        if gating == 3:
            weights = softmax(weights)
        elif self.key("expert_weights_norm", self.family.get("renorm", False)):
            weights = weights / np.maximum(weights.sum(-1, keepdims=True), 6.1035e-5)
        weights = weights * (self.key("expert_weights_scale", 0.0) or 1.0)
        weight_of_expert = np.zeros_like(scores)
        np.put_along_axis(weight_of_expert, chosen, weights, -1)
        out = np.zeros_like(x)
        for index in range(scores.shape[1]):
            out += weight_of_expert[:, index, None] * self.expert(x, layer, index)
        if self.tensor(layer, "ffn_gate_shexp.weight") is not None:
            shared = self.feed_forward(x, layer, "_shexp")
            if self.family.get("shared") == "gated":
                gate = x @ self.tensor(layer, "ffn_gate_inp_shexp.weight")
                shared = shared / (1 + np.exp(-gate))[:, None]
            out += shared
        return out, chosen.tolist()

    def run(self, ids):
        """Logits of all positions, the experts and the outputs of layers."""
        self.margins = []
        residual = self.key("residual_scale", 0.0) or 1.0
        x = self.tensors["token_embd.weight"][ids] * (self.key("embedding_scale", 0.0) or 1.0)
        experts, outputs = {}, {}
        for layer in range(self.layers):
            normed = self.norm(x, self.tensor(layer, "attn_norm.weight"))
            mixer = self.latent_attention if self.key("attention.kv_lora_rank", 0) else self.attention
            x = x + residual * mixer(normed, layer)
            stem = self.family.get("ffn_norm", "ffn_norm")
            normed = self.norm(x, self.tensor(layer, stem + ".weight"))
            if self.tensor(layer, "ffn_gate_inp.weight") is not None:
                y, experts[layer] = self.experts(normed, layer)
            else:
                y = self.feed_forward(normed, layer)
            x = x + residual * y
            outputs[layer] = x[-1]
        x = self.norm(x, self.tensors["output_norm.weight"])
        head = self.tensors.get("output.weight", self.tensors["token_embd.weight"])
        return x @ head.T / (self.key("logit_scale", 0.0) or 1.0), experts, outputs


# ---------------------------------------------------------------------------------------------------- answers


def gap(logits):
    ranked = np.sort(logits, -1)
    return float((ranked[..., -1] - ranked[..., -2]).min())


def answer(model, prompt):
    logits, experts, outputs = model.run(np.array(prompt))
    margin, lead = min(model.margins, default=1.0), gap(logits)
    if margin < LEAST_MARGIN or lead < LEAST_LEAD:
        return None
    positions = sorted({0, len(prompt) // 3, 2 * len(prompt) // 3, len(prompt) - 1})
    greedy, last = [], logits[-1]
    for _ in range(16):
        lead = min(lead, gap(last))
        greedy.append(int(last.argmax()))
        if len(greedy) < 16:
            last = model.run(np.array(prompt + greedy))[0][-1]
            margin = min([margin] + model.margins)

    def shown(values):
        return [float("%.8g" % value) for value in values]

    return {
        "sizes": {"layers": model.layers},
        "prompt": list(prompt),
        "positions": positions,
        "logits": {str(p): shown(logits[p]) for p in positions},
        "logit_std": float("%.4g" % logits.std()),
        "argmax": logits.argmax(-1).tolist(),
        "argmax_gap_min": float("%.4g" % lead),
        "greedy": greedy,
        "greedy_logits_last": shown(last),
        "router": {"min_margin": float("%.4g" % margin)},
        "experts": {str(layer): chosen for layer, chosen in experts.items()},
        "layer_out_last": {str(layer): shown(x) for layer, x in outputs.items()},
    }


def check(path, kind=Model):
    stored = json.load(open(path))
    model = kind(*read_gguf(path[: -len(".json")] + ".gguf"))
    logits, experts, outputs = model.run(np.array(stored["prompt"]))
    off = max(np.abs(logits[int(p)] - np.array(row)).max() for p, row in stored["logits"].items())
    off = max([off] + [np.abs(outputs[int(n)] - np.array(x)).max() for n, x in stored["layer_out_last"].items()])
    same = logits.argmax(-1).tolist() == stored["argmax"] and all(
        set(a) == set(b) for n, rows in stored["experts"].items() for a, b in zip(experts[int(n)], rows)
    )
    print("%s: greatest difference %.2g, argmax and experts %s" % (path, off, "equal" if same else "DIFFER"))


# ---------------------------------------------------------------------------------------------------- models

# What each file is to exercise: keys, and how its tensors differ from the plain form.
MODELS = {
    "bailingmoe": dict(head=16, rotated=16, head_key=False, shared=2, norm=True, scale=1.5, note="no key_length: heads are as wide as rotates, 2 x 16 for 32"),
    "bailingmoe2": dict(head=8, rotated=4, fused=True, shared=1, norm=True, scale=2.5, bias=True, groups=(4, 2), dense=1, nextn=1, note="fused qkv, half of a head rotates, groups, NextN block"),
    "deepseek": dict(head=8, shared=2, dense=1, scale=1.0, note="leading dense layer, weights not renormalised"),
    "deepseek2-expanded": dict(arch="deepseek2", latent=True, shared=2, dense=1, note="attn_kv_b, no q_lora, softmax gating, no YaRN"),
    "dots1": dict(head=12, shared=2, norm=True, scale=2.5, bias=True, dense=1, note="norms per head, sigmoid, selection bias"),
    "ernie4_5": dict(head=8, experts=False, tied=True, note="dense, tied output"),
    "ernie4_5-moe": dict(head=8, shared=2, bias=True, dense=1, note="softmax with a selection bias, renormalised"),
    "exaone-moe": dict(head=8, shared=1, norm=True, scale=2.5, bias=True, dense=1, layers=5, window=20, long=70, nextn=1, note="windows rotate, full layers do not; NextN block"),
    "hunyuan-moe": dict(head=8, shared=1, tied=True, note="norms of queries and keys after the rotation"),
    "hy_v3": dict(head=8, shared=1, norm=True, scale=2.0, bias=True, dense=1, note="sigmoid by default, selection bias"),
    "mellum": dict(head=8, layers=5, window=20, long=70, yarn=True, base_swa=500.0, note="YaRN in full layers alone, another base in windows"),
    "minimax-m2": dict(head=16, rotated=8, bias=True, note="norms over all heads, half of a head rotates"),
    "qwen2": dict(head=8, experts=False, tied=True, note="dense, biases of queries, keys and values"),
    "qwen2moe": dict(head=8, shared=1, gated=True, note="biases, gated shared expert, weights not renormalised"),
    "qwen3": dict(head=12, experts=False, note="dense, norms per head"),
    "qwen3vl": dict(head=8, experts=False, tied=True, sections=True, note="dense, rope.dimension_sections in the file"),
    "qwen3vlmoe": dict(head=8, sections=True, note="rope.dimension_sections in the file"),
}


def build(name, seed):
    options = MODELS[name]
    arch = options.get("arch", name)
    family = FAMILIES[arch]
    random = np.random.default_rng(seed)
    layers, nextn = options.get("layers", 3), options.get("nextn", 0)
    heads, kv_heads = (2, 1) if options.get("head_key") is False else (4, 2)
    size = options.get("head", 8)
    keys = {"general.architecture": arch}
    tensors = {}

    def put(key, value):
        keys[arch + "." + key] = value

    def matrix(stem, *dims):  # The last dimension is that of the columns.
        tensors[stem + ".weight"] = (random.standard_normal(dims) / np.sqrt(dims[-1])).astype(np.float32)

    def vector(stem, length, center, spread=0.2):
        tensors[stem] = (center + spread * random.standard_normal(length)).astype(np.float32)

    put("context_length", 4096)
    put("embedding_length", WIDTH)
    put("block_count", layers + nextn)
    put("feed_forward_length", 16 if arch in ("minimax-m2", "hunyuan-moe") else 48)
    put("attention.head_count", heads)
    put("attention.layer_norm_rms_epsilon", 5e-3)
    put("rope.freq_base", 10000.0)
    if options.get("latent"):
        put("attention.head_count_kv", heads)
        put("attention.key_length", 20)
        put("attention.value_length", 12)
        put("attention.kv_lora_rank", 16)
        put("rope.dimension_count", 8)
    else:
        put("attention.head_count_kv", kv_heads)
        put("rope.dimension_count", options.get("rotated", size))
        if options.get("head_key") is not False:
            put("attention.key_length", size)
            put("attention.value_length", size)
    if options.get("experts", True):
        put("expert_count", EXPERTS)
        put("expert_used_count", 3)
        put("expert_feed_forward_length", 16)
    for key, option in (("leading_dense_block_count", "dense"), ("nextn_predict_layers", "nextn"), ("expert_shared_count", "shared"), ("expert_weights_norm", "norm"), ("expert_weights_scale", "scale"), ("attention.sliding_window", "window"), ("rope.freq_base_swa", "base_swa")):
        if options.get(option):
            put(key, options[option])
    shared_width = 16 * options.get("shared", 0)
    if arch in ("ernie4_5-moe", "qwen2moe", "hunyuan-moe", "hy_v3"):
        put("expert_shared_feed_forward_length", shared_width)
    if arch == "ernie4_5-moe":
        put("interleave_moe_layer_step", 1)
    if arch in ("bailingmoe2", "dots1", "exaone-moe", "minimax-m2"):
        put("expert_gating_func", 2)
    if options.get("groups"):
        put("expert_group_count", options["groups"][0])
        put("expert_group_used_count", options["groups"][1])
    if options.get("yarn"):
        put("rope.scaling.type", "yarn")
        put("rope.scaling.factor", 8.0)
        put("rope.scaling.original_context_length", 64)
    if arch == "exaone-moe":
        put("attention.sliding_window_pattern", [layer % 4 < 3 for layer in range(layers)])
    if options.get("sections"):
        put("rope.dimension_sections", [2, 1, 1, 0])

    matrix("token_embd", VOCABULARY, WIDTH)
    tensors["token_embd.weight"] *= 4
    for layer in range(layers + nextn):
        block = "blk.%d." % layer
        vector(block + "attn_norm.weight", WIDTH, 1)
        vector(block + family.get("ffn_norm", "ffn_norm") + ".weight", WIDTH, 1)
        if options.get("latent"):
            matrix(block + "attn_q", heads * 20, WIDTH)
            matrix(block + "attn_kv_a_mqa", 16 + 8, WIDTH)
            vector(block + "attn_kv_a_norm.weight", 16, 1)
            matrix(block + "attn_kv_b", heads * (12 + 12), 16)
            matrix(block + "attn_output", WIDTH, heads * 12)
        else:
            if options.get("fused"):
                matrix(block + "attn_qkv", (heads + 2 * kv_heads) * size, WIDTH)
            else:
                for part, count in (("q", heads), ("k", kv_heads), ("v", kv_heads)):
                    matrix(block + "attn_" + part, count * size, WIDTH)
                    if family.get("bias"):
                        vector(block + "attn_%s.bias" % part, count * size, 0, 0.3)
            matrix(block + "attn_output", WIDTH, heads * size)
            if family.get("norm"):
                for part, count in (("q", heads), ("k", kv_heads)):
                    vector(block + "attn_%s_norm.weight" % part, count * size if family["norm"] == "all" else size, 1)
        if not options.get("experts", True) or layer < options.get("dense", 0):
            for part, dims in (("gate", (48, WIDTH)), ("up", (48, WIDTH)), ("down", (WIDTH, 48))):
                matrix(block + "ffn_" + part, *dims)
        else:
            matrix(block + "ffn_gate_inp", EXPERTS, WIDTH)
            if options.get("bias"):
                vector(block + "exp_probs_b.bias", EXPERTS, 0, 0.05)
            for part, dims in (("gate", (16, WIDTH)), ("up", (16, WIDTH)), ("down", (WIDTH, 16))):
                matrix(block + "ffn_%s_exps" % part, EXPERTS, *dims)
            if shared_width:
                for part, dims in (("gate", (shared_width, WIDTH)), ("up", (shared_width, WIDTH)), ("down", (WIDTH, shared_width))):
                    matrix(block + "ffn_%s_shexp" % part, *dims)
            if options.get("gated"):
                vector(block + "ffn_gate_inp_shexp.weight", WIDTH, 0, 0.5)
        if layer >= layers:
            matrix(block + "nextn.eh_proj", WIDTH, 2 * WIDTH)
            for stem in ("nextn.enorm", "nextn.hnorm", "layer_output_norm" if arch == "bailingmoe2" else "nextn.shared_head_norm"):
                vector(block + stem + ".weight", WIDTH, 1)
    vector("output_norm.weight", WIDTH, 1)
    if not options.get("tied"):
        matrix("output", VOCABULARY, WIDTH)
        tensors["output.weight"] *= 2
    return keys, tensors


def write(folder, name):
    options = MODELS[name]
    # Random weights whose answers do not hang on a rounding.
    for seed in range(1000):
        keys, tensors = build(name, seed)
        model = Model(keys, {key: tensor.astype(np.float64) for key, tensor in tensors.items()})
        prompt = np.random.default_rng(seed + 7).integers(0, VOCABULARY, options.get("long", 24)).tolist()
        answers = answer(model, prompt)
        if answers and answers["router"]["min_margin"] >= LEAST_MARGIN and answers["argmax_gap_min"] >= LEAST_LEAD:
            break
    path = os.path.join(folder, name)
    write_gguf(path + ".gguf", keys, tensors)
    head = {"arch": model.arch, "source": "testdata/family_oracles.py, float64", "exercises": options["note"]}
    with open(path + ".json", "w") as out:
        json.dump({**head, **answers}, out, separators=(",", ":"))
        out.write("\n")
    print("%s: seed %d, smallest router margin %g" % (path, seed, answers["router"]["min_margin"]))


def main(arguments):
    if len(arguments) > 1 and arguments[0] == "check":
        for path in arguments[1:]:
            check(path)
    elif len(arguments) > 1 and arguments[0] == "write":
        for name in arguments[2:] or MODELS:
            write(arguments[1], name)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
