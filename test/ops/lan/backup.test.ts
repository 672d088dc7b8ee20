import { afterAll, beforeAll, expect, test } from "bun:test";
import { seededBlocks } from "#test/support/rigs/seeded-blocks.ts";
import {
  createWorkload,
  FLOTILLA,
  machinesDown,
  machinesUp,
  runIn,
  SLOW_MS,
} from "#test/support/servers/lan-machines.ts";

/** The guide's way to back up an installed hub and to bring its data back, in a machine with systemd. */

const HOST = "backup1";
const inMachine = (script: string) => runIn(HOST, script);

beforeAll(async () => {
  await machinesUp(`${HOST}=10.0.0.79`);
  await inMachine(`${FLOTILLA} install hub --generate-secret --now --timeout 400`);
}, SLOW_MS);
afterAll(() => machinesDown(), SLOW_MS);

test(
  "the guide's commands bring an installed hub back to what it was when it was backed up",
  async () => {
    const [block = ""] = seededBlocks("how-to/backup.md#with-sqlite", 1);
    const [backup = "", ...restore] = block.replace("…", "*").trimEnd().split("\n");
    await createWorkload(HOST, "kept");
    await inMachine(backup);
    await createWorkload(HOST, "lost");
    await inMachine(restore.join("\n"));
    const listed = await inMachine("flotilla workloads");
    expect(listed).toContain("kept");
    expect(listed).not.toContain("lost");
    expect(await inMachine("find /var/lib/flotilla ! -user flotilla")).toBe("");
  },
  SLOW_MS,
);
