import { expect, test } from "bun:test";
import { NOBODY } from "#hub/platform/http/caller.ts";
import { newApp } from "#hub/platform/http/new-app.ts";
import { whoseCount } from "#hub/platform/http/require-admin.ts";

/** Whose wrong answers slow down whose next ones. */

async function countOf(
  address: string,
  what: "administrator" | "token" = "administrator",
  cookie = "",
): Promise<string> {
  const known: Record<string, string> = { a: "administrator", t: "token" };
  const logins = {
    readKnown: async (given: string | undefined, of: string) =>
      given !== undefined && known[given] === of ? given : null,
  };
  const app = newApp();
  app.get("/", async (c) => {
    c.set("caller", NOBODY);
    return c.text(await whoseCount(c, what, logins));
  });
  const server = { requestIP: () => ({ address }) };
  const headers: Record<string, string> =
    cookie === "" ? {} : { cookie: `flotilla_known=${cookie}` };
  return (await app.request("/", { headers }, { server } as never)).text();
}

test("an address has a count of its own for each kind of secret, loopback is one, and so is a network of IPv6", async () => {
  const same = async (a: string, b: string) => (await countOf(a)) === (await countOf(b));
  expect(await same("127.0.0.1", "127.1.2.3")).toBe(true);
  expect(await same("127.0.0.1", "::1")).toBe(true);
  expect(await same("::ffff:127.0.0.1", "::1")).toBe(true);
  expect(await same("::ffff:10.0.0.7", "10.0.0.7")).toBe(true);
  expect(await same("10.0.0.7", "10.0.0.8")).toBe(false);
  expect(await same("10.0.0.7", "127.0.0.1")).toBe(false);
  expect(await same("2001:db8:1:2::1", "2001:db8:1:2:ffff:1:2:3")).toBe(true);
  expect(await same("2001:db8::1", "2001:db8:0:0:5::9")).toBe(true);
  expect(await same("2001:db8:1:2::1", "2001:db8:1:3::1")).toBe(false);
  expect(await countOf("10.0.0.7", "token")).not.toBe(await countOf("10.0.0.7"));
});

test("a browser that was let in before has a count of its own, for the password only if it was the administrator's", async () => {
  expect(await countOf("10.0.0.7", "administrator", "a")).toBe("browser:a");
  expect(await countOf("10.0.0.7", "token", "a")).toBe("browser:a");
  expect(await countOf("10.0.0.7", "token", "t")).toBe("browser:t");
  expect(await countOf("10.0.0.7", "administrator", "t")).toBe(await countOf("10.0.0.7"));
  expect(await countOf("10.0.0.7", "token", "forged")).toBe(await countOf("10.0.0.7", "token"));
});
