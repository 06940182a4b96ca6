"""What the digest of a proof is made of."""

from deskgym.task_suites.core.verify.inputs import Parts
from deskgym.task_suites.core.verify.platform import modules


def test_a_copys_place_does_not_count_but_what_its_files_hold(tmp_path):
    def parts(folder, text):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "given.csv").write_text(text)
        return Parts().of([tmp_path / folder, tmp_path / folder / "given.csv", tmp_path / folder / "missing.sql"])

    assert parts("mine", "a") == parts("yours", "a") != parts("changed", "b")
    assert Parts().of(tmp_path / "one.sql") != Parts().of(tmp_path / "other.sql")


def test_suites_environments_are_part_of_the_platform():
    found = set(modules())
    assert {f"deskgym.task_suites.{suite}.env" for suite in ("procedures", "proving", "table_analysis")} <= found
    assert "deskgym.envs.provision.companions" in found and not any(".evaluation" in name for name in found)
