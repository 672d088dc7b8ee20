import { afterEach, beforeEach, expect, test } from "bun:test";
import { hostId } from "#shared/kit/host-id.ts";
import { makeTarGz } from "#test/support/clients/tar.ts";
import { startTestHub, TARGET, type TestHub } from "#test/support/rigs/hub.ts";

let hub: TestHub;
beforeEach(async () => {
  hub = await startTestHub();
});
afterEach(() => hub.close());

async function upload(name: string, text = "x"): Promise<string> {
  const response = await fetch(`${hub.url}/profiles/${name}`, {
    method: "POST",
    headers: { "Content-Type": "application/gzip" },
    body: new Uint8Array(await makeTarGz([["Default/Cookies", text]])),
  });
  return ((await response.json()) as { sha256: string }).sha256;
}
const submit = (options: Record<string, unknown>) =>
  hub.call("POST", "/jobs", { url: TARGET, options });
const locOf = (answer: Awaited<ReturnType<typeof submit>>) => answer.body.detail[0].loc.at(-1);

test("an unknown use_profile is 422 naming it; a known one is given to the run (rules/job-options#named-things-must-be-there)", async () => {
  const worker = await hub.worker();
  const unknown = await submit({ use_profile: "nobody" });
  expect([unknown.status, locOf(unknown)]).toEqual([422, "use_profile"]);
  const sha256 = await upload("work");
  expect((await submit({ use_profile: "work" })).status).toBe(200);
  const job = await worker.assigned.next();
  expect(job.extras.profile).toMatchObject({ name: "work", sha256 });
});

test("the default profile is for jobs that omit use_profile, unless their browser comes from elsewhere (rules/profiles#default-profile)", async () => {
  const worker = await hub.worker({ lanes: 4, host_id: hostId() });
  const sha256 = await upload("home");
  await submit({});
  expect((await worker.assigned.next()).extras.profile).toBeNull();
  await hub.call("POST", "/profiles/home/default");
  await submit({});
  expect((await worker.assigned.next()).extras.profile).toMatchObject({ name: "home", sha256 });
  await submit({ clone_chrome_profile: "Default" });
  expect((await worker.assigned.next()).extras.profile).toBeNull();
  await submit({ attach: "9999" });
  expect((await worker.assigned.next()).extras.profile).toBeNull();
});

test("the worker learns that a profile was deleted while its job waited (rules/profiles#profile-of-a-run)", async () => {
  await upload("gone");
  await submit({ use_profile: "gone" });
  await hub.call("DELETE", "/profiles/gone");
  const worker = await hub.worker();
  expect((await worker.assigned.next()).extras.profile).toEqual({
    name: "gone",
    sha256: "0".repeat(64),
    size: 0,
  });
});

test("a worker gets the archive with its own token only", async () => {
  const worker = await hub.worker();
  const sha256 = await upload("work");
  const { upload_token } = await worker.registered;
  const get = (token: string, path = `work/${sha256}`) =>
    fetch(`${hub.url}/workers/${worker.worker_id}/profiles/${path}`, {
      headers: { Authorization: `Bearer ${token}` },
    });
  const whole = await get(upload_token);
  expect(whole.status).toBe(200);
  expect(new Bun.CryptoHasher("sha256").update(await whole.bytes()).digest("hex")).toBe(sha256);
  expect((await get("wrong")).status).toBe(401);
  expect((await get(upload_token, `work/${"0".repeat(64)}`)).status).toBe(404);
  expect((await get(upload_token, `work/..%2f..%2fx`)).status).toBe(404);
  const put = await fetch(`${hub.url}/workers/${worker.worker_id}/sessions/none/profile/work`, {
    method: "PUT",
    headers: { Authorization: `Bearer ${upload_token}` },
    body: "x",
  });
  expect(put.status).toBe(404);
});

test("clone_chrome_profile needs a worker on the hub's own host, and goes to it alone (rules/jobs#copy-the-operators-profile)", async () => {
  const far = await hub.worker({ worker_id: "far", lanes: 3, host_id: "another" });
  const refused = await submit({ clone_chrome_profile: "Default" });
  expect([refused.status, locOf(refused)]).toEqual([422, "clone_chrome_profile"]);
  const near = await hub.worker({ worker_id: "near", host_id: hostId() });
  for (const name of ["../x", "a/b/c", "..", "chromium/..", "x\u0000", "/etc", "a\\b"]) {
    const bad = await submit({ clone_chrome_profile: name });
    expect([name, bad.status, locOf(bad)]).toEqual([name, 422, "clone_chrome_profile"]);
  }
  const first = await submit({ clone_chrome_profile: "chromium/Profile 1" });
  expect(first.body.worker_id).toBe("near");
  // Its one lane is busy: the next such job waits, and holds nobody up.
  const second = await submit({ clone_chrome_profile: "Default" });
  expect(second.status).toBe(503);
  for (let i = 0; i < 3; i += 1) expect((await submit({})).body.worker_id).toBe("far");
  expect(far.assigned).toBeDefined();
  near.finish(await near.assigned.next());
  expect((await near.assigned.next()).job_id).toBe(second.body.job_id);
});
