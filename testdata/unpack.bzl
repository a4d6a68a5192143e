"""unpack: a folder made of the files in a .tar.xz archive, for tests to read as runfiles.

    unpack(name = "cases", archive = "cases.tar.xz")

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
