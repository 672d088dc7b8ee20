import { expect, test } from "bun:test";
import { createHubClient } from "#hub/program/cli/hub-client.ts";
import { checkSecret } from "#hub/program/commands/doctor/hub.ts";
import { startTestHub } from "#test/support/rigs/hub.ts";

test("doctor knows by the link whether WORKER_SECRET is taken, and no worker comes of it (rules/operations#doctor)", async () => {
  const hub = await startTestHub({ env: { WORKER_SECRET: "the hub's secret" } });
  try {
    const target = (secret: string | null) => ({
      client: createHubClient(hub.url, undefined),
      named: "HUB_URL",
      secret,
    });
    expect(await checkSecret(target("the hub's secret"))).toMatchObject({ status: "ok" });
    for (const wrong of [null, "another"]) {
      const check = await checkSecret(target(wrong));
      expect(check.status).toBe("fail");
      expect(check.advice).toContain("WORKER_SECRET");
    }
    expect((await hub.call("GET", "/workers")).body.workers).toEqual([]);
  } finally {
    await hub.close();
  }
});
