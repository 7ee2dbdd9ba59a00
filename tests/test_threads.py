from threadpoolctl import threadpool_info, threadpool_limits

import pymc_mrf as pmrf
from pymc_mrf.threads import one_thread
from tests.steps.groups.models import small_model


def threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_one_thread_is_given_back():
    with threadpool_limits(2, user_api="blas"):
        with one_thread():
            assert threads() == {1}
        assert threads() == {2}


def test_threads_that_overlap_give_back_what_was_there():
    first, second = one_thread(), one_thread()
    with threadpool_limits(2, user_api="blas"):
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert threads() == {1}  # the second is still inside
        second.__exit__(None, None, None)
        assert threads() == {2}


def test_steps_move_on_one_thread(monkeypatch):
    seen, update = [], pmrf.steps.GroupGibbs._update

    def watched(step, point):
        seen.append(threads())
        return update(step, point)

    with small_model("exact") as model, threadpool_limits(2, user_api="blas"):
        step = pmrf.steps.GroupGibbs([model["theta"]])
        monkeypatch.setattr(pmrf.steps.GroupGibbs, "_update", watched)
        step.step(model.initial_point())
        assert seen == [{1}]
        assert threads() == {2}
