"""What the digest of a proof is made of."""

from deskgym.task_suites.core.verify.inputs import Parts


def test_a_copys_place_does_not_count_but_what_its_files_hold(tmp_path):
    def parts(folder, text):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "given.csv").write_text(text)
        return Parts().of([tmp_path / folder, tmp_path / folder / "given.csv", tmp_path / folder / "missing.sql"])

    assert parts("mine", "a") == parts("yours", "a") != parts("changed", "b")
    assert Parts().of(tmp_path / "one.sql") != Parts().of(tmp_path / "other.sql")
