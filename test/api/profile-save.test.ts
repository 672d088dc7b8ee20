import { afterEach, beforeEach, expect, test } from "bun:test";
import { makeTarGz } from "#test/support/clients/tar.ts";
import type { FakeWorker } from "#test/support/fakes/fake-worker.ts";
import { startTestHub, TARGET, type TestHub } from "#test/support/rigs/hub.ts";

let hub: TestHub;
let worker: FakeWorker;
beforeEach(async () => {
  hub = await startTestHub();
  worker = await hub.worker({ lanes: 2, on_call: () => null });
});
afterEach(() => hub.close());

const open = async (): Promise<string> => (await hub.call("POST", "/sessions", {})).body.session_id;
const save = (sid: string, name: string) =>
  hub.call("POST", `/sessions/${sid}/profile/save`, { name });
const saving = () => worker.calls.next((call) => call.action === "profile_save");

/** What the worker sends of its browser. */
async function put(sid: string, name: string, token?: string) {
  const { upload_token } = await worker.registered;
  const response = await fetch(
    `${hub.url}/workers/${worker.worker_id}/sessions/${sid}/profile/${name}`,
    {
      method: "PUT",
      headers: { Authorization: `Bearer ${token ?? upload_token}` },
      body: new Uint8Array(await makeTarGz([["Default/Cookies", "x"]])),
    },
  );
  return response.status;
}

test("profile/save: the worker sends the profile, the answer is its metadata, 201 and then 200", async () => {
  const sid = await open();
  for (const status of [201, 200]) {
    const answer = save(sid, "work");
    const call = await saving();
    expect(call.args).toEqual({ name: "work" });
    expect(await put(sid, "work")).toBe(200);
    worker.reply(call);
    expect(await answer).toMatchObject({ status, body: { name: "work", files: 1 } });
  }
});

test("profile/save: one writer per name (409), and nobody writes unasked, under another name or token", async () => {
  const [sid, other] = [await open(), await open()];
  expect(await put(sid, "work")).toBe(409);
  const answer = save(sid, "work");
  const call = await saving();
  expect((await save(other, "work")).status).toBe(409);
  expect((await hub.call("DELETE", "/profiles/work")).status).toBe(409);
  expect(await put(other, "work")).toBe(409);
  expect(await put(sid, "home")).toBe(409);
  expect(await put(sid, "work", "wrong")).toBe(401);
  const error = { name: "ProfileError", message: "the disk is full" };
  worker.reply(call, { ok: false, kind: "broken", error });
  expect(await answer).toMatchObject({ status: 502, body: { detail: "the disk is full" } });
  // Over: the name is free again.
  expect(await put(sid, "work")).toBe(409);
  void save(other, "work");
  await saving();
  expect(await put(other, "work")).toBe(200);
});

test("profile/save: not while a job runs in the session, not under a reserved name, not in a session that is none", async () => {
  const job = (await hub.call("POST", "/jobs", { url: TARGET })).body;
  expect(await save(job.session_id, "work")).toMatchObject({
    status: 409,
    body: { detail: expect.stringContaining(`job ${job.job_id} runs in this session`) },
  });
  const sid = await open();
  for (const name of ["default", "extension", "A", "", "../x"])
    expect([name, (await save(sid, name)).status]).toEqual([name, 422]);
  expect((await hub.call("POST", `/sessions/${sid}/profile/save`, {})).status).toBe(400);
  expect((await save("none", "work")).status).toBe(404);
});

test("profile/save: a session that ends meanwhile is 404, and the name is free again", async () => {
  const sid = await open();
  const answer = save(sid, "work");
  await saving();
  await hub.call("DELETE", `/sessions/${sid}`);
  expect((await answer).status).toBe(404);
  expect(hub.ctx.profile_writers.size).toBe(0);
});
