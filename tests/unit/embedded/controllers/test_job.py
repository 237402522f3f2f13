"""Jobs run pods until enough have succeeded or too many have failed."""

import asyncio
from typing import Any

import pytest

from stowplan.embedded.controllers import job_tracking
from stowplan.embedded.objects.resource import Object
from tests.unit.embedded.controllers.small_cluster import JOBS, SmallCluster, annotated, condition, tell, template
from tests.unit.embedded.given import PODS


def spec(duration: str = "5s", exit_code: str = "0", **more: Any) -> Object:
    made = annotated(template(), duration=duration, exit_code=exit_code)
    made["spec"]["restartPolicy"] = more.pop("restartPolicy", "Never")
    return {"template": made, **more}


def counts(cluster: SmallCluster) -> tuple[int, int, int]:
    status = cluster.get(JOBS, "sum")["status"]
    return status.get("active", 0), status.get("succeeded", 0), status.get("failed", 0)


def test_a_job_runs_to_completion() -> None:
    async def story(cluster: SmallCluster) -> None:
        cluster.create(JOBS, "sum", spec())
        await cluster.pass_time(3)
        assert counts(cluster) == (1, 0, 0)
        (pod,) = cluster.pods()
        assert pod["metadata"]["labels"]["job-name"] == "sum"
        assert pod["metadata"]["finalizers"] == ["batch.kubernetes.io/job-tracking"]
        await cluster.pass_time(5)
        assert counts(cluster) == (0, 1, 0)
        job = cluster.get(JOBS, "sum")
        assert condition(job, "Complete") == {
            "type": "Complete",
            "status": "True",
            "reason": "CompletionsReached",
            "message": "Reached expected number of succeeded pods",
        }
        assert job["status"]["startTime"] == "2026-01-01T12:00:00Z"
        assert job["status"]["completionTime"] == "2026-01-01T12:00:05Z"
        (pod,) = cluster.pods()
        assert pod["status"]["phase"] == "Succeeded"
        assert not pod["metadata"].get("finalizers")
        assert cluster.events("Completed") == ["Job completed"]

    tell(story)


def test_no_more_pods_run_at_once_than_allowed() -> None:
    async def story(cluster: SmallCluster) -> None:
        cluster.create(JOBS, "sum", spec(completions=5, parallelism=2))
        most = 0
        for _ in range(100):
            await cluster.pass_time(0.25)
            most = max(most, counts(cluster)[0])
        assert most == 2
        assert counts(cluster) == (0, 5, 0)
        assert len(cluster.pods()) == 5

    tell(story)


def test_each_index_is_done_once() -> None:
    async def story(cluster: SmallCluster) -> None:
        cluster.create(JOBS, "sum", spec(completions=4, parallelism=3, completionMode="Indexed"))
        await cluster.pass_time(3)
        index = "batch.kubernetes.io/job-completion-index"
        assert sorted(pod["metadata"]["annotations"][index] for pod in cluster.pods()) == ["0", "1", "2"]
        pod = cluster.pods()[1]
        assert pod["metadata"]["name"].startswith("sum-1-")
        assert pod["spec"]["hostname"] == "sum-1"
        assert [each["name"] for each in pod["spec"]["containers"][0]["env"]] == ["JOB_COMPLETION_INDEX"]
        await cluster.pass_time(12)
        assert cluster.get(JOBS, "sum")["status"]["completedIndexes"] == "0-3"
        assert counts(cluster) == (0, 4, 0)

    tell(story)


def test_failed_pods_are_made_again_later_each_time_until_the_limit() -> None:
    async def story(cluster: SmallCluster) -> None:
        cluster.create(JOBS, "sum", spec(duration="1s", exit_code="3", backoffLimit=2))
        await cluster.pass_time(5)
        assert counts(cluster) == (0, 0, 1)
        await cluster.pass_time(10)
        assert counts(cluster) == (0, 0, 2)
        await cluster.pass_time(15)
        assert counts(cluster) == (0, 0, 2)
        await cluster.pass_time(10)
        assert counts(cluster) == (0, 0, 3)
        failed = condition(cluster.get(JOBS, "sum"), "Failed")
        assert (failed["reason"], failed["message"]) == (
            "BackoffLimitExceeded",
            "Job has reached the specified backoff limit",
        )
        await cluster.pass_time(600)
        assert len(cluster.pods()) == 3

    tell(story)


def test_restarts_in_place_count_towards_the_limit() -> None:
    async def story(cluster: SmallCluster) -> None:
        once = spec(duration="1s", exit_code="1", restartPolicy="OnFailure", backoffLimit=2)
        cluster.create(JOBS, "sum", once)
        await cluster.pass_time(60)
        assert condition(cluster.get(JOBS, "sum"), "Failed")["reason"] == "BackoffLimitExceeded"
        assert cluster.pods() == []

    tell(story)


def test_a_job_that_takes_too_long_is_ended() -> None:
    async def story(cluster: SmallCluster) -> None:
        cluster.create(JOBS, "sum", spec(duration="1h", activeDeadlineSeconds=30))
        await cluster.pass_time(29)
        assert counts(cluster) == (1, 0, 0)
        await cluster.pass_time(5)
        failed = condition(cluster.get(JOBS, "sum"), "Failed")
        assert failed["message"] == "Job was active longer than specified deadline"
        assert cluster.pods() == []

    tell(story)


def test_a_finished_job_goes_after_its_time_to_live_with_its_pods() -> None:
    async def story(cluster: SmallCluster) -> None:
        cluster.create(JOBS, "sum", spec(ttlSecondsAfterFinished=20))
        await cluster.pass_time(20)
        assert cluster.exists(JOBS, "sum")
        await cluster.pass_time(10)
        assert not cluster.exists(JOBS, "sum")
        assert cluster.pods() == []

    tell(story)


def test_a_suspended_job_has_no_pods_and_its_clock_stands_still() -> None:
    async def story(cluster: SmallCluster) -> None:
        cluster.create(JOBS, "sum", spec(duration="60s", suspend=True, parallelism=2, completions=2))
        await cluster.pass_time(3)
        job = cluster.get(JOBS, "sum")
        assert cluster.pods() == []
        assert condition(job, "Suspended")["status"] == "True"
        assert "startTime" not in job["status"]
        cluster.edit(JOBS, "sum", lambda obj: obj["spec"].update(suspend=False))
        await cluster.pass_time(3)
        assert counts(cluster) == (2, 0, 0)
        cluster.edit(JOBS, "sum", lambda obj: obj["spec"].update(suspend=True))
        await cluster.pass_time(3)
        assert cluster.pods() == []
        # Pods that the Job itself ended have not failed.
        assert counts(cluster) == (0, 0, 0)

    tell(story)


def test_a_pod_that_somebody_deletes_counts_as_failed_and_is_replaced() -> None:
    async def story(cluster: SmallCluster) -> None:
        cluster.create(JOBS, "sum", spec(duration="60s"))
        await cluster.pass_time(3)
        cluster.delete(PODS, cluster.pods()[0]["metadata"]["name"])
        await cluster.pass_time(15)
        assert counts(cluster) == (1, 0, 1)
        assert len(cluster.pods()) == 1

    tell(story)


def test_a_finished_pod_that_is_deleted_stays_counted() -> None:
    async def story(cluster: SmallCluster) -> None:
        cluster.create(JOBS, "sum", spec(completions=2, parallelism=1))
        await cluster.pass_time(8)
        assert counts(cluster)[1] == 1
        done = next(pod for pod in cluster.pods() if pod["status"]["phase"] == "Succeeded")
        cluster.delete(PODS, done["metadata"]["name"])
        await cluster.pass_time(8)
        assert counts(cluster) == (0, 2, 0)

    tell(story)


def test_pods_of_jobs_that_do_not_say_how_long_they_take_end_after_a_second() -> None:
    async def story(cluster: SmallCluster) -> None:
        made = template()
        made["spec"]["restartPolicy"] = "Never"
        cluster.create(JOBS, "sum", {"template": made})
        await cluster.pass_time(3)
        assert counts(cluster) == (0, 1, 0)

    tell(story)


@pytest.mark.parametrize(
    ("runs", "text"),
    [
        pytest.param([], "", id="none"),
        pytest.param([(3, 3)], "3", id="one"),
        pytest.param([(0, 2), (5, 5)], "0-2,5", id="runs are ranges"),
        pytest.param([(0, 2147483646)], "0-2147483646", id="as many as there can be"),
    ],
)
def test_indexes_are_written_and_read(runs: list[tuple[int, int]], text: str) -> None:
    assert job_tracking.format_indexes(runs) == text
    assert job_tracking.parse_indexes(text) == runs


@pytest.mark.parametrize(
    ("text", "runs"),
    [
        pytest.param("4,0-2,1-3,7", [(0, 4), (7, 7)], id="out of order and overlapping"),
        pytest.param("x,1-y,\u00b2,5-3,2-,-1", [(2, 2)], id="no indexes"),
        pytest.param("1" * 5000, [], id="no number of completions"),
    ],
)
def test_indexes_that_somebody_else_wrote_are_read(text: str, runs: list[tuple[int, int]]) -> None:
    assert job_tracking.parse_indexes(text) == runs


def test_free_indexes_are_those_between_the_runs() -> None:
    assert list(job_tracking.free_indexes([(1, 2), (4, 4)], 7)) == [0, 3, 5, 6]
    assert list(job_tracking.free_indexes([(0, 3), (9, 12)], 5)) == [4]
    assert list(job_tracking.free_indexes([(0, 2147483645)], 2147483647)) == [2147483646]


@pytest.mark.parametrize(
    "more",
    [
        pytest.param({"parallelism": 2147483647}, id="not indexed"),
        pytest.param({"parallelism": 100000, "completionMode": "Indexed"}, id="indexed"),
    ],
)
def test_a_job_of_as_many_completions_as_there_can_be_makes_its_pods_in_bursts(more: Object) -> None:
    async def story() -> None:
        cluster = SmallCluster()
        await cluster.start(nodes=0)
        cluster.create(JOBS, "sum", spec(completions=2147483647, **more))
        async with asyncio.timeout(30):
            while len(cluster.pods()) < 100:
                await cluster.pass_time(0)
        await cluster.stop()

    # Real time, by which the controller lets others have a turn: it never comes to an end.
    asyncio.run(story())


def test_a_job_whose_status_says_that_nearly_all_is_done_goes_on_with_the_rest() -> None:
    async def story(cluster: SmallCluster) -> None:
        cluster.create(JOBS, "sum", spec(duration="1h", completions=2147483647, completionMode="Indexed", suspend=True))
        await cluster.pass_time(1)
        job = cluster.get(JOBS, "sum")
        job["status"]["completedIndexes"] = "0-2147483640"
        cluster.api.update(JOBS, "default", "sum", job, subresource="status")
        cluster.edit(JOBS, "sum", lambda job: job["spec"].update(suspend=False))
        await cluster.pass_time(3)
        (pod,) = cluster.pods()
        assert pod["metadata"]["name"].startswith("sum-2147483641-")

    tell(story)


def test_the_pods_of_a_job_that_is_deleted_go_with_it() -> None:
    async def story(cluster: SmallCluster) -> None:
        cluster.create(JOBS, "sum", spec(duration="1h", completions=2, parallelism=2))
        await cluster.pass_time(3)
        assert len(cluster.pods()) == 2
        cluster.delete(JOBS, "sum")
        await cluster.pass_time(60)
        assert cluster.pods() == []

    tell(story)


def test_the_pods_that_a_job_leaves_behind_are_held_by_nobody() -> None:
    async def story(cluster: SmallCluster) -> None:
        cluster.create(JOBS, "sum", spec(duration="1h"))
        await cluster.pass_time(3)
        cluster.delete(JOBS, "sum", propagationPolicy="Orphan")
        await cluster.pass_time(5)
        (pod,) = cluster.pods()
        assert not pod["metadata"].get("ownerReferences")
        assert not pod["metadata"].get("finalizers")

    tell(story)
