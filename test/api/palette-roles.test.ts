import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mayDo, type WhoIAm } from "#hub/ui/client/lib/logins.ts";
import { type HitAction, hitActions } from "#hub/ui/client/shell/palette-hits.ts";
import { methodOf } from "#shared/client/operation.ts";
import type { HitKind, SearchHit } from "#shared/protocol/schema/search.ts";
import { ROLES } from "#shared/protocol/token-roles.ts";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";

/** What Ctrl K offers is what the hub lets this role do (rules/web-app#ctrl-k). */

let hub: TestHub;
const secrets = new Map<string, string>();
beforeAll(async () => {
  hub = await startTestHub({ alone: true });
  const admin = (await hub.call("POST", "/tokens", { name: "a", role: "admin" })).body.token;
  secrets.set("admin", admin);
  const headers = { authorization: `Bearer ${admin}` };
  for (const role of ["viewer", "submitter", "operator"]) {
    const made = await hub.call("POST", "/tokens", { name: role, role }, { headers });
    secrets.set(role, made.body.token);
  }
});
afterAll(() => hub.close());

const hit = (kind: HitKind, state: string): SearchHit => ({
  kind,
  state,
  id: "nobody",
  title: "It",
  detail: "",
  at: null,
  href: "/it",
  workload: kind === "task" ? "no-workload" : null,
});
const HITS = [
  ...[hit("job", "queued"), hit("job", "completed"), hit("session", "open")],
  ...[hit("worker", "active"), hit("worker", "drain"), hit("host", "")],
  ...[hit("workload", "enabled"), hit("workload", "disabled"), hit("task", "failed")],
];
const caller = (role: string | null): WhoIAm => ({
  kind: role === null ? "open" : "session",
  name: role,
  role,
  open: false,
  workers_open: false,
});
const offered = (who: WhoIAm | null): string[] =>
  HITS.flatMap((one) => hitActions(one, who).map(({ verb }) => `${verb} ${one.kind}`));

const OPERATOR = [
  ...["cancel job", "end session", "drain worker", "activate worker"],
  ...["pause workload", "resume workload", "retry task", "cancel task"],
];

describe("each role is offered what it may do", () => {
  test.each([
    ["viewer", []],
    ["submitter", ["cancel job"]],
    ["operator", OPERATOR],
    ["admin", OPERATOR],
  ] as const)("%s", (role, actions) => {
    expect(offered(caller(role))).toEqual([...actions]);
  });

  test("without roles everything is offered, before the server named the caller nothing", () => {
    expect(offered(caller(null))).toEqual(OPERATOR);
    expect(offered(null)).toEqual([]);
    // Of a later version.
    expect(offered(caller("auditor"))).toEqual([]);
  });

  test("what only an administrator may do is not open to a caller without a role", () => {
    expect([null, ...ROLES].map((role) => mayDo(caller(role), "admin"))).toEqual([
      ...[false, false, false, false, true],
    ]);
  });
});

/** The gate judges before the route does, so nothing has to exist. */
const refuses = async ({ operation }: HitAction, role: string): Promise<boolean> => {
  const path = operation.slice(operation.indexOf(" ") + 1).replace(/\{\w+\}/g, "nobody");
  const headers = { authorization: `Bearer ${secrets.get(role)}` };
  const { status } = await hub.call(methodOf(operation), path, {}, { headers });
  return status === 403;
};

test.each([...ROLES])(
  "the hub refuses the role %s exactly what is not offered to it",
  async (role) => {
    const all = HITS.flatMap((one) => hitActions(one, caller("admin")));
    expect(all).toHaveLength(OPERATOR.length);
    for (const action of all)
      expect([action.label, await refuses(action, role)]).toEqual([
        action.label,
        !mayDo(caller(role), action.needs),
      ]);
  },
);
