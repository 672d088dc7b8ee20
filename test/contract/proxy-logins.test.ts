import { describe, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import type { Key } from "#hub/platform/secrets/key-file.ts";
import { keyringOf } from "#hub/platform/secrets/keyring.ts";
import { convertProxies, openProxy, sealProxy } from "#hub/platform/secrets/proxies.ts";
import { Unopened } from "#hub/platform/secrets/values.ts";
import { eachDialect } from "#test/support/servers/db.ts";

const makeKey = (): Key => ({ id: randomBytes(8).toString("hex"), bytes: randomBytes(32) });
const NOW = 1_700_000_000_000;
const PROXY = { server: "http://p.test:3128", username: "anna", password: "secret", bypass: null };
const HOST = {
  host: "a.test",
  recipes: [],
  login_recipe: null,
  popup_policy: "allow" as const,
  record: null,
  notes: "",
  updated_at: NOW,
};

eachDialect((open) => {
  describe("logins of proxies", () => {
    test("a host's record that is put without a proxy keeps it, and null takes it away", async () => {
      const { hosts } = await open();
      await hosts.put({ ...HOST, proxy: PROXY });
      expect((await hosts.put({ ...HOST, notes: "n" })).proxy).toEqual(PROXY);
      expect((await hosts.put({ ...HOST, proxy: null })).proxy).toBeNull();
    });

    test("they are encrypted anew with another key, opened, and forgotten when no key opens them", async () => {
      const db = await open();
      const [old, fresh] = [makeKey(), makeKey()];
      await db.hosts.put({ ...HOST, proxy: PROXY });
      await db.job_proxies.put({ job_id: "j1", proxy: PROXY, created_at: NOW });
      const stored = async () => [
        (await db.hosts.proxies())[0]?.proxy,
        (await db.job_proxies.list())[0]?.proxy,
      ];
      expect(await convertProxies({ db, keys: keyringOf([old]) }, "seal")).toEqual({
        changed: 2,
        unreadable: 0,
      });
      expect(JSON.stringify(await stored())).not.toMatch(/anna|secret"/);
      const both = keyringOf([fresh, old]);
      expect((await convertProxies({ db, keys: both }, "seal")).changed).toBe(2);
      expect((await convertProxies({ db, keys: both }, "seal")).changed).toBe(0);
      expect(await convertProxies({ db, keys: keyringOf([old]) }, "open")).toEqual({
        changed: 0,
        unreadable: 2,
      });
      const [of_host] = await stored();
      if (!of_host) throw new Error("no proxy is stored");
      expect(openProxy(keyringOf([fresh]), ["host", "a.test"], of_host)).toEqual(PROXY);
      await convertProxies({ db, keys: keyringOf([old]) }, "forget");
      // Without its proxy a job would go out by itself.
      const bare = { ...PROXY, username: null, password: null };
      expect(await stored()).toEqual([bare, bare]);
    });

    test("what was written meanwhile is not overwritten", async () => {
      const { hosts } = await open();
      await hosts.put({ ...HOST, proxy: PROXY });
      const [before] = await hosts.proxies();
      const other = { ...PROXY, server: "http://other.test:1" };
      await hosts.put({ ...HOST, proxy: other });
      expect(await hosts.exchangeProxy("a.test", before?.raw, PROXY)).toBe(false);
      expect((await hosts.get("a.test"))?.proxy).toEqual(other);
    });
  });
});

test("a login opens for its own owner and server alone", () => {
  const keys = keyringOf([makeKey()]);
  const sealed = sealProxy(keys, ["host", "a.test"], PROXY);
  for (const [owner, proxy] of [
    [["host", "b.test"], sealed],
    [["job", "a.test"], sealed],
    [["host", "a.test"], { ...sealed, server: "http://evil.test:3128" }],
  ] as const)
    expect(() => openProxy(keys, owner, proxy)).toThrow(Unopened);
});
