import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { listTarGz, makeTar, makeTarGz } from "#test/support/clients/tar.ts";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";
import { contentOf, storedBelow } from "#test/support/servers/objects.ts";

let hub: TestHub;
beforeAll(async () => {
  hub = await startTestHub();
});
afterAll(() => hub.close());

const upload = async (name: string, body: Uint8Array, type = "application/x-tar") => {
  const response = await fetch(`${hub.url}/profiles/${name}`, {
    method: "POST",
    headers: { "Content-Type": type },
    body: new Uint8Array(body),
  });
  // biome-ignore lint/suspicious/noExplicitAny: answers of every shape
  return { status: response.status, body: (await response.json()) as any };
};
const stored = async (name: string) => {
  const { sha256 } = (await hub.call("GET", `/profiles/${name}`)).body;
  const archive = await contentOf(hub.ctx.profile_archives, `profiles/p-${name}/${sha256}.tar.gz`);
  return listTarGz(archive ?? new Uint8Array(0));
};
const objectFiles = async () => [
  ...(await storedBelow(hub, "profiles")),
  ...(await storedBelow(hub, "incoming")),
];

describe("accepted upload shapes (rules/profiles#shapes-of-an-archive)", () => {
  test("Default/ with Local State: kept without caches, locks and open windows", async () => {
    const archive = await makeTarGz([
      ["Default/Cookies", "c"],
      ["Default/Network/Cookies", "n"],
      ["Default/Cache/Cache_Data/f_1", "cache"],
      ["Default/Code Cache/js/x", "cache"],
      ["Default/Service Worker/CacheStorage/a/b", "cache"],
      ["Default/Service Worker/Database/1.ldb", "kept"],
      ["Default/Sessions/Tabs_1", "tabs"],
      ["Default/SingletonLock", "lock"],
      ["Local State", "{}"],
      ["Last Version", "156.0.8078.79"],
      ["Crashpad/reports/1", "crash"],
      { name: "SingletonLock", type: "symlink", linkname: "host-1" },
    ]);
    const { status, body } = await upload("shape-default", archive);
    expect(status).toBe(201);
    expect(body).toMatchObject({
      name: "shape-default",
      files: 4,
      is_default: false,
      source_browser: "Chrome/156.0.8078.79",
    });
    expect(body.sha256).toMatch(/^[0-9a-f]{64}$/);
    expect(await stored("shape-default")).toEqual({
      "Default/Cookies": "c",
      "Default/Network/Cookies": "n",
      "Default/Service Worker/Database/1.ldb": "kept",
      "Local State": "{}",
    });
  });

  test("Profile <N>/ becomes Default/, from a plain tar with ./ names", async () => {
    const tar = await makeTar([
      { name: "./", type: "directory" },
      { name: "./Profile 3/", type: "directory" },
      ["./Profile 3/Preferences", "{}"],
      ["./System Profile/Cookies", "no"],
    ]);
    expect((await upload("shape-n", tar)).status).toBe(201);
    expect(await stored("shape-n")).toEqual({ "Default/Preferences": "{}" });
  });

  test("files at the root are put into Default/, Local State stays at the root, extensions are left out (rules/profiles#extensions)", async () => {
    const archive = await makeTarGz([
      ["Cookies", "c"],
      ["Extensions/abc/1/manifest.json", "{}"],
      ["Local State", "{}"],
    ]);
    expect((await upload("shape-root", archive, "application/gzip")).status).toBe(201);
    expect(await stored("shape-root")).toEqual({
      "Default/Cookies": "c",
      "Local State": "{}",
    });
  });

  test("anything else is refused in words", async () => {
    const none = await upload("shape-none", await makeTarGz([["photos/cat.jpg", "x"]]));
    expect(none.status).toBe(422);
    expect(none.body.detail[0].msg).toContain("no profile found in the archive");
    const two = await makeTarGz([
      ["Profile 1/Cookies", "x"],
      ["Profile 2/Cookies", "x"],
    ]);
    expect((await upload("shape-none", two)).body.detail[0].msg).toContain("Profile 1, Profile 2");
    const text = await upload("shape-none", new TextEncoder().encode("hello"));
    expect(text.body.detail[0].msg).toContain("neither a tar nor a tar.gz");
    expect((await upload("shape-none", new Uint8Array())).status).toBe(422);
    expect((await hub.call("GET", "/profiles/shape-none")).status).toBe(404);
  });
});

describe("the registry (rules/profiles#profile-record)", () => {
  test("upload again replaces, keeps created_at; the old archive goes after a grace", async () => {
    const first = (await upload("again", await makeTarGz([["Default/Cookies", "1"]]))).body;
    const second = await upload("again", await makeTarGz([["Default/Cookies", "2"]]));
    expect(second.status).toBe(200);
    expect(second.body.created_at).toBe(first.created_at);
    expect(second.body.sha256).not.toBe(first.sha256);
    expect(await stored("again")).toEqual({ "Default/Cookies": "2" });
    const keys = () => hub.ctx.objects.list("profiles/p-again");
    expect(await keys()).toHaveLength(2);
    const { createProfileSweeper } = await import("#hub/fleet/registries/profile-sweep.ts");
    const sweeper = createProfileSweeper(hub.ctx);
    await sweeper.sweep();
    expect(await keys()).toHaveLength(2);
    await sweeper.sweep();
    expect(await keys()).toEqual([`profiles/p-again/${second.body.sha256}.tar.gz`]);
  });

  test("list, delete, and what is not there", async () => {
    await upload("gone", await makeTarGz([["Default/Cookies", "1"]]));
    const names = async () =>
      (await hub.call("GET", "/profiles")).body.profiles.map((p: { name: string }) => p.name);
    expect(await names()).toContain("gone");
    expect((await hub.call("DELETE", "/profiles/gone")).status).toBe(204);
    expect(await names()).not.toContain("gone");
    expect(await hub.ctx.objects.list("profiles/p-gone")).toEqual([]);
    expect((await hub.call("DELETE", "/profiles/gone")).status).toBe(404);
    expect((await hub.call("GET", "/profiles/gone")).status).toBe(404);
    expect((await hub.call("POST", "/profiles/gone/default")).status).toBe(404);
  });

  test("one default: shown, moved, cleared, gone with its profile", async () => {
    const archive = await makeTarGz([["Default/Cookies", "1"]]);
    for (const name of ["d1", "d2"]) await upload(name, archive);
    const shown = async () => (await hub.call("GET", "/profiles/default")).body;
    expect(await shown()).toEqual({ name: null });
    expect((await hub.call("POST", "/profiles/d1/default")).body).toEqual({ name: "d1" });
    expect((await hub.call("POST", "/profiles/d2/default")).body).toEqual({ name: "d2" });
    expect(await shown()).toEqual({ name: "d2" });
    expect((await hub.call("GET", "/profiles/d1")).body.is_default).toBe(false);
    expect((await hub.call("DELETE", "/profiles/default")).body).toEqual({ name: null });
    expect(await shown()).toEqual({ name: null });
    await hub.call("POST", "/profiles/d1/default");
    await hub.call("DELETE", "/profiles/d1");
    expect(await shown()).toEqual({ name: null });
  });

  test("names: a device's name is fine, reserved and foreign ones are refused, the type is asked for", async () => {
    const archive = await makeTarGz([["Default/Cookies", "1"]]);
    expect((await upload("con", archive)).status).toBe(201);
    expect(await stored("con")).toEqual({ "Default/Cookies": "1" });
    for (const name of [
      "default",
      "extension",
      "A",
      "a.b",
      "a%2Fb",
      "..%2Fx",
      "x".repeat(65),
      "%00",
    ])
      expect([name, (await upload(name, archive)).status]).toEqual([name, 422]);
    expect((await upload("typed", archive, "application/json")).status).toBe(415);
  });

  test("one writer per name at a time (409)", async () => {
    const { beginWriting } = await import("#hub/fleet/registries/profile-writers.ts");
    const done = await beginWriting(hub.ctx, "busy", "test");
    const archive = await makeTarGz([["Default/Cookies", "1"]]);
    expect((await upload("busy", archive)).status).toBe(409);
    expect((await hub.call("DELETE", "/profiles/busy")).status).toBe(409);
    await done();
    expect((await upload("busy", archive)).status).toBe(201);
  });

  test("nothing stays of what was refused, and a new start clears what a crash left", async () => {
    expect((await objectFiles()).filter((name) => name.startsWith("incoming"))).toEqual([]);
    await hub.ctx.objects.put("incoming/left", new Uint8Array(3));
    await hub.ctx.objects.put("profiles/p-x/left.tar.gz", new Uint8Array(3));
    await hub.restart();
    expect(await hub.ctx.objects.list("incoming")).toEqual([]);
    expect(await hub.ctx.objects.list("profiles/p-x")).toEqual([]);
    expect(await stored("con")).toEqual({ "Default/Cookies": "1" });
  });
});
