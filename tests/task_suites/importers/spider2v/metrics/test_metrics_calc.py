"""What LibreOffice Calc makes of the published golds when it opens and saves them is still right."""

import pytest
from metric_scores import given_comparisons, scores

from deskgym.envs.machines.base import MachineConfig
from deskgym.envs.provision.builder import MachineBuilder

HOME = "/home/user"


@pytest.mark.sandbox
@pytest.mark.slow
def test_golds_that_calc_saved(upstream, sampled) -> None:
    given = [one for one in given_comparisons(upstream) if one.task.startswith("excel/")]
    given = sampled(given)
    config = MachineConfig(screen_size=None)
    machine = MachineBuilder("sandbox", config).build(config)
    try:
        machine.start()
        for number, one in enumerate(given):
            machine.put(f"{HOME}/in/{number}.xlsx", one.gold.read_bytes())
        convert = 'soffice --headless --norestore --convert-to "xlsx:Calc MS Excel 2007 XML" --outdir out in/*.xlsx'
        done = machine.run(["sh", "-c", f"cd {HOME} && {convert}"], timeout=240)
        assert not done.timed_out
        for number, one in enumerate(given):
            data = machine.get(f"{HOME}/out/{number}.xlsx")
            assert scores(one.metric, data, one.gold, one.instruction, **one.options)[1] == 1, one.task
    finally:
        machine.stop()
