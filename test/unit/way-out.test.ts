import { expect, test } from "bun:test";
import { EgressOption } from "#shared/protocol/egress.ts";
import { widerThan } from "#shared/protocol/egress-cover.ts";
import { factsOf } from "#worker/browser/fetch/way-out.ts";
import type { LaneBrowser } from "#worker/browser/lanes/lane-browser.ts";

test("a connection keeps the address of its first answer", () => {
  let latest: string | null = "192.0.2.1";
  const gate = { addressOf: () => latest, failureOf: () => null };
  const facts = factsOf({ browser: { gate } as unknown as LaneBrowser });
  const of = (connection: number) => facts?.addressOf("http://site.test/", connection);
  expect(of(11)).toBe("192.0.2.1");
  latest = "192.0.2.2";
  expect([of(11), of(12), of(0)]).toEqual(["192.0.2.1", "192.0.2.2", "192.0.2.2"]);
  latest = "192.0.2.3";
  expect([of(11), of(12), of(0)]).toEqual(["192.0.2.1", "192.0.2.2", "192.0.2.3"]);
});

const OPEN = { mode: "open" as const, allow: [], deny: [], block: [] };
const asked = (option: object) => EgressOption.parse(option);

test.each([
  // Narrower, or the same: nothing is in the way.
  [OPEN, { mode: "public" }, null],
  [OPEN, { deny: ["10.0.0.0/8"] }, null],
  [OPEN, { mode: "listed", allow: ["10.1.2.3:80", "*.site.test"] }, null],
  [{ ...OPEN, mode: "public" }, { deny: ["*:25"] }, null],
  [{ ...OPEN, mode: "public" }, { mode: "listed", allow: ["site.test", "192.0.2.1"] }, null],
  [{ ...OPEN, mode: "public", allow: ["10.1.0.0/16"] }, { allow: ["10.1.2.0/24:443"] }, null],
  [{ ...OPEN, mode: "listed", allow: ["*.site.test:443"] }, { allow: ["a.site.test:443"] }, null],
  [{ ...OPEN, block: ["private"] }, { mode: "open" }, null],
  // Wider.
  [{ ...OPEN, mode: "public" }, { mode: "open" }, "is in egress mode public"],
  [{ ...OPEN, block: ["private", "loopback"] }, { mode: "open" }, "is in egress mode public"],
  [{ ...OPEN, mode: "listed" }, { mode: "public" }, "is in egress mode listed"],
  [{ ...OPEN, mode: "public" }, { allow: ["10.1.2.3"] }, "does not allow 10.1.2.3"],
  [{ ...OPEN, mode: "public" }, { allow: ["[::1]:80"] }, "does not allow [::1]:80"],
  [{ ...OPEN, mode: "public" }, { allow: ["[fd00::/8]:80"] }, "does not allow [fd00::/8]:80"],
  [
    { ...OPEN, block: ["loopback"] },
    { allow: ["127.0.0.1:3000"] },
    "does not allow 127.0.0.1:3000",
  ],
  [{ ...OPEN, deny: ["10.0.0.0/8"] }, { allow: ["10.1.2.3:80"] }, "denies 10.1.2.3:80"],
  [
    { ...OPEN, mode: "listed", allow: ["a.test:443"] },
    { allow: ["a.test"] },
    "does not allow a.test",
  ],
  [{ ...OPEN, mode: "listed", allow: ["a.test"] }, { allow: ["*.test"] }, "does not allow *.test"],
  [
    { ...OPEN, mode: "public", allow: ["10.1.0.0/16"] },
    { allow: ["10.0.0.0/8"] },
    "does not allow",
  ],
] as const)("a worker on %j and a job that asks for %j", (worker, option, words) => {
  const { allow, deny, block } = worker;
  const has = { mode: worker.mode, allow: [...allow], deny: [...deny], block: [...block] };
  const said = widerThan(has, asked(option));
  if (words === null) expect(said).toBeNull();
  else expect(said).toContain(words);
});
