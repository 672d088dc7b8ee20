import { afterAll, beforeAll, expect, test } from "bun:test";
import { createFakeClock } from "#test/support/fakes/fake-clock.ts";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";

/** A Thursday; three days later the clocks of Berlin go forward. */
const NOW = Date.parse("2026-03-26T12:00:00Z");
const clock = createFakeClock(NOW);
let hub: TestHub;
beforeAll(async () => {
  hub = await startTestHub({ clock });
});
afterAll(() => hub.close());
const api = (method: string, path: string, body?: unknown) =>
  hub.call(method, `/api/v1${path}`, body);
const preview = (query: Record<string, string>) =>
  api("GET", `/schedules/preview?${new URLSearchParams(query)}`);

test("a preview tells an expression in words and its next times in both clocks (rules/pipeline-schedules#next-times)", async () => {
  const { status, body } = await preview({
    schedule: "30 9 * * 5-7",
    schedule_tz: "Europe/Berlin",
    n: "3",
  });
  expect(status).toBe(200);
  expect(body).toEqual({
    schedule: "30 9 * * 5-7",
    schedule_tz: "Europe/Berlin",
    words: "At 09:30, Friday through Sunday, by the clock of Europe/Berlin (UTC+1)",
    next_times: [
      { at: "2026-03-27T08:30:00.000Z", local: "Fri, 27 Mar 2026, 09:30:00", offset: "UTC+1" },
      { at: "2026-03-28T08:30:00.000Z", local: "Sat, 28 Mar 2026, 09:30:00", offset: "UTC+1" },
      { at: "2026-03-29T07:30:00.000Z", local: "Sun, 29 Mar 2026, 09:30:00", offset: "UTC+2" },
    ],
  });
  const daily = (await preview({ schedule: "@daily" })).body;
  expect(daily.words).toBe("At 00:00, by the clock of UTC");
  expect(daily.next_times).toHaveLength(5);
  const once = (await preview({ schedule: "2026-04-01T10:00:00" })).body;
  expect(once).toMatchObject({ words: "Once, by the clock of UTC", next_times: [{}] });
});

test("a preview names what cannot be read", async () => {
  const refused = async (query: Record<string, string>) => {
    const { status, body } = await preview(query);
    return [status, body.detail[0].loc];
  };
  expect(await refused({ schedule: "61 * * * *" })).toEqual([422, ["query", "schedule"]]);
  expect(await refused({ schedule: "2020-01-01T10:00:00" })).toEqual([422, ["query", "schedule"]]);
  expect(await refused({ schedule: "@daily", schedule_tz: "Mars" })).toEqual([
    422,
    ["query", "schedule_tz"],
  ]);
});

test("a record has the next five times of its schedule, and takes them back as it gave them", async () => {
  const command = { executor_type: "command", executor_config: { argv: ["true"] } };
  const made = await api("POST", "/workloads", {
    slug: "often",
    ...command,
    schedule: "* * * * *",
  });
  const times = [1, 2, 3, 4, 5].map((minute) => `2026-03-26T12:0${minute}:00.000Z`);
  expect(made.body.next_times).toEqual(times);
  await clock.advance(61_000);
  const { body } = await api("GET", "/workloads/often");
  expect(body.next_times[0]).toBe("2026-03-26T12:02:00.000Z");
  expect((await api("PUT", "/workloads/often", body)).status).toBe(200);
  const none = await api("PUT", "/workloads/often", { ...body, schedule: null });
  expect(none.body.next_times).toEqual([]);
});
