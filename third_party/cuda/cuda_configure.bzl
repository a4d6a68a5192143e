"""Finds the CUDA toolkit: CUDA_PATH, then /usr/local/cuda. Makes @local_cuda.

With a toolkit, @local_cuda//:runtime is the static CUDA runtime with its headers and @local_cuda//:defs.bzl
says where nvcc is. Without one, CUDA_AVAILABLE is False and nothing else may be used.
"""

_BUILD = """
package(default_visibility = ["//visibility:public"])

cc_library(
    name = "runtime",
    hdrs = glob(["include/**"]),
    includes = ["include"],
    linkopts = ["-L{lib}", "-l:libcudart_static.a", "-ldl", "-lrt", "-pthread"],
)
"""

_DEFS = """
CUDA_AVAILABLE = {available}
CUDA_NVCC = "{nvcc}"
"""

def _find_toolkit(ctx):
    for folder in [ctx.os.environ.get("CUDA_PATH", ""), "/usr/local/cuda"]:
        if folder and ctx.path(folder + "/bin/nvcc").exists:
            return folder
    return None

def _cuda_configure_impl(ctx):
    toolkit = _find_toolkit(ctx)
    if toolkit == None:
        ctx.file("BUILD.bazel", "")
        ctx.file("defs.bzl", _DEFS.format(available = "False", nvcc = ""))
        return
    ctx.symlink(toolkit + "/include", "include")
    ctx.file("BUILD.bazel", _BUILD.format(lib = toolkit + "/lib64"))
    ctx.file("defs.bzl", _DEFS.format(available = "True", nvcc = toolkit + "/bin/nvcc"))

cuda_configure = repository_rule(
    implementation = _cuda_configure_impl,
    environ = ["CUDA_PATH"],
    local = True,
)
