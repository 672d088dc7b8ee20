import { afterAll, beforeAll, expect, test } from "bun:test";
import type { HubAssignJob } from "#shared/protocol/link/messages.ts";
import type { FinalState } from "#shared/protocol/schema/job.ts";
import type { FakeWorker } from "#test/support/fakes/fake-worker.ts";
import { startTestHub, TARGET, type TestHub } from "#test/support/rigs/hub.ts";
import { storedBelow } from "#test/support/servers/objects.ts";

let hub: TestHub;
let worker: FakeWorker;
beforeAll(async () => {
  hub = await startTestHub();
  worker = await hub.worker({ lanes: 200 });
});
afterAll(() => hub.close());

const run = async (options: Record<string, unknown> = {}): Promise<HubAssignJob> => {
  const { job_id } = (await hub.call("POST", "/jobs", { url: TARGET, options })).body;
  return worker.assigned.next((job) => job.job_id === job_id);
};
const record = async ({ job_id }: HubAssignJob) => (await hub.call("GET", `/jobs/${job_id}`)).body;
const end = async (
  job: HubAssignJob,
  final_state: FinalState | null | undefined,
  more: { status?: "failed"; error?: string } = {},
) => {
  worker.finish(job, { ...more, ...(final_state !== undefined && { final_state }) });
  await hub.signals.next("job finished", { job_id: job.job_id });
  return record(job);
};
const NONE = { screenshot_href: null, thumbnail_href: null, favicon_href: null };
const PNG = Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10, 0, 255]);
const BOTH = { screenshot: true, thumbnail: true, favicon: null };

test("the record names the pictures of the page's end, and lists carry them too (rules/documents#final-state)", async () => {
  const job = await run();
  const path = `/jobs/${job.job_id}`;
  expect(await record(job)).toMatchObject(NONE);
  await worker.putDocument(job, "screenshot.png", PNG);
  await worker.putDocument(job, "thumbnail.webp", "RIFF");
  await worker.putAsset(job, "icon", { name: "favicon.ico", mime: "image/x-icon", kind: "image" });
  const ended = await end(job, { ...BOTH, favicon: "favicon.ico" });
  const hrefs = {
    screenshot_href: `${path}/screenshot.png`,
    thumbnail_href: `${path}/thumbnail.webp`,
    favicon_href: `${path}/assets/favicon.ico`,
  };
  expect(ended).toMatchObject(hrefs);
  expect((await hub.call("GET", "/jobs?limit=1")).body.jobs[0]).toMatchObject(hrefs);
  const shot = await fetch(hub.url + ended.screenshot_href);
  expect(new Uint8Array(await shot.arrayBuffer())).toEqual(PNG);
  const thumbnail = await hub.call("GET", ended.thumbnail_href);
  for (const [{ headers }, type] of [
    [shot, "image/png"],
    [thumbnail, "image/webp"],
  ] as const) {
    expect(headers.get("content-type")).toBe(type);
    expect(headers.get("content-security-policy")).toBe("sandbox");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("cache-control")).toBe("private, max-age=600");
  }
});

test("failed jobs have their pictures too, and null where none were taken (rules/documents#final-state)", async () => {
  const shown = await run();
  await worker.putDocument(shown, "thumbnail.webp", "RIFF");
  const failed = { status: "failed", error: "the page was refused" } as const;
  const thumbnail_only = { screenshot: false, thumbnail: true, favicon: null };
  expect(await end(shown, thumbnail_only, failed)).toMatchObject({
    ...NONE,
    status: "failed",
    thumbnail_href: `/jobs/${shown.job_id}/thumbnail.webp`,
  });
  expect(await end(await run(), null, failed)).toMatchObject({ ...NONE, status: "failed" });
});

test("a worker of an earlier version reports none, and the fields are null (rules/documents#final-state)", async () => {
  const job = await run();
  expect(await end(job, undefined)).toMatchObject({ ...NONE, answer: null });
  for (const name of ["screenshot.png", "thumbnail.webp"])
    expect((await hub.call("GET", `/jobs/${job.job_id}/${name}`)).body).toEqual({
      detail: `${name} not found`,
    });
});

test("an icon is one only if it is a stored, whole and small picture made of pixels (rules/documents#final-state)", async () => {
  const big = "x".repeat(300 * 1024);
  const refused = [
    { body: "<svg/>", meta: { name: "icon.svg", mime: "image/svg+xml" } },
    { body: "<script/>", meta: { name: "icon.html", mime: "text/html" } },
    { body: "half", meta: { name: "icon.png", mime: "image/png", partial: true } },
    { body: big, meta: { name: "big.png", mime: "image/png" } },
  ];
  for (const { body, meta } of refused) {
    const job = await run();
    expect((await worker.putAsset(job, body, meta)).status).toBe(200);
    expect(await end(job, { ...BOTH, favicon: meta.name })).toMatchObject({ favicon_href: null });
  }
  const unknown = await end(await run(), { ...BOTH, favicon: "../../other/icon.png" });
  expect(unknown.favicon_href).toBeNull();
});

test("a picture beyond its bound is refused (rules/documents#size-of-a-document)", async () => {
  const job = await run();
  const put = await worker.putDocument(job, "thumbnail.webp", new Uint8Array(256 * 1024 + 1));
  expect(put.status).toBe(413);
  expect((await worker.putDocument(job, "thumbnail.webp", "RIFF")).status).toBe(200);
});

test("pictures are deleted with their job (rules/jobs#delete-a-job)", async () => {
  const job = await run();
  await worker.putDocument(job, "screenshot.png", PNG);
  await worker.putDocument(job, "thumbnail.webp", "RIFF");
  await end(job, BOTH);
  const stored = () => storedBelow(hub, `jobs/${job.job_id}`);
  expect((await stored()).length).toBe(2);
  expect((await hub.call("DELETE", `/jobs/${job.job_id}`)).status).toBe(204);
  expect(await stored()).toEqual([]);
});

test("a worker is asked for pictures unless the job says otherwise, and never with an option that earlier versions refuse (rules/documents#final-state)", async () => {
  const asked = await run();
  const off = await run({ final_state: false });
  expect([asked, off].map(({ extras }) => extras.final_state)).toEqual([true, false]);
  for (const { options } of [asked, off]) expect(options).not.toHaveProperty("final_state");
  expect((await record(off)).options.final_state).toBe(false);
});
