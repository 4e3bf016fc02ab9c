"""Secrets: planted in every place a run writes from, found in none that it writes to."""


import pytest

from pipelines.config.configuration import CONFIGS, as_tree, load_settings
from pipelines.errors import ConfigurationError
from pipelines.keying.keys import digest
from pipelines.record.records import RunRecord
from pipelines.record.redaction import HIDDEN, Redactor, current, is_secret, learn, names_withheld
from pipelines.storage.store import Store

DATABENTO = "db-abcDEF0123456789abcDEF0123456"
PLANTED = {
    "environment": DATABENTO,
    "token": "t0ken-Of-The-0ptions",
    "url": "us3r:pa55word",
    "aws": "wJalrXUtnFEMI/K7MDENG",
    "file": "s3cret-in-the-file",
    "store": "st0re-0ptions",
}


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("https://user:pass@host/x", f"https://{HIDDEN}@host/x"),
        ("s3://AKIAIOSFODNN7EXAMPLE:ab/cd@bucket/x and more", f"s3://{HIDDEN}@bucket/x and more"),
        ("https://ghp_abc@github.com/x", f"https://{HIDDEN}@github.com/x"),
        ("https://host:80/x?token=abc&y=1", f"https://host:80/x?token={HIDDEN}&y=1"),
        ("https://h/p?X-Amz-Signature=abcd&z=1", f"https://h/p?X-Amz-Signature={HIDDEN}&z=1"),
        (f"refused: {DATABENTO}", f"refused: {HIDDEN}"),
        ("Invalid api_key=abc, try again", f"Invalid api_key={HIDDEN}, try again"),
        ("tcp://127.0.0.1:8786 fold=0 a@b", "tcp://127.0.0.1:8786 fold=0 a@b"),
        ("write key=value, e.g. sweep.grid.fast=5:50:5", "write key=value, e.g. sweep.grid.fast=5:50:5"),
    ],
)
def test_running_text(text, clean):
    assert Redactor().text(text) == clean


@pytest.mark.parametrize(
    ("word", "clean"),
    [
        ("fold=0", "fold=0"),
        ("options.api_key=abc", f"options.api_key={HIDDEN}"),
        ("store_options.secret=abc", f"store_options.secret={HIDDEN}"),
        ("store_options={secret: abc}", f"store_options={HIDDEN}"),
        ("options={api_key: abc, x: 1}", f"options={{api_key: {HIDDEN}, x: 1}}"),
        ('options={"token": "a b", "tokens": [a, b]}', f'options={{"token": {HIDDEN}, "tokens": {HIDDEN}}}'),
    ],
)
def test_words_of_a_command_line(word, clean):
    assert Redactor().word(word) == clean


def test_names_that_say_so_and_names_that_only_look_so():
    names = ("key", "api_key", "apiKey", "AWS_SECRET_ACCESS_KEY", "hf-token", "passwords", "store_options", "Authorization")
    assert [name for name in names if not is_secret(name)] == []
    names = ("keyboard", "monkey", "tokeniser", "secretary", "fast", "author", "sort_keyed")
    assert [name for name in names if is_secret(name)] == []


def test_trees_keep_their_shape_and_what_is_no_secret():
    tree = {"a": {"token": ["x", {"y": 1}], "on": True}, "key": "k", "store_options": {"anon": True, "port": 9}, "n": 1.5}
    clean = Redactor().tree(tree)
    assert clean == {
        "a": {"token": [HIDDEN, {"y": HIDDEN}], "on": True},
        "key": HIDDEN,
        "store_options": {"anon": True, "port": HIDDEN},
        "n": 1.5,
    }
    assert names_withheld(clean) == ["a.token[0]", "a.token[1].y", "key", "store_options.port"]
    assert Redactor().tree({"key": "a" * 64}, content_keys=True) == {"key": "a" * 64}
    assert Redactor().tree({"key": "secret"}, content_keys=True) == {"key": HIDDEN}
    default = as_tree(load_settings(["data=x"]))
    assert Redactor().tree(default) == default


def test_values_learnt_are_found_in_running_text(monkeypatch):
    monkeypatch.setenv("SOME_SERVICE_TOKEN", "from-the-environment")
    learn({"options": {"password": "from-the-tree", "deep": [{"secret": "abc"}]}}, ["options.key=from-the-words"])
    text = current().text("from-the-environment, from-the-tree, from-the-words, abc")
    assert text == f"{HIDDEN}, {HIDDEN}, {HIDDEN}, abc"
    assert "from-the" not in repr(current())
    learn({})


def test_every_event_of_a_record_is_clean_but_keeps_content_keys(tmp_path, monkeypatch):
    monkeypatch.setenv("DATABENTO_API_KEY", DATABENTO)
    record = RunRecord.begin(Store.open(tmp_path), {"command": "test", "configuration": {"key": digest(1), "x": DATABENTO}})
    record.append("task", task="a", key=digest(2), facts={"token": "short", "key": digest(3), "said": f"x {DATABENTO}"})
    record.append("retry", task="a", error=f"https://u:p@h said {DATABENTO}")
    record.end("failed", 4, 1.0, error=DATABENTO, models=[{"key": digest(4)}])
    text = "".join(path.read_text() for path in record.folder.iterdir())
    assert DATABENTO not in text and "u:p" not in text and "short" not in text
    assert digest(1) not in text and digest(3) not in text, "the user's own `key` may be anything"
    assert digest(2) in text and digest(4) in text


def test_a_refused_secret_is_not_told():
    with pytest.raises(ConfigurationError) as refused:
        load_settings(["data=x", "training.seeds=[a]"])
    assert "given 'a'" in str(refused.value)


@pytest.mark.filterwarnings("always")
@pytest.mark.parametrize("fails", ["false", "true"])
def test_secrets_planted_everywhere_are_found_nowhere(own_flow, monkeypatch, fails):
    monkeypatch.setenv("DATABENTO_API_KEY", DATABENTO)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", PLANTED["aws"])
    text = (CONFIGS / "default.yaml").read_text(encoding="utf-8")
    text = "".join(line for line in text.splitlines(keepends=True) if not line.startswith("options:"))
    (own_flow.folder / "config.yaml").write_text(f"{text}\noptions:\n  api_token: {PLANTED['file']}\n", encoding="utf-8")
    secret_words = (
        f"options.source=https://{PLANTED['url']}@host/x?api_key={PLANTED['aws']}",
        f"options.fail={fails}",
        f"store_options.passphrase_of_the_store={PLANTED['store']}",
    )
    for token in ((), (f"options.api_token={PLANTED['token']}",)):
        done = own_flow.command("run", *own_flow.words, *secret_words, *token, "--config", "config.yaml", "--debug")
        assert done.code == (4 if fails == "true" else 0), done.err
        assert "a warning that tells (redacted)" in done.err and "logged (redacted)" in done.err
        for name, secret in PLANTED.items():
            assert secret not in done.out + done.err, name
    written = [path for path in (own_flow.folder / "store").rglob("*") if path.is_file()]
    assert any(path.suffix == ".log" and "logged (redacted)" in path.read_text() for path in written)
    assert len(written) > 8 and any(path.name == "manifest.json" for path in written)
    for path in written:
        for name, secret in PLANTED.items():
            assert secret.encode() not in path.read_bytes(), f"{name} in {path}"
    for words in (("runs",), ("runs", "--json")):
        shown = own_flow.command(*words)
        assert not [name for name, secret in PLANTED.items() if secret in shown.out + shown.err]


@pytest.mark.filterwarnings("always")
def test_a_changed_secret_is_another_key_and_the_plan_says_so(own_flow):
    assert own_flow.command("run", *own_flow.words, "options.api_token=first-one", "--quiet").code == 0
    planned = own_flow.json("plan", *own_flow.words, "options.api_token=second-one")
    rows = {row["name"]: row for row in planned["nodes"]}
    assert rows["numbers[csv=0]"]["cached"] and not rows["scaled"]["cached"]
    assert rows["scaled"]["reason"] == f"configuration changed: {HIDDEN}"
