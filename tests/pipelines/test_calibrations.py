"""Calibrations: kept by machine, refused where the machine is another one, shown and measured by `pipeline doctor`."""

import json
from dataclasses import replace

from kernels.calibration import Calibration, Machine, Speed
from pipelines.calibrations import calibration_file, load, save
from pipelines.cli import main

MACHINE = Machine("x86_64", 2, "NVIDIA H200", "13000", "numpy 2.4")
FOUND = Calibration(MACHINE, Speed(0.001, 1e9, 1e-9, 1e-7), Speed(0.002, 1e13, 4e-9, 1e-9))


def test_a_calibration_comes_back_for_its_machine_alone(tmp_path):
    path = tmp_path / "new" / "calibration.json"
    assert load(path, MACHINE) is None
    save(FOUND, path)
    assert load(path, MACHINE) == FOUND
    for change in ({"driver": "13010"}, {"device": "NVIDIA L4"}, {"versions": "numpy 2.5"}, {"threads": 4}):
        assert load(path, replace(MACHINE, **change)) is None
    save(replace(FOUND, cuda=None), path)
    assert load(path, MACHINE) == replace(FOUND, cuda=None)
    assert [file.name for file in path.parent.iterdir()] == ["calibration.json"]


def test_a_damaged_calibration_is_none(tmp_path):
    path = tmp_path / "calibration.json"
    for text in ("", "{", "[]", '{"cpu": {}}', json.dumps({"machine": {}, "cpu": {}, "cuda": None})):
        path.write_text(text)
        assert load(path, MACHINE) is None


def test_doctor_measures_and_shows_the_speed_of_this_machine(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr("pipelines.commands.doctor.calibrate", lambda threads: replace(FOUND, machine=here(threads)))
    monkeypatch.setattr("pipelines.commands.doctor.this_machine", here)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.chdir(tmp_path)
    assert main(["doctor", "--json"]) == 0
    assert "pipeline doctor --calibrate" in json.loads(capsys.readouterr().out)["calibration"]
    assert main(["doctor", "--json", "--calibrate"]) == 0
    assert "cuda 1e+04 G on NVIDIA H200" in json.loads(capsys.readouterr().out)["calibration"]
    assert calibration_file() == tmp_path / "walkfold" / "calibration.json"


def here(threads: int) -> Machine:
    return replace(MACHINE, threads=threads)
