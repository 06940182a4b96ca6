"""What is read between steps."""

import asyncio

from deskgym.envs.guest.accessibility.following import Following


def readings(left: int, stopped: bool = False) -> int:
    """How many readings follow a step's, where each leaves one thing less to read."""

    async def play() -> int:
        done = 0

        async def read() -> None:
            nonlocal done
            done += 1

        following = Following(read, lambda: done < left, (0.05, 0.3, 0.6))
        following.begin()
        if stopped:
            following.stop()
        await asyncio.sleep(0.9)
        return done

    return asyncio.run(play())


def test_what_is_left_is_read_between_steps() -> None:
    assert [readings(left) for left in (0, 1, 2, 9)] == [0, 1, 2, 3]


def test_a_step_stops_what_has_not_begun() -> None:
    assert readings(9, stopped=True) == 0
