import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { RunExtras } from "#shared/protocol/link/messages.ts";
import type { BrowserOptions } from "#shared/protocol/schema/browser-options.ts";
import { JobOptions } from "#shared/protocol/schema/job.ts";
import { makeDataDir } from "#test/support/rigs/lane-pool.ts";
import { laneWarm, type SessionRig, startSessionRig } from "#test/support/rigs/session-rig.ts";
import { assignment } from "#test/support/rigs/worker-rig.ts";
import { newAuthority } from "#test/support/servers/certificates.ts";
import { openAuthorities, trustInHome } from "#worker/browser/process/authorities.ts";

/** Sites whose certificates an authority of the network has signed (rules/browser-options#own-authorities). */

setDefaultTimeout(180_000);

const dir = makeDataDir();
const PATH = process.env.PATH ?? "";
const serve = async (pem: { cert: string; key: string }) =>
  Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    tls: { key: Bun.file(pem.key), cert: Bun.file(pem.cert) },
    fetch: () =>
      new Response("<!doctype html><title>inside</title>inside", {
        headers: { "content-type": "text/html" },
      }),
  });

let ca: string;
let other_ca: string;
let own: Awaited<ReturnType<typeof serve>>;
let strange: Awaited<ReturnType<typeof serve>>;
beforeAll(async () => {
  const [ours, theirs] = await Promise.all([
    newAuthority(makeDataDir()),
    newAuthority(makeDataDir()),
  ]);
  ca = join(dir, "own.pem");
  other_ca = theirs.ca;
  const second = await newAuthority(makeDataDir());
  writeFileSync(
    ca,
    `# two of them\n${await Bun.file(second.ca).text()}${await Bun.file(ours.ca).text()}`,
  );
  own = await serve(await ours.sign("inside"));
  strange = await serve(await theirs.sign("outside"));
});
afterAll(() => Promise.all([own.stop(true), strange.stop(true)]));

async function withRig(env: Record<string, string>, work: (rig: SessionRig) => Promise<void>) {
  const rig = await startSessionRig(env);
  try {
    await work(rig);
  } finally {
    await rig.close();
  }
}

let jobs = 0;
async function visit(rig: SessionRig, url: string, browser_options: BrowserOptions = {}) {
  jobs += 1;
  const job_id = `visit${jobs}`;
  const warm = laneWarm(rig.peer, 0);
  const options = JobOptions.parse({ idle_seconds: 0.5 });
  const extras = RunExtras.parse({ browser_options });
  rig.peer.send({ ...assignment(job_id, 0, 900 + jobs), url, options, extras });
  const { status, title, error } = await rig.peer.nextWhere(["result"], (r) => r.job_id === job_id);
  await warm;
  return { status, title, error };
}

test.each([
  ["headless", "1"],
  ["headful", "0"],
])("a %s lane trusts the authorities of SVC_BROWSER_CA, and no others", async (_, headless) => {
  await withRig({ SVC_HEADLESS_LANES: headless, SVC_BROWSER_CA: ca }, async (rig) => {
    expect(await visit(rig, own.url.href)).toMatchObject({ status: "completed", title: "inside" });
    const refused = await visit(rig, strange.url.href);
    expect(refused).toMatchObject({
      status: "failed",
      error: expect.stringContaining("fix its certificate"),
    });
    const session = await rig.open({ url: own.url.href });
    expect(await session.get<string>("evaluate", { code: "document.title" })).toBe("inside");
    await session.close();
  });
});

test.each([
  ["headless", "1"],
  ["headful", "0"],
])(
  "on a %s lane a job and a session trust the authorities that they name, and the next ones do not",
  async (_, headless) => {
    await withRig({ SVC_HEADLESS_LANES: headless, SVC_BROWSER_CA: ca }, async (rig) => {
      const named = { certificate_authorities: await Bun.file(other_ca).text() };
      const opened = { status: "completed", title: "inside" };
      expect(await visit(rig, strange.url.href, named)).toMatchObject(opened);
      // Those of the worker count as well.
      expect(await visit(rig, own.url.href, named)).toMatchObject(opened);
      expect((await visit(rig, strange.url.href)).error).toContain("certificate_authorities");

      const session = await rig.open({ url: strange.url.href, browser_options: named });
      const title = () => session.get<string>("evaluate", { code: "document.title" });
      expect(await title()).toBe("inside");
      const before = rig.live(session.session_id).browser()?.pid;
      await session.call("profile_save", { name: "kept" });
      expect(rig.live(session.session_id).browser()?.pid).not.toBe(before);
      await session.get("navigate", { url: strange.url.href });
      expect(await title()).toBe("inside");
      await session.close();
      expect((await visit(rig, strange.url.href)).status).toBe("failed");
    });
  },
);

test("without it the authority of the network is a stranger", async () => {
  await withRig({ SVC_HEADLESS_LANES: "1" }, async (rig) => {
    expect((await visit(rig, own.url.href)).status).toBe("failed");
  });
});

test("a file that is missing, or has no certificate, is said before any lane starts", async () => {
  const at = join(dir, "store");
  const open = (file: string, path = PATH) => openAuthorities(file, at, path);
  await expect(open(join(dir, "nowhere.pem"))).rejects.toThrow("SVC_BROWSER_CA: ");
  const empty = join(dir, "empty.pem");
  writeFileSync(empty, "nothing");
  await expect(open(empty)).rejects.toThrow("has no certificate in PEM");
  const broken = join(dir, "broken.pem");
  writeFileSync(broken, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
  await expect(open(broken)).rejects.toThrow("SVC_BROWSER_CA: certificate 1:");
  await expect(open(ca, "/nowhere")).rejects.toThrow("install libnss3-tools");
  const pem = await Bun.file(ca).text();
  await expect(trustInHome(dir, pem, "/nowhere")).rejects.toThrow("install libnss3-tools");
});
