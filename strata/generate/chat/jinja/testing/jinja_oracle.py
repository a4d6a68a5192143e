"""Renders templates with Python's Jinja, the way Hugging Face's transformers sets it up.

Reads lines of JSON {"template", "context"} on stdin and writes for each a line {"out"} or {"error"}.
"""
import datetime
import functools
import json
import sys

import jinja2
import jinja2.ext
import jinja2.sandbox

NOW = datetime.datetime(2026, 7, 4, 12, 30, 5)


class Generation(jinja2.ext.Extension):
    """{% generation %}: what the model writes; its text is that of its body."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        call = self.call_method("_body")
        return jinja2.nodes.CallBlock(call, [], [], body).set_lineno(line)

    def _body(self, caller):
        return caller()


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators,
                      sort_keys=sort_keys)


def environment():
    result = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])
    result.filters["tojson"] = tojson
    result.globals["raise_exception"] = raise_exception
    result.globals["strftime_now"] = NOW.strftime
    return result


def render(compiled, template, context):
    try:
        out = compiled(template).render(**context)
        out.encode()
        return {"out": out}
    except Exception as error:  # Whatever a template can raise.
        return {"error": f"{type(error).__name__}: {error}"}


def main():
    compiled = functools.lru_cache(maxsize=None)(environment().from_string)
    for line in sys.stdin:
        case = json.loads(line)
        print(json.dumps(render(compiled, case["template"], case["context"])), flush=True)


if __name__ == "__main__":
    main()
