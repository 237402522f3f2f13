"""CronJobs start Jobs on time."""

from typing import Any

from stowplan.embedded.objects.resource import Object
from tests.unit.embedded.controllers.small_cluster import CRON_JOBS, JOBS, SmallCluster, annotated, tell, template


def spec(duration: str = "10s", **more: Any) -> Object:
    made = annotated(template(), duration=duration)
    made["spec"]["restartPolicy"] = "Never"
    return {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": made}}, **more}


def job_names(cluster: SmallCluster) -> list[str]:
    return sorted(job["metadata"]["name"] for job in cluster.api.list(JOBS, "default"))


def test_a_job_starts_at_each_moment_of_the_schedule() -> None:
    async def story(cluster: SmallCluster) -> None:
        cluster.create(CRON_JOBS, "tick", spec())
        await cluster.pass_time(65)
        # 12:01 is minute 29 454 481 since 1970.
        assert job_names(cluster) == ["tick-29454481"]
        status = cluster.get(CRON_JOBS, "tick")["status"]
        assert status["lastScheduleTime"] == "2026-01-01T12:01:00Z"
        assert [each["name"] for each in status["active"]] == ["tick-29454481"]
        assert cluster.events("SuccessfulCreate")[0] == "Created job tick-29454481"
        await cluster.pass_time(20)
        status = cluster.get(CRON_JOBS, "tick")["status"]
        assert "active" not in status
        assert status["lastSuccessfulTime"] == "2026-01-01T12:01:10Z"
        assert cluster.events("SawCompletedJob") == ["Saw completed job: tick-29454481, condition: Complete"]

    tell(story)


def test_only_so_many_finished_jobs_are_kept() -> None:
    async def story(cluster: SmallCluster) -> None:
        cluster.create(CRON_JOBS, "tick", spec(successfulJobsHistoryLimit=2))
        await cluster.pass_time(5 * 60 + 30)
        assert job_names(cluster) == ["tick-29454484", "tick-29454485"]

    tell(story)


def test_forbid_does_not_start_a_second_job_while_one_runs() -> None:
    async def story(cluster: SmallCluster) -> None:
        cluster.create(CRON_JOBS, "tick", spec(duration="150s", concurrencyPolicy="Forbid"))
        await cluster.pass_time(185)
        assert job_names(cluster) == ["tick-29454481"]
        assert len(cluster.events("JobAlreadyActive")) == 1

    tell(story)


def test_replace_ends_the_running_job_first() -> None:
    async def story(cluster: SmallCluster) -> None:
        cluster.create(CRON_JOBS, "tick", spec(duration="1h", concurrencyPolicy="Replace"))
        await cluster.pass_time(125)
        assert job_names(cluster) == ["tick-29454482"]

    tell(story)


def test_a_suspended_one_starts_nothing() -> None:
    async def story(cluster: SmallCluster) -> None:
        cluster.create(CRON_JOBS, "tick", spec(suspend=True))
        await cluster.pass_time(200)
        assert job_names(cluster) == []

    tell(story)


def test_a_deadline_that_dates_do_not_reach_is_none() -> None:
    async def story(cluster: SmallCluster) -> None:
        cluster.create(CRON_JOBS, "tick", spec(startingDeadlineSeconds=2**63 - 1))
        await cluster.pass_time(65)
        assert len(job_names(cluster)) == 1

    tell(story)


def test_what_was_missed_for_longer_than_the_deadline_is_not_made_up_for() -> None:
    async def story(cluster: SmallCluster) -> None:
        cluster.create(CRON_JOBS, "tick", spec(suspend=True, schedule="0 * * * *", startingDeadlineSeconds=60))
        await cluster.pass_time(3600 + 600)
        cluster.edit(CRON_JOBS, "tick", lambda obj: obj["spec"].update(suspend=False))
        await cluster.pass_time(5)
        assert job_names(cluster) == []

    tell(story)


def test_a_status_that_names_a_job_without_its_uid_stops_nothing() -> None:
    async def story(cluster: SmallCluster) -> None:
        told = {**cluster.create(CRON_JOBS, "tick", spec()), "status": {"active": [{"name": "x"}]}}
        cluster.api.update(CRON_JOBS, "default", "tick", told, subresource="status")
        await cluster.pass_time(65)
        assert len(job_names(cluster)) == 1

    tell(story)
