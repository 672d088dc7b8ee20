import { afterEach, expect, test } from "bun:test";
import { runAdminCommand } from "#hub/program/admin-command.ts";
import type { Terminal } from "#hub/program/cli/print.ts";
import { UnavailableError } from "#shared/kit/env.ts";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";

const open: TestHub[] = [];
afterEach(async () => {
  for (const hub of open.splice(0)) await hub.close();
});

async function reset(data_dir: string, env: Record<string, string> = {}) {
  const seen = { code: -1, out: "", err: "" };
  const print = (to: "out" | "err") => (text: string) => {
    seen[to] += text;
  };
  const terminal: Terminal = {
    out: print("out"),
    err: print("err"),
    width: null,
    live: false,
    liveWidth: 80,
  };
  seen.code = await runAdminCommand(["reset-password"], env, { SVC_DATA_DIR: data_dir }, terminal);
  return seen;
}
const change = (hub: TestHub, password: string) =>
  hub.call(
    "PUT",
    "/api/v1/settings/service_log_days",
    { value: 7 },
    {
      headers: { "x-admin-password": password },
    },
  );

test("flotilla admin reset-password opens what the old password no longer does, and gives control mode its first (rules/access#administrator)", async () => {
  const hub = await startTestHub({ mode: "hub" });
  open.push(hub);
  expect((await change(hub, "anything at all")).status).toBe(403);
  await hub.stop();
  const first = await reset(hub.data_dir);
  const second = await reset(hub.data_dir);
  expect(first.code).toBe(0);
  const [old, current] = [first, second].map(({ out }) => out.trim().split(" ").at(-1) ?? "");
  await hub.restart();
  expect((await change(hub, old ?? "")).status).toBe(401);
  expect((await change(hub, current ?? "")).status).toBe(200);
});

test("while a hub uses the file it says so and changes nothing (rules/access#administrator)", async () => {
  const hub = await startTestHub({ mode: "dev" });
  open.push(hub);
  const refused = await reset(hub.data_dir).catch((err) => err);
  expect(refused).toBeInstanceOf(UnavailableError);
  expect(String(refused)).toContain("is in use by another hub");
  expect((await change(hub, hub.ctx.operations.new_password ?? "")).status).toBe(200);
});

test("it warns when SVC_ADMIN_PASSWORD counts instead of the new one (rules/access#administrator)", async () => {
  const hub = await startTestHub({ mode: "control" });
  open.push(hub);
  await hub.stop();
  const { err } = await reset(hub.data_dir, { SVC_ADMIN_PASSWORD: "set by the operator" });
  expect(err).toContain("SVC_ADMIN_PASSWORD");
});
