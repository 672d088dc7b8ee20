import { expect, test } from "bun:test";
import { createTokens, type Tokens } from "#hub/platform/access/tokens.ts";
import type { AccessRepo } from "#hub/platform/db/access-types.ts";
import type { AccessTokenRow } from "#hub/platform/db/rows.ts";
import { silentLog } from "#shared/kit/log.ts";
import { createFakeClock } from "#test/support/fakes/fake-clock.ts";

/** What a token costs, and how soon another hub knows that it was revoked. */

function rig(hubs = 1) {
  const rows = new Map<string, AccessTokenRow>();
  const asked = { find: 0, used: [] as number[] };
  const access = {
    addToken: async (row) => void rows.set(row.token_id, row),
    tokens: async () => [...rows.values()],
    hasTokens: async () => rows.size > 0,
    findToken: async (hash) => {
      asked.find += 1;
      return [...rows.values()].find((row) => row.hash === hash) ?? null;
    },
    tokenById: async (token_id) => {
      asked.find += 1;
      return rows.get(token_id) ?? null;
    },
    removeToken: async (token_id) => (rows.delete(token_id) ? "removed" : "not found"),
    markUsed: async (_id, now) => void asked.used.push(now),
  } satisfies Partial<AccessRepo> as unknown as AccessRepo;
  const clock = createFakeClock();
  const desks: Tokens[] = Array.from({ length: hubs }, () =>
    createTokens({
      db: { access },
      clock,
      log: silentLog,
      config: { api_token: null, worker_secret: null },
      admin: { isSet: async () => true },
    }),
  );
  const [first, second] = desks as [Tokens, Tokens];
  return { first, second, clock, asked };
}

test("who shows nothing like a token costs no look, and a busy token one a second", async () => {
  const { first, clock, asked } = rig();
  for (const text of ["", "x", "flt_", "Bearer", `flt_${"a".repeat(42)}`, `flt_${"a".repeat(44)}`])
    expect(await first.callerOf(text)).toBeNull();
  expect(asked.find).toBe(0);
  const { token } = await first.create({ name: "v", role: "viewer" });
  for (let i = 0; i < 100; i++)
    expect(await first.callerOf(token)).toMatchObject({ kind: "token", name: "v" });
  expect(asked.find).toBe(1);
  await clock.advance(1_001);
  await first.callerOf(token);
  expect(asked.find).toBe(2);
});

test("a use is written once a minute", async () => {
  const { first, clock, asked } = rig();
  const { token } = await first.create({ name: "v", role: "viewer" });
  for (let s = 0; s < 150; s += 5) {
    await first.callerOf(token);
    await clock.advance(5_000);
  }
  expect(asked.used.length).toBe(3);
});

test("a token that one hub revoked counts nowhere a second later, and at that hub at once", async () => {
  const { first, second, clock } = rig(2);
  const { token, token_id } = await first.create({ name: "v", role: "viewer" });
  expect(await second.callerOf(token)).not.toBeNull();
  await first.revoke(token_id);
  expect(await first.callerOf(token)).toBeNull();
  await clock.advance(1_001);
  expect(await second.callerOf(token)).toBeNull();
});

test("a token ends to the millisecond, also while it is known", async () => {
  const { first, clock } = rig();
  const { token } = await first.create({ name: "v", role: "viewer", expires_in_s: 1 });
  await clock.advance(999);
  expect(await first.callerOf(token)).not.toBeNull();
  await clock.advance(1);
  expect(await first.callerOf(token)).toBeNull();
});

test("the program's own token counts in this process alone, and is stored nowhere", async () => {
  const { first, second } = rig(2);
  expect(await first.callerOf(first.own)).toMatchObject({ kind: "api token", role: null });
  expect(await second.callerOf(first.own)).toBeNull();
  expect(await first.list()).toEqual([]);
});

test("by its id a token counts until it expires or is revoked, and is looked for once a second", async () => {
  const { first, second, clock, asked } = rig(2);
  const short = await first.create({ name: "s", role: "viewer", expires_in_s: 10 });
  const long = await first.create({ name: "l", role: "viewer" });
  for (let i = 0; i < 100; i++) expect(await second.counts(long.token_id)).toBe(true);
  expect(asked.find).toBe(1);
  expect(await second.counts(short.token_id)).toBe(true);
  await clock.advance(10_000);
  expect(await second.counts(short.token_id)).toBe(false);
  expect(await second.counts(long.token_id)).toBe(true);
  await first.revoke(long.token_id);
  expect(await first.counts(long.token_id)).toBe(false);
  await clock.advance(1_001);
  expect(await second.counts(long.token_id)).toBe(false);
  expect(await second.counts("none")).toBe(false);
});
