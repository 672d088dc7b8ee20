import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";

const PASSWORD = "idempotency tests";

/** Idempotency-Key on the control plane's calls that change something (rules/pipeline-api#idempotency-keys). */
for (const mode of ["hub", "control"] as const)
  describe(`served in ${mode} mode`, () => {
    let hub: TestHub;
    let made = 0;
    beforeAll(async () => {
      hub = await startTestHub({
        mode,
        env: { SVC_ADMIN_PASSWORD: PASSWORD, WORKER_SECRET: "hush" },
      });
    });
    afterAll(() => hub.close());

    const send = (key: string, method: string, path: string, body?: unknown) =>
      hub.call(method, `/api/v1${path}`, body, { headers: { "idempotency-key": key } });
    const total = async (slug: string) =>
      (await hub.call("GET", `/api/v1/workloads/${slug}/queue`)).body.total;
    async function addWorkload(): Promise<string> {
      const slug = `once-${++made}`;
      const body = { slug, executor_type: "command", executor_config: { argv: ["true"] } };
      expect((await send(`make-${slug}`, "POST", "/workloads", body)).status).toBe(201);
      // Without the key it would be 409.
      expect((await send(`make-${slug}`, "POST", "/workloads", body)).status).toBe(201);
      return slug;
    }

    test("the same batch again gets the first answer, also once its tasks are gone", async () => {
      const slug = await addWorkload();
      const batch = () =>
        send(`batch-${slug}`, "POST", `/workloads/${slug}/tasks/batch`, { items: [{ pk: "a" }] });
      const answers = await Promise.all([batch(), batch()]);
      for (const { status, body } of answers)
        expect([status, body.submitted, body.duplicates]).toEqual([201, 1, 0]);
      await hub.call("DELETE", `/api/v1/workloads/${slug}/queue/a`);
      expect((await batch()).body).toEqual(answers[0]?.body);
      expect(await total(slug)).toBe(0);
    });

    test("the key with another body or path is 409, and nothing is stored", async () => {
      const slug = await addWorkload();
      const task = (pk: string) => send(`key-${slug}`, "POST", `/workloads/${slug}/tasks`, { pk });
      expect((await task("a")).status).toBe(201);
      expect((await task("b")).status).toBe(409);
      expect((await send(`key-${slug}`, "DELETE", `/workloads/${slug}/queue/a`)).status).toBe(409);
      expect(await total(slug)).toBe(1);
    });

    test("a call that was refused leaves the key free; a DELETE may be sent twice", async () => {
      const slug = await addWorkload();
      const task = (body: unknown) =>
        send(`free-${slug}`, "POST", `/workloads/${slug}/tasks`, body);
      expect((await task({ pk: "" })).status).toBe(422);
      expect((await task({ pk: "a" })).status).toBe(201);
      for (let i = 0; i < 2; i += 1)
        expect((await send(`gone-${slug}`, "DELETE", `/workloads/${slug}/queue/a`)).status).toBe(
          204,
        );
    });

    test("no key opens what asks for a password or a secret: the answer of who had it is not given again", async () => {
      const admin = { "idempotency-key": "admin", "x-admin-password": PASSWORD };
      const worker = { "idempotency-key": "worker", "x-worker-secret": "hush" };
      const hello = { incarnation: "incarnation-1", host: "h", slots: 1, version: "1" };
      const calls = [
        ["PUT", "/settings/service_log_days", { value: 3 }, admin],
        ["POST", "/workers/p1/register", hello, worker],
      ] as const;
      for (const [method, path, body, headers] of calls) {
        const call = (given: Record<string, string>) =>
          hub.call(method, `/api/v1${path}`, body, { headers: given });
        expect((await call(headers)).status).toBe(200);
        expect((await call({ "idempotency-key": headers["idempotency-key"] })).status).toBe(401);
      }
    });

    test("a key that cannot be one is 422, a keyed body that is too large 413", async () => {
      const slug = await addWorkload();
      const path = `/workloads/${slug}/tasks`;
      const bad = await send("bad key", "POST", path, { pk: "a" });
      expect([bad.status, bad.body.detail[0].loc]).toEqual([422, ["header", "Idempotency-Key"]]);
      const large = { pk: "a", extra: { t: "x".repeat(10 * 1024 * 1024) } };
      expect((await send("large", "POST", path, large)).status).toBe(413);
      expect(await total(slug)).toBe(0);
    });
  });
