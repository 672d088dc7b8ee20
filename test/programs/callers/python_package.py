import json
import os

from flotilla import ACTIONS, FlotillaError, create_client

address, target = os.environ["ADDRESS"], os.environ["TARGET"]
hub = create_client(address, token=os.environ["TOKEN"])


def refused(call):
    try:
        call()
    except FlotillaError as err:
        return [err.status, err.detail]
    return None


events = []
job = hub.jobs.run({"url": target}, on_event=lambda event: events.append(event["type"]))
with hub.sessions.open({"url": target}) as session:
    clicked = session.click(selector="#go")["result"]
    typed = session.fill("#name", "Ada")["result"]
    picture = session.screenshot(format="png")["result"]["action"]
    opened = [one["session_id"] for one in hub.sessions.list()] == [session.session_id]
    session_id = session.session_id
hub.workloads.create({"slug": "by-python", "executor_type": "fleet_fetch"})
sent = hub.workloads.submit("by-python", [{"pk": "1"}, {"pk": "2"}])
counts = hub.workloads.queue("by-python")
hub.workloads.delete("by-python", force=True)
away = refused(lambda: create_client("http://127.0.0.1:9").fleet.health())
print(
    json.dumps(
        {
            "actions": sorted(ACTIONS),
            "health": hub.fleet.health()["status"],
            "figures": hub.fleet.figures("1h")["bucket_s"],
            "job": job["status"],
            "ended_with": events[-1],
            "clicked": clicked,
            "typed": typed,
            "picture": picture,
            "opened": opened,
            "closed": refused(lambda: hub.sessions.get(session_id)),
            "listed": [one["url"] for one in hub.jobs.list(limit=1)["jobs"]],
            "submitted": sent["submitted"],
            "pending": counts["pending"],
            "refused": refused(lambda: hub.workloads.get("by-python")),
            "broken": refused(lambda: hub.jobs.submit({"url": target, "options": {"wait_seconds": -1}})),
            "stranger": refused(lambda: create_client(address).jobs.list()),
            "away": away[0],
        }
    )
)
