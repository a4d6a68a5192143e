#!/usr/bin/env python3
"""Writes a GGUF model of random weights in the geometry of a model that people run.

    testdata/make_random_model.py OUT.gguf --model qwen3.6-35b-a3b --layers 6
    testdata/make_random_model.py OUT.gguf --model lfm2-8b-a1b
    testdata/make_random_model.py OUT.gguf --model qwen3.8-flash-next --layers 4 --table_gb 4
    testdata/make_random_model.py --list

What such a model says is noise, but its shapes, types and sizes are those of the real one, so it
serves for speed, memory and bits. Types are those of usual files: experts gate and up q4_K, down
q5_K, all other projections q8_0, output q6_K; experts of qwen3.8-flash-next iq2_xs and q2_0. The
same arguments give the same bytes.

Weights have the standard deviation 1 / sqrt(row length). They are cut from a pool of random blocks
for each type, each tensor from an offset of its own, so files compress well and say nothing about
compression. The file has no tokenizer: run it with --tokens_file.
"""

import argparse
import struct
import sys

import numpy

ALIGNMENT = 32
POOL_BYTES = 32 << 20

# ------------------------------------------------------------------------------ types of weights
# Of each: number in the file, weights and bytes of a block, and what makes `count` blocks whose
# weights have mean 0 and this standard deviation.


def f16(count, value):
    return numpy.full(count, value, "<f2").view(numpy.uint8).reshape(count, 2)


def bits(random, count, num_bytes):
    return numpy.frombuffer(random.bytes(count * num_bytes), numpy.uint8).reshape(count, num_bytes)


def f32_blocks(random, count, deviation):
    values = random.standard_normal((count, 1), numpy.float32) * numpy.float32(deviation)
    return values.astype("<f4").view(numpy.uint8)


def q8_0_blocks(random, count, deviation):
    return numpy.hstack([f16(count, deviation / 73.9), bits(random, count, 32)])


# Eight scales and eight minimums of 32, packed into 12 bytes.
SCALES_OF_32 = numpy.array([160] * 8 + [0] * 4, numpy.uint8)


def q4_k_blocks(random, count, deviation):
    scale = deviation / (32 * 4.61)
    return numpy.hstack([f16(count, scale), f16(count, 7.5 * scale),
                         numpy.tile(SCALES_OF_32, (count, 1)), bits(random, count, 128)])


def q5_k_blocks(random, count, deviation):
    scale = deviation / (32 * 9.23)
    return numpy.hstack([f16(count, scale), f16(count, 15.5 * scale),
                         numpy.tile(SCALES_OF_32, (count, 1)), bits(random, count, 160)])


def q6_k_blocks(random, count, deviation):
    scales = numpy.full((count, 16), 32, numpy.uint8)
    return numpy.hstack([bits(random, count, 192), scales, f16(count, deviation / (32 * 18.5))])


def iq2_xs_blocks(random, count, deviation):
    return numpy.hstack([f16(count, deviation / 51), bits(random, count, 72)])


# -1, 0 or 1 times the scale.
def q2_0_blocks(random, count, deviation):
    codes = random.integers(0, 3, (count, 16, 4), numpy.uint8)
    packed = codes @ numpy.array([1, 4, 16, 64], numpy.uint8)
    return numpy.hstack([f16(count, deviation / 0.816), packed])


TYPES = {
    "f32": (0, 1, 4, f32_blocks),
    "q8_0": (8, 32, 34, q8_0_blocks),
    "iq2_xs": (17, 256, 74, iq2_xs_blocks),
    "q2_0": (42, 64, 18, q2_0_blocks),
    "q4_K": (12, 256, 144, q4_k_blocks),
    "q5_K": (13, 256, 176, q5_k_blocks),
    "q6_K": (14, 256, 210, q6_k_blocks),
}

# ---------------------------------------------------------------------------------------- models

QWEN3_NEXT = dict(
    arch="qwen3next", layers=48, width=2048, vocabulary=151936, context=262144, heads=16,
    kv_heads=2, head_size=256, rope=64, rope_base=1e7, experts=512, used=10, expert_width=512,
    shared_width=512, interval=4, key_heads=16, value_heads=32, state_size=128, taps=4)

MODELS = {
    "qwen3.6-35b-a3b": dict(QWEN3_NEXT, arch="qwen35moe", layers=40, vocabulary=248320,
                            experts=256, used=8, sections=[11, 11, 10, 0]),
    "qwen3-next-80b-a3b": QWEN3_NEXT,
    "qwen3.8-flash-next": dict(
        QWEN3_NEXT, arch="qwen4exp", width=2560, vocabulary=248320, heads=24, expert_width=640,
        shared_width=640, value_heads=48, sections=[11, 11, 10, 0], expert_types=("iq2_xs", "q2_0"),
        streams=4, stream_rank=320, index_heads=4, index_size=128, index_kept=2048, index_block=4,
        ngram_layer=1, ngram_tokens=3, ngram_heads=8, ngram_taps=4, ngram_end=248044,
        ngram_multipliers=[23703573157769, 20109073645365, 8052911324071], head_rows=20000000),
    "lfm2-8b-a1b": dict(
        arch="lfm2moe", layers=24, width=2048, vocabulary=65536, context=128000, heads=32,
        kv_heads=8, head_size=64, rope=64, rope_base=1e6, experts=32, used=4, expert_width=1792,
        dense_layers=2, dense_width=7168, gating=2, taps=3,
        attention_layers=[2, 6, 10, 14, 18, 21]),
    "qwen3-30b-a3b": dict(
        arch="qwen3moe", layers=48, width=2048, vocabulary=151936, context=40960, heads=32,
        kv_heads=4, head_size=128, rope=128, rope_base=1e6, experts=128, used=8, expert_width=768),
    "glm-4.5-air": dict(
        arch="glm4moe", layers=46, width=4096, vocabulary=151552, context=131072, heads=96,
        kv_heads=8, head_size=128, rope=64, rope_base=1e6, experts=128, used=8, expert_width=1408,
        shared_width=1408, dense_layers=1, dense_width=10944, gating=2, biases=True),
    "gemma-4-26b-a4b": dict(
        arch="gemma4", layers=30, width=2816, vocabulary=262144, context=262144, heads=16,
        kv_heads=2, head_size=512, rope=512, rope_base=1e6, experts=128, used=8, expert_width=704,
        dense_width=2112, window=1024, full_every=6, window_kv_heads=8, window_head_size=256,
        window_rope_base=1e4, cap=30.0),
    "deepseek-v2-lite": dict(
        arch="deepseek2", layers=27, width=2048, vocabulary=102400, context=163840, heads=16,
        kv_heads=1, head_size=576, rope=64, rope_base=1e4, experts=64, used=6, expert_width=1408,
        shared_width=2816, dense_layers=1, dense_width=10944, gating=1, kv_rank=512, nope=128,
        latent_value=128),
}



def primes_above(number, count):
    """The first `count` primes above `number`."""
    primes = []
    while len(primes) < count:
        number += 1
        if all(number % divisor for divisor in range(2, int(number ** 0.5) + 1)):
            primes.append(number)
    return primes


TABLE = "per_layer_token_embd"
NORMS_AFTER_ATTENTION = ("qwen3next", "qwen35moe", "glm4moe")


class Model:
    """The keys and tensors of a file. A tensor is (name, type, dims, values or None)."""

    def __init__(self, spec, layers, plain_attention, nextn):
        self.spec = spec
        self.layers = layers
        self.plain = plain_attention
        self.nextn = nextn
        self.keys = []
        self.tensors = []
        self.add_keys()
        self.matrix("token_embd", "q8_0", spec["width"], spec["vocabulary"])
        if "streams" in spec:
            self.add_table()
            self.add_stream_mixer("output_hc", False)
        else:
            self.norm("token_embd_norm" if spec["arch"] == "lfm2moe" else "output_norm",
                      spec["width"])
        if "window" in spec:  # Its output is the embedding.
            turning = spec["head_size"] // 8
            self.values("rope_freqs.weight", [1.0] * turning + [1e30] * (3 * turning))
        else:
            self.matrix("output", "q6_K", spec["width"], spec["vocabulary"])
        for layer in range(layers):
            self.add_layer(layer)
        if nextn:
            self.add_nextn(layers)

    def get(self, name):
        return self.spec.get(name, 0)

    # Shapes are in the file's order: row length first.
    def matrix(self, name, kind, *dims):
        self.tensors.append((name + ".weight", kind, dims, None))

    def values(self, name, values):
        values = numpy.asarray(values, "<f4")
        self.tensors.append((name, "f32", values.shape, values))

    def norm(self, name, size):
        self.values(name + ".weight", numpy.ones(size))

    def is_attention(self, layer):
        if self.plain:
            return True
        if "attention_layers" in self.spec:
            return layer in self.spec["attention_layers"]
        return not self.get("interval") or (layer + 1) % self.spec["interval"] == 0

    def has_window(self, layer):
        return "window" in self.spec and (layer + 1) % self.spec["full_every"] != 0

    def add_keys(self):
        spec = self.spec
        blocks = self.layers + (1 if self.nextn else 0)
        numbers = {
            "block_count": blocks, "context_length": spec["context"],
            "embedding_length": spec["width"], "attention.head_count": spec["heads"],
            "attention.key_length": spec["head_size"], "rope.dimension_count": spec["rope"],
            "attention.value_length": self.get("kv_rank") or spec["head_size"],
            "feed_forward_length": self.get("dense_width") or spec["expert_width"],
            "expert_count": spec["experts"], "expert_used_count": spec["used"],
            "expert_feed_forward_length": spec["expert_width"],
        }
        if "attention_layers" in spec:
            heads = [spec["kv_heads"] * self.is_attention(layer) for layer in range(self.layers)]
            numbers["attention.head_count_kv"] = heads
        elif "window" in spec:
            windows = [self.has_window(layer) for layer in range(self.layers)]
            numbers.update({
                "attention.head_count_kv": [
                    spec["window_kv_heads" if window else "kv_heads"] for window in windows],
                "attention.sliding_window": spec["window"],
                "attention.sliding_window_pattern": [int(window) for window in windows],
                "attention.key_length_swa": spec["window_head_size"],
                "attention.value_length_swa": spec["window_head_size"],
                "rope.dimension_count_swa": spec["window_head_size"],
                "rope.freq_base_swa": spec["window_rope_base"],
                "final_logit_softcapping": spec["cap"]})
        else:
            numbers["attention.head_count_kv"] = spec["kv_heads"]
        optional = {
            "gating": "expert_gating_func", "dense_layers": "leading_dense_block_count",
            "sections": "rope.dimension_sections", "kv_rank": "attention.kv_lora_rank",
        }
        numbers.update({key: spec[name] for name, key in optional.items() if name in spec})
        if "attention_layers" in spec:
            numbers["shortconv.l_cache"] = spec["taps"]
        if "interval" in spec:
            numbers.update({
                "full_attention_interval": 1 if self.plain else spec["interval"],
                "expert_shared_feed_forward_length": spec["shared_width"],
                "ssm.conv_kernel": spec["taps"], "ssm.state_size": spec["state_size"],
                "ssm.group_count": spec["key_heads"],
                "ssm.time_step_rank": spec["value_heads"],
                "ssm.inner_size": spec["value_heads"] * spec["state_size"]})
        elif self.get("shared_width"):
            numbers["expert_shared_count"] = spec["shared_width"] // spec["expert_width"]
        if "kv_rank" in spec:
            numbers["attention.key_length_mla"] = spec["nope"] + spec["rope"]
            numbers["attention.value_length_mla"] = spec["latent_value"]
        if "streams" in spec:
            del numbers["feed_forward_length"]
            self.add_stream_numbers(numbers)
        if self.nextn:
            numbers["nextn_predict_layers"] = 1
        self.keys.append(("general.architecture", spec["arch"]))
        for name, value in numbers.items():
            self.keys.append((spec["arch"] + "." + name, value))
        self.keys.append((spec["arch"] + ".attention.layer_norm_rms_epsilon", 1e-6))
        self.keys.append((spec["arch"] + ".rope.freq_base", spec["rope_base"]))

    def add_stream_numbers(self, numbers):
        spec = self.spec
        num_heads = (spec["ngram_tokens"] - 1) * spec["ngram_heads"]
        self.heads = primes_above(spec["head_rows"], num_heads)
        offsets = numpy.concatenate([[0], numpy.cumsum(self.heads)[:-1]])
        numbers.update({
            "hyper_connection.count": spec["streams"],
            "hyper_connection.low_rank": spec["stream_rank"],
            "attention.indexer.head_count": spec["index_heads"],
            "attention.indexer.key_length": spec["index_size"],
            "attention.indexer.top_k": spec["index_kept"],
            "attention.compress_ratios": [
                spec["index_block"] * self.is_attention(layer) for layer in range(self.layers)],
            "ple.layers": [spec["ngram_layer"]], "ple.ngram_size": spec["ngram_tokens"],
            "ple.heads_per_ngram": spec["ngram_heads"], "ple.conv_kernel": spec["ngram_taps"],
            "ple.eos_token_id": spec["ngram_end"],
            "embedding_length_per_layer_input": spec["width"] // num_heads,
            "ple.layer_multipliers": numpy.array(spec["ngram_multipliers"], "<u8"),
            "ple.head_offsets": numpy.array(offsets, "<u8"),
            "ple.head_vocab_sizes": numpy.array(self.heads, "<u8")})

    def add_table(self):
        self.matrix(TABLE, "q8_0", self.spec["width"] // len(self.heads),
                    aligned_to(sum(self.heads), 256))

    def add_stream_mixer(self, stem, has_inject):
        spec = self.spec
        width = spec["streams"] * spec["width"]
        self.norm(stem + "_norm", width)
        self.matrix(stem + "_down", "q8_0", width, spec["stream_rank"])
        self.matrix(stem + "_up", "q8_0", spec["stream_rank"], width)
        if has_inject:
            self.matrix(stem + "_inject", "f32", width, spec["streams"])

    def add_ngrams(self, block):
        spec = self.spec
        width, streams = spec["width"], spec["streams"] * spec["width"]
        self.matrix(block + "ple_key", "q8_0", width, streams)
        self.matrix(block + "ple_value", "q8_0", width, width)
        for name in ("key", "query", "conv"):
            self.norm(block + "ple_norm_" + name, streams)
        self.matrix(block + "ple_conv1d", "f32", spec["ngram_taps"], streams)

    # A norm before a part, or what mixes streams there.
    def add_entry(self, block, norm, mixer):
        if "streams" in self.spec:
            self.add_stream_mixer(block + mixer, True)
        else:
            self.norm(block + norm, self.spec["width"])

    def add_layer(self, layer):
        block = "blk.%d." % layer
        self.add_entry(block, "attn_norm", "hc_attn")
        if self.spec.get("ngram_layer") == layer:
            self.add_ngrams(block)
        if not self.is_attention(layer):
            (self.add_short_convolution if "attention_layers" in self.spec
             else self.add_delta_net)(block)
        elif "kv_rank" in self.spec:
            self.add_latent_attention(block)
        elif "window" in self.spec:
            self.add_windowed_attention(block, self.has_window(layer))
        else:
            self.add_attention(block)
        self.add_entry(block, "post_attention_norm" if self.spec["arch"] in NORMS_AFTER_ATTENTION
                       else "ffn_norm", "hc_ffn")
        if "window" in self.spec:
            self.add_dense_beside_experts(block)
        elif layer < self.get("dense_layers"):
            self.add_feed_forward(block, "", self.spec["dense_width"])
        else:
            self.add_experts(block)

    def add_attention(self, block):
        spec = self.spec
        size, width = spec["head_size"], spec["width"]
        gated = 2 if "interval" in spec else 1
        rows = {"attn_q": gated * spec["heads"] * size, "attn_k": spec["kv_heads"] * size,
                "attn_v": spec["kv_heads"] * size}
        for name, count in rows.items():
            self.matrix(block + name, "q8_0", width, count)
            if self.get("biases"):
                self.values(block + name + ".bias", numpy.zeros(count))
        self.matrix(block + "attn_output", "q8_0", spec["heads"] * size, width)
        self.norm(block + "attn_q_norm", size)
        self.norm(block + "attn_k_norm", size)
        if "index_heads" in spec:
            index_size = spec["index_size"]
            self.matrix(block + "indexer.q_proj", "q8_0", width, spec["index_heads"] * index_size)
            self.matrix(block + "indexer.k_proj", "q8_0", width, index_size)
            self.norm(block + "indexer.q_norm", index_size)
            self.norm(block + "indexer.k_norm", index_size)

    def add_windowed_attention(self, block, has_window):
        spec = self.spec
        size = spec["window_head_size" if has_window else "head_size"]
        kv_rows = spec["window_kv_heads" if has_window else "kv_heads"] * size
        self.matrix(block + "attn_q", "q8_0", spec["width"], spec["heads"] * size)
        self.matrix(block + "attn_k", "q8_0", spec["width"], kv_rows)
        if has_window:  # Elsewhere the values are the keys.
            self.matrix(block + "attn_v", "q8_0", spec["width"], kv_rows)
        self.matrix(block + "attn_output", "q8_0", spec["heads"] * size, spec["width"])
        self.norm(block + "attn_q_norm", size)
        self.norm(block + "attn_k_norm", size)
        self.norm(block + "post_attention_norm", spec["width"])

    def add_dense_beside_experts(self, block):
        spec = self.spec
        width, inner, experts = spec["width"], spec["expert_width"], spec["experts"]
        self.add_feed_forward(block, "", spec["dense_width"])
        for name in ("post_ffw_norm_1", "pre_ffw_norm_2", "post_ffw_norm_2", "post_ffw_norm"):
            self.norm(block + name, width)
        self.matrix(block + "ffn_gate_inp", "f32", width, experts)
        self.values(block + "ffn_gate_inp.scale", numpy.ones(width))
        self.matrix(block + "ffn_gate_up_exps", "q4_K", width, 2 * inner, experts)
        self.matrix(block + "ffn_down_exps", "q8_0", inner, width, experts)
        self.values(block + "ffn_down_exps.scale", numpy.ones(experts))
        self.values(block + "layer_output_scale.weight", [0.5])

    def add_latent_attention(self, block):
        spec = self.spec
        heads, width, rank = spec["heads"], spec["width"], spec["kv_rank"]
        self.matrix(block + "attn_q", "q8_0", width, heads * (spec["nope"] + spec["rope"]))
        self.matrix(block + "attn_kv_a_mqa", "q8_0", width, rank + spec["rope"])
        self.norm(block + "attn_kv_a_norm", rank)
        self.matrix(block + "attn_k_b", "q8_0", spec["nope"], rank, heads)
        self.matrix(block + "attn_v_b", "q8_0", rank, spec["latent_value"], heads)
        self.matrix(block + "attn_output", "q8_0", heads * spec["latent_value"], width)

    def add_short_convolution(self, block):
        width, taps = self.spec["width"], self.spec["taps"]
        self.matrix(block + "shortconv.in_proj", "q8_0", width, 3 * width)
        self.matrix(block + "shortconv.conv", "f32", taps, width)
        self.matrix(block + "shortconv.out_proj", "q8_0", width, width)

    def add_delta_net(self, block):
        spec = self.spec
        width, heads = spec["width"], spec["value_heads"]
        inner = heads * spec["state_size"]
        channels = 2 * spec["key_heads"] * spec["state_size"] + inner
        self.matrix(block + "attn_qkv", "q8_0", width, channels)
        self.matrix(block + "attn_gate", "q8_0", width, inner)
        if spec["arch"] == "qwen3next":
            self.matrix(block + "ssm_ba", "q8_0", width, 2 * heads)
        else:
            self.matrix(block + "ssm_beta", "q8_0", width, heads)
            self.matrix(block + "ssm_alpha", "q8_0", width, heads)
        self.matrix(block + "ssm_conv1d", "f32", spec["taps"], channels)
        # From heads that forget within a few tokens to heads that keep thousands.
        self.values(block + "ssm_a", -numpy.exp(numpy.linspace(-6.0, 1.0, heads)))
        self.values(block + "ssm_dt.bias", numpy.linspace(-2.0, 2.0, heads))
        self.norm(block + "ssm_norm", spec["state_size"])
        self.matrix(block + "ssm_out", "q8_0", inner, width)

    def add_feed_forward(self, block, suffix, inner):
        self.matrix(block + "ffn_gate" + suffix, "q8_0", self.spec["width"], inner)
        self.matrix(block + "ffn_up" + suffix, "q8_0", self.spec["width"], inner)
        self.matrix(block + "ffn_down" + suffix, "q8_0", inner, self.spec["width"])

    def add_experts(self, block):
        spec = self.spec
        width, inner, experts = spec["width"], spec["expert_width"], spec["experts"]
        self.matrix(block + "ffn_gate_inp", "f32", width, experts)
        # Rows of whole blocks: some widths are no multiple of 256.
        up, down = spec.get("expert_types", ("q4_K", "q5_K" if inner % 256 == 0 else "q8_0"))
        self.matrix(block + "ffn_gate_exps", up, width, inner, experts)
        self.matrix(block + "ffn_up_exps", up, width, inner, experts)
        self.matrix(block + "ffn_down_exps", down, inner, width, experts)
        if self.get("gating") == 2:
            self.values(block + "exp_probs_b.bias", numpy.zeros(experts))
        if self.get("shared_width"):
            self.add_feed_forward(block, "_shexp", spec["shared_width"])
        if "interval" in spec:
            self.matrix(block + "ffn_gate_inp_shexp", "f32", width)

    def add_nextn(self, layer):
        block = "blk.%d.nextn." % layer
        width = self.spec["width"]
        plain, self.plain = self.plain, True
        self.add_layer(layer)
        self.plain = plain
        self.norm(block + "enorm", width)
        self.norm(block + "hnorm", width)
        self.matrix(block + "eh_proj", "q8_0", 2 * width, width)
        self.norm(block + "shared_head_norm", width)


# ------------------------------------------------------------------------------------ the file


class Pools:
    """Bytes of random blocks, of which a tensor takes a run that begins somewhere."""

    def __init__(self, seed):
        self.random = numpy.random.default_rng(seed)
        self.pools = {}

    def pieces(self, kind, dims):
        _, block_weights, block_bytes, make = TYPES[kind]
        count = int(numpy.prod(dims, dtype=numpy.int64)) // block_weights
        key = (kind, dims[0])
        if key not in self.pools:
            size = min(POOL_BYTES, max(4 << 20, count * block_bytes)) // block_bytes
            self.pools[key] = make(self.random, size, dims[0] ** -0.5).tobytes()
        pool = self.pools[key]
        left = count * block_bytes
        begin = int(self.random.integers(len(pool) // block_bytes)) * block_bytes
        while left > 0:
            piece = pool[begin:begin + left]
            yield piece
            left -= len(piece)
            begin = 0


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def key_bytes(name, value):
    if isinstance(value, str):
        return text(name) + struct.pack("<I", 8) + text(value)
    if isinstance(value, float):
        return text(name) + struct.pack("<If", 6, value)
    if isinstance(value, numpy.ndarray):  # Of u64.
        return text(name) + struct.pack("<IIQ", 9, 10, len(value)) + value.tobytes()
    if isinstance(value, list):
        return text(name) + struct.pack("<IIQ%di" % len(value), 9, 5, len(value), *value)
    return text(name) + struct.pack("<II", 4, value)


def aligned_to(size, unit):
    return (size + unit - 1) // unit * unit


def aligned(size):
    return aligned_to(size, ALIGNMENT)


def bytes_of(kind, dims):
    _, block_weights, block_bytes, _ = TYPES[kind]
    return int(numpy.prod(dims, dtype=numpy.int64)) // block_weights * block_bytes


def write(keys, tensors, path, seed):
    header = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(keys))
    header += b"".join(key_bytes(name, value) for name, value in keys)
    offset = 0
    for name, kind, dims, _ in tensors:
        header += text(name) + struct.pack("<I%dQ" % len(dims), len(dims), *dims)
        header += struct.pack("<IQ", TYPES[kind][0], offset)
        offset += aligned(bytes_of(kind, dims))
    pools = Pools(seed)
    with open(path, "wb") as file:
        file.write(header.ljust(aligned(len(header)), b"\0"))
        for _, kind, dims, values in tensors:
            for piece in [values.tobytes()] if values is not None else pools.pieces(kind, dims):
                file.write(piece)
            size = bytes_of(kind, dims)
            file.write(b"\0" * (aligned(size) - size))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", nargs="?", help="the file to write")
    parser.add_argument("--model", choices=sorted(MODELS), help="whose geometry it has")
    parser.add_argument("--layers", type=int, default=0, help="so many layers; 0: all")
    parser.add_argument("--plain_attention", action="store_true",
                        help="every layer of a model with delta nets has attention")
    parser.add_argument("--nextn", action="store_true",
                        help="a block that predicts the token after the next")
    parser.add_argument("--table_gb", type=float, default=0,
                        help="of a table of n-grams; 0: as large as the model's")
    parser.add_argument("--table_out", help="a file of its own for the table of n-grams")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--list", action="store_true", help="print the models and their sizes")
    arguments = parser.parse_args()
    if arguments.list:
        for name, spec in sorted(MODELS.items()):
            tensors = Model(spec, spec["layers"], False, False).tensors
            size = sum(bytes_of(kind, dims) for _, kind, dims, _ in tensors)
            print("%-20s %-10s %2d layers %6.1f GB" % (name, spec["arch"], spec["layers"],
                                                       size / 1e9))
        return
    if arguments.out is None or arguments.model is None:
        parser.error("give OUT and --model, or --list")
    spec = dict(MODELS[arguments.model])
    layers = arguments.layers or spec["layers"]
    if arguments.plain_attention and "interval" not in spec:
        parser.error("--plain_attention is for models with delta nets")
    if not 1 <= layers <= spec["layers"]:
        parser.error("--layers from 1 to %d" % spec["layers"])
    if arguments.table_gb or arguments.table_out:
        if "streams" not in spec or layers <= spec["ngram_layer"]:
            parser.error("--table_gb and --table_out are for models with a table of n-grams")
    if arguments.table_gb:
        row_of_all = bytes_of("q8_0", [spec["width"]])
        spec["head_rows"] = int(arguments.table_gb * 1e9 / row_of_all)
    model = Model(spec, layers, arguments.plain_attention, arguments.nextn)
    tensors = model.tensors
    if arguments.table_out:
        table = [tensor for tensor in tensors if tensor[0] == TABLE + ".weight"]
        tensors = [tensor for tensor in tensors if tensor[0] != TABLE + ".weight"]
        write(model.keys[:1], table, arguments.table_out, arguments.seed + 1)
    write(model.keys, tensors, arguments.out, arguments.seed)


if __name__ == "__main__":
    sys.exit(main())
