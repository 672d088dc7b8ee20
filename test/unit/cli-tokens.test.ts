import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Terminal } from "#hub/program/cli/print.ts";
import { runClientCommand } from "#hub/program/cli/run-command.ts";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";

/** `flotilla tokens` against a running hub. */

let hub: TestHub;
beforeAll(async () => {
  hub = await startTestHub({ alone: true });
});
afterAll(() => hub?.close());

async function run(words: string[], env: Record<string, string> = {}, flags = {}) {
  const said = { out: "", err: "" };
  const terminal = {
    out: (text: string) => {
      said.out += text;
    },
    err: (text: string) => {
      said.err += text;
    },
    width: null,
  } as unknown as Terminal;
  const variables = { SVC_HUB: hub.url, ...env };
  const signal = new AbortController().signal;
  const code = await runClientCommand("tokens", words, flags, variables, terminal, signal);
  return { code, ...said };
}

test("tokens are made, listed and revoked; the token alone goes to standard output", async () => {
  expect(await run(["list"])).toMatchObject({ code: 0, out: "no tokens\n" });
  const made = await run(["create", "me", "admin"]);
  expect(made.code).toBe(0);
  expect(made.out).toMatch(/^flt_[\w-]{43}\n$/);
  expect(made.err).toContain("workers still join without a secret");
  const env = { SVC_API_TOKEN: made.out.trim() };
  const refused = await run(["list"]);
  expect(refused.code).toBe(1);
  expect(refused.err).toContain("bearer token");
  const second = await run(["create", "ci", "submitter"], env, { expires: ["90d"] });
  expect(second.code).toBe(0);
  const { out } = await run(["list"], env);
  expect(out).toContain("submitter");
  expect(out).not.toContain(second.out.trim());
  const { body } = await hub.call("GET", "/tokens", undefined, {
    headers: { authorization: `Bearer ${env.SVC_API_TOKEN}` },
  });
  const ci = body.tokens.find(({ name }: { name: string }) => name === "ci");
  expect(Date.parse(ci.expires_at) - Date.parse(ci.created_at)).toBe(90 * 86_400_000);
  expect(await run(["revoke", ci.token_id], env)).toMatchObject({ code: 0 });
  expect(await run(["revoke", ci.token_id], env)).toMatchObject({ code: 1 });
  expect((await run(["create", "x", "viewer"], { SVC_API_TOKEN: second.out.trim() })).code).toBe(1);
});

test("words that mean nothing are told with what would", async () => {
  for (const words of [["list", "x"], ["create", "x"], ["create", "x", "root"], ["revoke"]])
    expect(run(words)).rejects.toThrow(/tokens needs|is not a role/);
  expect(run(["create", "x", "viewer"], {}, { expires: ["soon"] })).rejects.toThrow("--expires");
});
