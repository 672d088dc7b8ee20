import { afterAll, beforeAll, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { packagedUnitText, ROLES, unitFile } from "#hub/program/commands/install/roles.ts";
import { writeStandIn } from "#test/support/fakes/released.ts";
import { runOperator } from "#test/support/rigs/operator.ts";

/** `install` and `uninstall` where Debian's package has put executable and units (rules/releases#debians-package). */

let tree: string;
let self: string;

beforeAll(() => {
  tree = mkdtempSync(join(tmpdir(), "flotilla-packaged-"));
  self = join(tree, "usr/bin/flotilla");
  for (const role of ROLES) {
    const unit = join(tree, "usr/lib/systemd/system", unitFile({ role, instance: null }));
    mkdirSync(dirname(unit), { recursive: true });
    writeFileSync(unit, packagedUnitText(role));
  }
  mkdirSync(dirname(self));
  writeStandIn(self, "aaaaaaaaaaaa");
});
afterAll(() => rmSync(tree, { recursive: true, force: true }));

const call = (
  command: "install" | "uninstall",
  words: string[],
  flags: Record<string, string[]> = {},
  program = self,
) => runOperator(command, words, Object.assign({ prefix: [tree] }, flags), program);

test("install writes the environment file alone, and uninstall leaves what is dpkg's", async () => {
  const planned = await call("install", ["hub"], { "dry-run": [""] });
  expect(planned.said.out).toContain("flotilla-hub.service belong to the Debian package");
  const done = await call("install", ["hub"]);
  expect(done).toMatchObject({ code: 0, said: { err: "" } });
  expect(existsSync(join(tree, "etc/flotilla/hub.env"))).toBe(true);
  expect(existsSync(join(tree, "usr/local"))).toBe(false);
  expect(existsSync(join(tree, "etc/systemd"))).toBe(false);
  const gone = await call("uninstall", ["hub"], { purge: [""], yes: [""] });
  expect(gone.code).toBe(0);
  expect(gone.said.out).toContain("its unit belongs to the Debian package");
  expect(existsSync(join(tree, "etc/flotilla"))).toBe(false);
  expect(existsSync(self)).toBe(true);
  expect(existsSync(join(tree, "usr/lib/systemd/system/flotilla-hub.service"))).toBe(true);
  // Its units are there, but nobody has made a service of them.
  expect((await call("uninstall", ["hub"])).said.out).toContain("is not installed");
});

test("another executable and another user are refused beside the package", async () => {
  const other = join(tree, "home/flotilla");
  mkdirSync(dirname(other));
  writeStandIn(other, "bbbbbbbbbbbb");
  const refused = await call("install", ["worker"], {}, other);
  expect(refused.code).toBe(1);
  expect(refused.said.err).toContain("the Debian package flotilla is installed here: run ");
  await expect(call("install", ["worker"], { user: ["somebody"] })).rejects.toThrow(
    "--user: the Debian package's units have their users",
  );
  expect(existsSync(join(tree, "etc/flotilla"))).toBe(false);
});

test("an operator's own unit with its own executable comes before the package's, and a copy of the package's does not", async () => {
  const own = join(tree, "etc/systemd/system/flotilla-control.service");
  mkdirSync(dirname(own), { recursive: true });
  writeFileSync(own, packagedUnitText("control"));
  expect((await call("install", ["control"])).code).toBe(0);
  expect(existsSync(join(tree, "usr/local"))).toBe(false);
  const old = join(tree, "old/flotilla");
  mkdirSync(dirname(old));
  writeStandIn(old, "cccccccccccc");
  chmodSync(old, 0o755);
  writeFileSync(own, "[Service]\nExecStart=/usr/local/bin/flotilla control\n");
  expect((await call("install", ["control"], {}, old)).code).toBe(0);
  expect(existsSync(join(tree, "usr/local/bin/flotilla"))).toBe(true);
});
