"""cuda_library: device code compiled by nvcc, linked like any cc_library.

    cuda_library(
        name = "top_k_kernel",
        srcs = ["top_k_kernel.cu"],
        hdrs = ["top_k_kernel.h"],
        deps = ["//third_party/cuda:runtime"],
    )

if_cuda(there, absent) picks a list by whether this machine has a toolkit. Targets that exist only with
one are wrapped in `if CUDA_AVAILABLE:`.

Every header a .cu includes must come from hdrs or deps: they are the inputs of its action.
"""

load("@local_cuda//:defs.bzl", _CUDA_AVAILABLE = "CUDA_AVAILABLE", _CUDA_NVCC = "CUDA_NVCC")

CUDA_AVAILABLE = _CUDA_AVAILABLE

# The default fits an H200 exactly and every card from RTX 30 on through PTX; the release set has
# machine code for each generation the project knows.
_DEFAULT_ARCHITECTURES = [
    "arch=compute_90,code=sm_90",
    "arch=compute_80,code=compute_80",
]
_RELEASE_ARCHITECTURES = [
    "arch=compute_80,code=sm_80",
    "arch=compute_86,code=sm_86",
    "arch=compute_89,code=sm_89",
    "arch=compute_90,code=sm_90",
    "arch=compute_120,code=sm_120",
    "arch=compute_80,code=compute_80",
    "arch=compute_120,code=compute_120",
]

def if_cuda(there, absent = []):
    return there if CUDA_AVAILABLE else absent

def _compile(ctx, source, compilation_context, headers):
    output = ctx.actions.declare_file("_objs/%s/%s.o" % (ctx.label.name, source.basename))
    arguments = ctx.actions.args()
    arguments.add_all(["-std=c++20", "-O3", "-lineinfo", "-cudart=static", "-Werror=all-warnings"])
    arguments.add("-Xcompiler=-Wall,-Wextra,-Werror,-ffp-contract=off")
    for architecture in ctx.attr.architectures:
        arguments.add("-gencode=" + architecture)
    arguments.add_all(ctx.attr.copts)
    arguments.add("-I.")
    arguments.add("-I" + ctx.genfiles_dir.path)
    arguments.add_all(compilation_context.quote_includes, before_each = "-I")
    arguments.add_all(compilation_context.system_includes, before_each = "-isystem")
    arguments.add_all(compilation_context.includes, before_each = "-I")
    arguments.add_all(["-c", source.path, "-o", output.path])
    ctx.actions.run(
        outputs = [output],
        inputs = depset([source] + headers, transitive = [compilation_context.headers]),
        executable = _CUDA_NVCC,
        arguments = [arguments],
        env = {"PATH": "/usr/local/bin:/usr/bin:/bin"},
        mnemonic = "CudaCompile",
        progress_message = "Compiling %s" % source.short_path,
    )
    return output

def _cuda_objects_impl(ctx):
    contexts = [dep[CcInfo].compilation_context for dep in ctx.attr.deps]
    merged = cc_common.merge_cc_infos(
        cc_infos = [CcInfo(compilation_context = context) for context in contexts],
    ).compilation_context
    return [DefaultInfo(files = depset([
        _compile(ctx, source, merged, ctx.files.hdrs)
        for source in ctx.files.srcs
    ]))]

_cuda_objects = rule(
    implementation = _cuda_objects_impl,
    attrs = {
        "srcs": attr.label_list(allow_files = [".cu"]),
        "hdrs": attr.label_list(allow_files = [".h", ".cuh"]),
        "deps": attr.label_list(providers = [CcInfo]),
        "copts": attr.string_list(),
        "architectures": attr.string_list(),
    },
)

def cuda_library(name, srcs, hdrs = [], deps = [], copts = [], **kwargs):
    """A cc_library whose sources are .cu files. Only where CUDA_AVAILABLE."""
    _cuda_objects(
        name = name + "_objects",
        srcs = srcs,
        hdrs = hdrs,
        deps = deps,
        copts = copts,
        architectures = select({
            "//third_party/cuda:release_architectures": _RELEASE_ARCHITECTURES,
            "//conditions:default": _DEFAULT_ARCHITECTURES,
        }),
        visibility = ["//visibility:private"],
    )
    native.cc_library(
        name = name,
        srcs = [":" + name + "_objects"],
        hdrs = hdrs,
        deps = deps,
        **kwargs
    )
