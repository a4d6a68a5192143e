"""Compiler options of every target whose results must have the same bits everywhere."""

# Repeats .bazelrc: whatever includes numerics.h must never fuse a multiply and an add.
NUMERIC = ["-ffp-contract=off"]

# GCC 12 vectorizes most loops only at -O3: three times the speed for dot products.
VECTORIZED = NUMERIC + select({
    "//strata/generate/numerics:optimized": ["-O3"],
    "//conditions:default": [],
})

# Where registers are written out by hand, the compiler's own ideas of vectors only add moves. GCC 12
# warns of the undefined registers inside its own AVX-512 intrinsics.
INTRINSICS = VECTORIZED + [
    "-fno-tree-vectorize",
    "-Wno-maybe-uninitialized",
    "-Wno-uninitialized",
]
