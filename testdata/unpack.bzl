"""unpack: a folder made of the files in a .tar.xz archive, for tests to read as runfiles.

    unpack(name = "cases", archive = "cases.tar.xz")

split_corpus: seeds for the fuzz target of split models, made of such a folder.

Bazel keeps no symbolic link that points to nothing: a test that needs one makes it.
"""

def _unpack_impl(ctx):
    folder = ctx.actions.declare_directory(ctx.label.name)
    ctx.actions.run_shell(
        inputs = [ctx.file.archive],
        outputs = [folder],
        command = "tar --extract --xz --no-same-owner --file \"$1\" --directory \"$2\" && " +
                  "find \"$2\" -xtype l -delete",
        arguments = [ctx.file.archive.path, folder.path],
        env = {"PATH": "/usr/bin:/bin"},
        mnemonic = "Unpack",
        progress_message = "Unpacking %s" % ctx.file.archive.short_path,
    )
    return [DefaultInfo(files = depset([folder]), runfiles = ctx.runfiles(files = [folder]))]

unpack = rule(
    implementation = _unpack_impl,
    attrs = {"archive": attr.label(allow_single_file = [".tar.xz"], mandatory = True)},
)

# Of each folder with two shards or more: the length of the first, the first, the second.
_SPLIT_CORPUS = """
import glob, os, struct, sys
cases, corpus = sys.argv[1:]
for first in glob.glob(os.path.join(cases, "*", "*-00001-of-*.gguf")):
    second = first.replace("-00001-of-", "-00002-of-")
    if os.path.exists(second):
        shards = [open(name, "rb").read() for name in (first, second)]
        with open(os.path.join(corpus, os.path.basename(os.path.dirname(first))), "wb") as output:
            output.write(struct.pack("<I", len(shards[0])) + shards[0] + shards[1])
"""

def _split_corpus_impl(ctx):
    folder = ctx.actions.declare_directory(ctx.label.name)
    ctx.actions.run(
        inputs = [ctx.file.cases],
        outputs = [folder],
        executable = "/usr/bin/python3",
        arguments = ["-c", _SPLIT_CORPUS, ctx.file.cases.path, folder.path],
        mnemonic = "SplitCorpus",
    )
    return [DefaultInfo(files = depset([folder]))]

# Inputs for gguf_split_fuzz made of the unpacked case files.
split_corpus = rule(
    implementation = _split_corpus_impl,
    attrs = {"cases": attr.label(allow_single_file = True, mandatory = True)},
)
