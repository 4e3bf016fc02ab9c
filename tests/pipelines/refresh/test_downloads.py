"""Days from Databento arrive whole or not at all, priced and capped first; the key comes from the environment."""

import json
import re
from pathlib import Path

import pytest

from loaders.sample import write_sample
from pipelines.cli import main
from pipelines.config.configuration import load_settings
from pipelines.errors import ConfigurationError, DownloadError, UsageError
from pipelines.refresh.downloads import KEY, Source, download

pytest.importorskip("cryptography", reason="cryptography comes with moto of the [dev] extra")

from tests.pipelines.refresh.databento_server import running_server, write_certificate

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    # databento's client leaves the file of a broken stream to the garbage collector
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
DAY = re.compile(r"-(\d{4})(\d{2})(\d{2})-\d{8}\.")


@pytest.fixture(scope="module")
def days(tmp_path_factory):
    folder = tmp_path_factory.mktemp("days") / "sample"
    write_sample(folder, sessions=6, daily=True)
    return {"-".join(DAY.search(path.name).groups()): path.read_bytes() for path in sorted(folder.glob("*.ohlcv-1m.*"))}


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    return write_certificate(tmp_path_factory.mktemp("certificate"))


@pytest.fixture
def server(days, certificate, monkeypatch):
    monkeypatch.setenv(KEY, "db-test-key")
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate))
    with running_server(certificate) as state:
        state.files = {("ohlcv-1m", day): content for day, content in days.items()}
        state.conditions = dict.fromkeys(days, "available")
        state.end = "2024-03-02T00:00:00.000000000Z"
        yield state


def words(state, *more: str) -> list[str]:
    return [
        "refresh.download.source=databento", "refresh.download.symbols=ES.FUT", "refresh.download.schemas=ohlcv-1m",
        "refresh.download.start=2024-02-27", f"refresh.download.gateway={state.url}", "refresh.download.wait_seconds=0", *more,
    ]  # fmt: skip


def fetch(state, folder: Path, *more: str, cap: float = 1.0, slept: list | None = None, known=None):
    settings = load_settings(words(state, *more)).refresh.download
    source = Source.connect(settings, lambda text: None)
    source = Source(source.settings, source.client, source.say, (slept if slept is not None else []).append)
    return download(source, folder, cap, known or {})


def calls(state, name: str) -> list[dict]:
    return [given for call, given in state.asked if call == name]


def test_the_days_that_lack_are_fetched_once_and_whole(server, days, tmp_path):
    done = fetch(server, tmp_path)
    expected = ["2024-02-27", "2024-02-28", "2024-02-29", "2024-03-01"]
    assert done.files == tuple(f"glbx-mdp3-{day.replace('-', '')}.ohlcv-1m.dbn.zst" for day in expected)
    assert done.estimated_usd == pytest.approx(0.04)
    for day, name in zip(expected, done.files, strict=True):
        assert (tmp_path / name).read_bytes() == days[day]
    assert calls(server, "metadata.get_cost") == [
        {"dataset": "GLBX.MDP3", "start": "2024-02-27", "end": "2024-03-02", "symbols": "ES.FUT", "schema": "ohlcv-1m",
         "stype_in": "parent", "stype_out": "instrument_id"}
    ]  # fmt: skip
    asked = calls(server, "timeseries.get_range")
    first = tuple(asked[0][name] for name in ("start", "end", "encoding", "compression"))
    assert first == ("2024-02-27", "2024-02-28", "dbn", "zstd")
    assert fetch(server, tmp_path).files == () and len(calls(server, "timeseries.get_range")) == len(expected)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(done.files)


def test_a_price_above_the_cap_fetches_nothing(server, tmp_path):
    server.cost_a_day = 3.0
    with pytest.raises(ConfigurationError, match=r"4 days from 2024-02-27 to 2024-03-01 is estimated at 12.00 USD, above .*10"):
        fetch(server, tmp_path, cap=10.0)
    assert calls(server, "timeseries.get_range") == [] and list(tmp_path.iterdir()) == []


def test_a_price_that_is_no_number_fetches_nothing(server, tmp_path):
    server.cost_a_day = float("nan")
    with pytest.raises(ConfigurationError, match="estimated at nan USD, above"):
        fetch(server, tmp_path)
    assert calls(server, "timeseries.get_range") == []


def test_what_a_server_says_is_told_without_the_key(server, tmp_path, capsys):
    server.said = "no such key as db-test-key"
    server.faults.extend([503, 503, 422])
    places = (f"data={tmp_path / 'data'}", f"store={tmp_path / 'store'}")
    assert main(["refresh", *places, *words(server)]) == 4
    told = capsys.readouterr()
    assert "no such key as (redacted); try 2 of 5" in told.err and "refuses the request (422)" in told.err
    kept = "".join(path.read_text() for path in tmp_path.rglob("*") if path.is_file())
    assert "db-test-key" not in told.out + told.err + kept and "no such key as" in kept


def test_days_that_are_not_complete_or_not_there_wait(server, tmp_path):
    server.conditions["2024-02-28"] = "pending"
    server.conditions["2024-02-29"] = "missing"
    server.conditions["2024-02-27"] = "degraded"
    server.end = "2024-03-01T14:00:00.000000000Z"
    done = fetch(server, tmp_path)
    assert done.files == ("glbx-mdp3-20240227.ohlcv-1m.dbn.zst",), "the last day is not over"
    assert (done.pending, done.degraded) == (("2024-02-28",), ("2024-02-27",))


@pytest.mark.parametrize("fault", [503, 429, 500, "cut connection", "short file", b"<html>gateway</html>"])
def test_what_fails_is_tried_again_and_never_counts_as_a_file(server, tmp_path, days, fault):
    server.faults.extend([fault, fault])
    slept = []
    done = fetch(server, tmp_path, "refresh.download.start=2024-03-01", "refresh.download.wait_seconds=2", slept=slept)
    assert slept == [2.0, 4.0]
    assert (tmp_path / done.files[0]).read_bytes() == days["2024-03-01"]
    assert [path.name for path in tmp_path.iterdir()] == list(done.files)


@pytest.mark.parametrize("fault", [503, "cut connection", "short file"])
def test_what_goes_on_failing_leaves_nothing_behind(server, tmp_path, fault):
    server.faults.extend([fault] * 9)
    with pytest.raises(DownloadError, match=r"glbx-mdp3-20240227.*3 tries failed"):
        fetch(server, tmp_path, "refresh.download.tries=3")
    assert list(tmp_path.iterdir()) == [] and len(calls(server, "timeseries.get_range")) == 3


def test_data_of_another_day_is_not_taken_for_the_one_asked_for(server, tmp_path, days):
    server.faults.extend([days["2024-02-28"]] * 9)
    with pytest.raises(DownloadError, match="the server sent data from 2024-02-28, asked for 2024-02-27"):
        fetch(server, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_request_that_is_wrong_is_not_repeated(server, tmp_path):
    server.faults.append(422)
    with pytest.raises(DownloadError, match=r"refuses the request \(422\)"):
        fetch(server, tmp_path)
    assert len(calls(server, "timeseries.get_range")) == 1


def test_the_key_comes_from_the_environment_and_is_said_nowhere(server, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv(KEY, "db-wrong-secret")
    with pytest.raises(UsageError, match=KEY) as caught:
        fetch(server, tmp_path)
    assert "db-wrong-secret" not in str(caught.value)
    monkeypatch.delenv(KEY)
    with pytest.raises(UsageError, match=f"needs the key in the environment variable {KEY}"):
        fetch(server, tmp_path)


def test_what_a_killed_download_left_is_cleared(server, tmp_path):
    (tmp_path / ".download-1").mkdir()
    (tmp_path / ".download-1" / "half.dbn.zst").write_bytes(b"half")
    fetch(server, tmp_path)
    assert not list(tmp_path.glob(".download-*"))


def test_a_day_that_the_server_modified_since_is_fetched_again_and_no_other(server, tmp_path, days):
    server.modified = dict.fromkeys(days, "2024-03-03")
    first = fetch(server, tmp_path)
    assert set(first.modified.values()) == {"2024-03-03"}
    assert fetch(server, tmp_path, known=first.modified).files == ()
    server.modified["2024-02-28"] = "2024-03-09"
    again = fetch(server, tmp_path, known=first.modified)
    assert again.files == ("glbx-mdp3-20240228.ohlcv-1m.dbn.zst",) and again.modified == {again.files[0]: "2024-03-09"}
    assert fetch(server, tmp_path).files == (), "a file that came by other means is not paid for"


def test_a_refresh_fetches_publishes_and_fetches_nothing_twice(server, tmp_path, capsys):
    server.end = "2024-03-01T00:00:00.000000000Z"
    places = (f"data={tmp_path / 'data'}", f"store={tmp_path / 'store'}")
    command = ["refresh", *places, "cluster=serial", *words(server), "--json"]

    def refresh():
        code = main(command)
        return code, json.loads(capsys.readouterr().out.strip().splitlines()[-1])

    code, answer = refresh()
    assert (code, answer["status"], len(answer["download"]["files"])) == (0, "published", 3)
    assert refresh()[1]["status"] == "nothing new"
    server.end = "2024-03-02T00:00:00.000000000Z"
    _, answer = refresh()
    assert (answer["status"], answer["download"]["files"]) == ("published", ["glbx-mdp3-20240301.ohlcv-1m.dbn.zst"])
    server.key = "another"
    code, answer = refresh()
    assert (code, answer["status"]) == (2, "usage")
    kept = "".join(path.read_text() for path in (tmp_path / "store" / "runs").rglob("*.json*"))
    assert "db-test-key" not in kept
