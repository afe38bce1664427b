"""Random sound environments: those of this repository, changed at random, as long as no rule errs.

Changes come from the JSON Schema of the model: a value, an entry or a whole section that has the
right form, at a place that has it or could have it; or a section of another environment.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from slurmpod.environment.environment import Environment
from slurmpod.problems import YamlPath, has_errors
from slurmpod.reading.extends import environment_files
from slurmpod.reading.read import read, read_as
from slurmpod.resolve import Resolved, resolve
from slurmpod.rules.check import check

Data = dict[str, Any]
Schema = dict[str, Any]

EXAMPLES = Path(__file__).parents[3] / "environments/examples"
FILE = str(EXAMPLES / "random.yaml")
"""What a random environment is called: paths in it are looked for beside it."""

SCHEMA = Environment.model_json_schema()
SECTIONS = (
    *("network", "storage", "cluster", "slurm", "lifecycle"),
    *("access", "identity", "monitoring", "budget"),
)
NO_TEXTS: st.SearchStrategy[str] = st.nothing()

ODD_TEXTS = st.sampled_from(
    [
        *("$(touch /tmp/x)", "`id`", "a b", "'", '"', "''", "\\", "a'b\"c", "${HOME}", "%n %%"),
        *("#x", "a #x", ";", "|", "a\nb", "a\tb", "a\0b", "\x1b[1m", "é", "\u2028", "\ufeff"),
        *("\x85", "\xa0", "💥", "{{ x }}", "{% x %}", "@LUSTRE:main:DNS_NAME@", "${Token[X.1]}"),
        *("Yes", "1e3", "null", "~", "*", "&a", "--help", "../x", "a,b", "a=b", "x" * 400),
    ]
) | st.text(max_size=20)


def written(file: Path) -> Data:
    """Return what an environment file and its bases say, and no defaults."""
    environment = read(file).environment
    assert environment is not None
    data: Data = environment.model_dump(mode="json", exclude_unset=True)
    return data


POOL = [written(file) for file in environment_files(EXAMPLES)]


def is_sound(data: Data) -> bool:
    """Return whether an environment has no error; warnings are all right."""
    return not has_errors(check(read_as(FILE, json.dumps(data))))


def resolved_from(data: Data) -> Resolved:
    """Resolve a sound environment."""
    return resolve(read_as(FILE, json.dumps(data)))


KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFC1cDDqppc9f5Z1gDxSkJWunieALZNXZq/OfbUyrtvb "

FREE_TEXTS: tuple[tuple[YamlPath, str], ...] = (
    (("tags", "team"), "{}"),
    (("suppress", 0, "reason"), "accepted: {}"),
    (("slurm", "settings", "MpiParams"), "{}"),
    (("slurm", "settings", "JobSubmitPlugins"), "lua {}"),
    (("slurm", "accounts", 0, "description"), "{}"),
    (("storage", "lustre", "data_repositories", 0, "path"), "/{}"),
    (("storage", "lustre", "data_repositories", 0, "s3_uri"), "s3://example-corp/{}"),
    (("storage", "s3_mounts", 0, "prefix"), "{}/"),
    (("access", "users", 0, "full_name"), "{}"),
    (("access", "users", 0, "ssh_keys", 0), KEY + "{}"),
    (("access", "directory", "base_dn"), "dc=example,ou={}"),
    (("access", "directory", "bind_dn"), "cn={}"),
    (("access", "directory", "allowed_groups", 0), "{}"),
    (("storage", "scratch", "mount_path"), "/{}"),
    (("lifecycle", "artefacts", 0, "url"), "https://downloads.example.com/{}.deb"),
    (("lifecycle", "hooks", "worker", "after"), "{}"),
    (("cluster", "groups", 2, "name"), "{}"),
    (("cluster", "groups", 2, "partition"), "{}"),
)
"""Places for texts in ROOMY whose form is free, or nearly so, and what stands around the text."""

ROOMY = next(deepcopy(each) for each in POOL if each["name"] == "research-lab")
ROOMY["tags"] = {}
ROOMY["storage"]["lustre"]["data_repositories"] = [{"path": "/a", "s3_uri": "s3://example-corp/a"}]
ROOMY["access"] = {
    "users": [{"name": "alice", "uid": 20001, "full_name": "Alice", "ssh_keys": [KEY]}],
    "directory": {
        "uris": ["ldaps://ldap.example.com"],
        "base_dn": "dc=example",
        "bind_dn": "cn=nodes,dc=example",
        "bind_secret_arn": "arn:aws:secretsmanager:eu-central-1:123456789012:secret:ldap-AbCdEf",
        "allowed_groups": ["hpc-users"],
    },
}
ROOMY["storage"]["s3_mounts"] = [{"bucket": "example-corp", "mount_path": "/b", "prefix": "b/"}]
ROOMY["storage"]["scratch"] = {"mount_path": "/local"}
ROOMY["access"]["ssh_needs_job"] = True
ROOMY["lifecycle"] = {
    "health_checks": True,
    "containers": True,
    "motd": True,
    "hooks": {"worker": {"after": "extended/larger-buffers.sh"}},
    "artefacts": [
        {"name": name, "url": f"https://downloads.example.com/{name}.deb", "sha256": "ab" * 32}
        for name in ("mount_s3", "enroot")
    ],
}


@st.composite
def odd_environments(draw: st.DrawFn) -> Data:
    """Draw an environment without errors that has odd texts where the rules let them pass."""
    data = deepcopy(ROOMY)
    for path, around in draw(st.lists(st.sampled_from(FREE_TEXTS), max_size=4, unique=True)):
        changed = deepcopy(data)
        section: Any = changed
        for part in path[:-1]:
            section = section[part]
        section[path[-1]] = around.format(draw(ODD_TEXTS))
        if is_sound(changed):
            data = changed
    return data


@st.composite
def sound_environments(draw: st.DrawFn, texts: st.SearchStrategy[str] = NO_TEXTS) -> Data:
    """Draw an environment without errors; `texts` stand where any text can, if rules let them."""
    data = deepcopy(draw(st.sampled_from(POOL)))
    for _ in range(draw(st.integers(0, 12))):
        changed = draw(_mixed(data) | _changed(data, texts))
        if is_sound(changed):
            data = changed
    return data


@st.composite
def _mixed(draw: st.DrawFn, data: Data) -> Data:
    """Draw `data` with a section of another environment, moved to this one's Region."""
    section, other = draw(st.sampled_from(SECTIONS)), draw(st.sampled_from(POOL))
    if section not in other:
        return data
    new = {**data, section: other[section]}
    if section == "network":
        new["region"] = other["region"]
    text = json.dumps(new)
    for region in (other["region"], data["region"]):
        text = text.replace(region, new["region"])
    moved: Data = json.loads(text)
    return moved


@st.composite
def _changed(draw: st.DrawFn, data: Data, texts: st.SearchStrategy[str]) -> Data:
    """Draw `data` with one value set, or taken away."""
    data = deepcopy(data)
    *way, name, schema = draw(st.sampled_from(list(_places(data, SCHEMA))))
    section: Any = data
    for part in way:
        section = section[part]
    if name in section and draw(st.integers(0, 3)) == 0:
        del section[name]
    else:
        section[name] = draw(values(schema, texts))
    return data


def _places(value: Any, schema: Schema, path: YamlPath = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of each field that a section in `value` has or could have, and its schema."""
    schema = _plain(schema)
    if isinstance(value, dict) and "properties" in schema:
        for name, inner in schema["properties"].items():
            yield (*path, name, inner)
            yield from _places(value.get(name), inner, (*path, name))
    if isinstance(value, list) and schema.get("type") == "array":
        for index, item in enumerate(value):
            yield from _places(item, schema["items"], (*path, index))


def _plain(schema: Schema) -> Schema:
    """Return a schema without `null` and reference."""
    if "anyOf" in schema:
        schema = next(each for each in schema["anyOf"] if each.get("type") != "null")
    name = schema.get("$ref", "").rpartition("/")[2]
    return SCHEMA["$defs"][name] if name else schema


@st.composite
def values(draw: st.DrawFn, schema: Schema, texts: st.SearchStrategy[str]) -> Any:
    """Draw a value of the form that a schema describes, or one of `texts` where it is a text."""
    if "anyOf" in schema:
        schema = draw(st.sampled_from(schema["anyOf"]))
    schema = _plain(schema)
    if "enum" in schema or "const" in schema:
        return draw(st.sampled_from(schema.get("enum", [schema.get("const")])))
    if schema["type"] == "array":
        return draw(st.lists(values(schema["items"], texts), max_size=2))
    if schema["type"] == "object":
        return draw(_objects(schema, texts))
    return draw(_scalars(schema, texts))


def _scalars(schema: Schema, texts: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    if schema["type"] == "null":
        return st.none()
    if schema["type"] == "boolean":
        return st.booleans()
    if schema["type"] == "integer":
        least, most = schema.get("minimum", 0), schema.get("maximum", 1_000_000)
        usual = [n for n in (1, 2, 3, 64, 512, 1500, 2400, 4800, 12_000) if least <= n <= most]
        return st.sampled_from([least, most, *usual]) | st.integers(least, min(most, least + 100))
    shown = st.sampled_from(schema.get("examples", ["x"]))
    if "format" in schema:
        return shown | texts
    formed = st.from_regex(schema.get("pattern", "^[ -~]*$"))
    return shown | formed.filter(lambda text: len(text) <= schema.get("maxLength", 200)) | texts


@st.composite
def _objects(draw: st.DrawFn, schema: Schema, texts: st.SearchStrategy[str]) -> Data:
    if "properties" not in schema:
        names = {"type": "string", **schema.get("propertyNames", {})}
        [(pattern, inner)] = schema.get("patternProperties", {"": {"type": "string"}}).items()
        names = {**names, "pattern": pattern} if pattern else names
        entries = st.tuples(_scalars(names, texts), values(inner, texts))
        return dict(draw(st.lists(entries, max_size=2)))
    required = schema.get("required", [])
    optional = sorted(set(schema["properties"]) - set(required))
    chosen = draw(st.lists(st.sampled_from(optional), max_size=3, unique=True)) if optional else []
    return {name: draw(values(schema["properties"][name], texts)) for name in [*required, *chosen]}
